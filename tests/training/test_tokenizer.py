"""The tokenizer gives back any text, and puts BOS, never EOS, before a prompt."""

import random

import pytest
from transformers import AutoTokenizer

ODD_TEXTS = [
    "",
    " ",
    "  two  spaces , a comma ' s \t\r\n\n end ",
    "don ' t . Isn 't it ?",
    "é e\u0301 ﬁ Å",
    "🐉👩‍👩‍👧 𝒯 漢字 עברית",
    "".join(map(chr, range(256))),
    "\u2028\ufeff\x00",
]


def random_texts() -> list[str]:
    source = random.Random(0)
    bytes_texts = [source.randbytes(200).decode("utf-8", "replace") for _ in range(20)]
    points = [p for p in range(0x11000) if not 0xD800 <= p < 0xE000]
    return bytes_texts + ["".join(map(chr, source.choices(points, k=60))) for _ in range(20)]


@pytest.mark.parametrize("text", ODD_TEXTS + random_texts())
def test_decoding_gives_back_the_text(tiny_tokenizer, text):
    ids = tiny_tokenizer(text)["input_ids"]
    assert tiny_tokenizer.decode(ids, skip_special_tokens=True) == text


def test_a_saved_tokenizer_loads_with_auto_tokenizer(tiny_tokenizer, tmp_path):
    tiny_tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=False)
    for text in ODD_TEXTS:
        assert loaded(text)["input_ids"] == tiny_tokenizer(text)["input_ids"]
        assert loaded.decode(loaded(text)["input_ids"], skip_special_tokens=True) == text
    assert loaded.bos_token_id == loaded.eos_token_id == 0


def test_prompts_get_bos_and_no_eos(tiny_tokenizer):
    ids = tiny_tokenizer("Once upon a time")["input_ids"]
    assert ids[0] == 0
    assert 0 not in ids[1:]
    bare = tiny_tokenizer("Once upon a time", add_special_tokens=False)["input_ids"]
    assert bare == ids[1:]


def test_every_byte_is_in_the_alphabet(tiny_tokenizer):
    single = [token for token in tiny_tokenizer.get_vocab() if len(token) == 1]
    assert len(single) >= 256
