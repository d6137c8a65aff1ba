"""The committed pairs: one tokenizer each, plain transformers; what they were trained for comes out."""

import random
from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

from dsbd.assets import BUNDLED_PAIRS, asset_path

PARAMETERS = {
    "stories": {"target": (12_656_896, 16), "draft": (1_934_080, 1)},
    "sql": {"target": (8_265_408, 20), "draft": (934_464, 1)},
}
ENTRIES = {"stories": 4096, "sql": 2048}
ODD_TEXTS = [
    "", " ", "  two  spaces , a comma ' s \t\r\n\n end ", "don ' t . Isn 't it ?", "é e\u0301 ﬁ Å", "\u2028\ufeff\x00",
    "🐉👩‍👩‍👧 𝒯 漢字 עברית", "".join(map(chr, range(256))), random.Random(0).randbytes(900).decode("utf-8", "replace"),
]  # fmt: skip


@pytest.fixture(scope="module", params=BUNDLED_PAIRS)
def name(request) -> str:
    return request.param


@pytest.fixture(scope="module")
def folder(name) -> Path:
    return asset_path(f"models/{name}")


@pytest.fixture(scope="module")
def models(folder):
    return {
        role: AutoModelForCausalLM.from_pretrained(folder / role, trust_remote_code=False).eval()
        for role in ("target", "draft")
    }


def test_the_sizes_are_those_of_the_card(name, folder, models):
    card = (folder / "README.md").read_text(encoding="utf-8")
    for role, model in models.items():
        assert (model.num_parameters(), model.config.num_hidden_layers) == PARAMETERS[name][role]
        assert f"{model.num_parameters():,}" in card
        assert model.dtype == torch.bfloat16


def test_both_members_share_one_tokenizer_that_gives_back_any_text(name, folder):
    assert (folder / "target/tokenizer.json").read_bytes() == (folder / "draft/tokenizer.json").read_bytes()
    tokenizer = AutoTokenizer.from_pretrained(folder / "target", trust_remote_code=False)
    assert len(tokenizer) == ENTRIES[name]
    assert tokenizer.bos_token_id == tokenizer.eos_token_id == 0
    for text in ODD_TEXTS:
        ids = tokenizer(text)["input_ids"]
        assert ids == [0, *tokenizer(text, add_special_tokens=False)["input_ids"]]
        assert 0 not in ids[1:]
        assert tokenizer.decode(ids, skip_special_tokens=True) == text
