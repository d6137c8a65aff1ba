"""The tokenizer gives back any text, and puts BOS, never EOS, before a prompt."""

import random

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
    points = [p for p in range(0x11000) if not 0xD800 <= p < 0xE000]
    bytes_texts = [source.randbytes(200).decode("utf-8", "replace") for _ in range(20)]
    return bytes_texts + ["".join(map(chr, source.choices(points, k=60))) for _ in range(20)]


def test_any_text_comes_back_and_a_prompt_gets_bos_and_no_eos(tiny_tokenizer, tmp_path):
    """The saved tokenizer is what AutoTokenizer loads; every byte is in its alphabet."""
    tiny_tokenizer.save_pretrained(tmp_path)
    loaded = AutoTokenizer.from_pretrained(tmp_path, trust_remote_code=False)
    for text in ODD_TEXTS + random_texts():
        ids = loaded(text)["input_ids"]
        assert ids == tiny_tokenizer(text)["input_ids"]
        assert ids == [0, *loaded(text, add_special_tokens=False)["input_ids"]]
        assert 0 not in ids[1:]
        assert loaded.decode(ids, skip_special_tokens=True) == text
    assert loaded.bos_token_id == loaded.eos_token_id == 0
