"""The committed pair: small files, one tokenizer, plain transformers, English out."""

from pathlib import Path

import pytest
import torch
from transformers import AutoModelForCausalLM, AutoTokenizer

PAIR = Path(__file__).parents[2] / "assets" / "models" / "stories"


@pytest.fixture(scope="module")
def models():
    names = ("target", "draft")
    return {name: AutoModelForCausalLM.from_pretrained(PAIR / name).eval() for name in names}


def test_every_file_is_small_and_the_pair_is_under_40_megabytes():
    sizes = [file.stat().st_size for file in PAIR.rglob("*") if file.is_file()]
    assert max(sizes) < 9_000_000
    assert sum(sizes) < 40_000_000


def test_the_sizes_are_those_of_the_card(models):
    assert models["target"].num_parameters() == 12_656_896
    assert models["draft"].num_parameters() == 1_934_080
    assert models["target"].config.num_hidden_layers == 16
    assert models["draft"].config.num_hidden_layers == 1
    assert {model.dtype for model in models.values()} == {torch.bfloat16}


def test_both_members_share_one_tokenizer():
    assert (PAIR / "target/tokenizer.json").read_bytes() == (PAIR / "draft/tokenizer.json").read_bytes()
    tokenizer = AutoTokenizer.from_pretrained(PAIR / "target")
    text = "Lily 's café\n\n🐉 \x00 \udc00".encode("utf-8", "replace").decode()
    ids = tokenizer(text)["input_ids"]
    assert len(tokenizer) == 4096
    assert ids[0] == tokenizer.bos_token_id == tokenizer.eos_token_id == 0
    assert tokenizer.decode(ids, skip_special_tokens=True) == text


@torch.inference_mode()
def test_target_and_draft_mostly_agree_on_a_story(models):
    tokenizer = AutoTokenizer.from_pretrained(PAIR / "target")
    story = (
        "One day, Tom went to the park with his mom. He saw a big dog. The dog was sad. "
        "Tom gave the dog a ball. They played all day and Tom was very happy."
    )
    ids = tokenizer(story, return_tensors="pt")["input_ids"]
    laws = [models[name](ids[:, :-1]).logits.float().softmax(-1) for name in ("target", "draft")]
    # The held-out means are 0.76 for the overlap and 1.8 nats per token for the loss.
    assert torch.minimum(*laws).sum(-1).mean() > 0.6
    assert -laws[0].gather(-1, ids[:, 1:, None]).log().mean() < 2.5
