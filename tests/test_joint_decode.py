"""Whole decodes with a joint test, and the search of blocks, on a pair whose laws are small tables."""

import math
from itertools import product

import pytest
import torch
from transformers import LlamaConfig, LlamaForCausalLM

import dsbd
import dsbd.draft
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from tests.toy_pair import Digits, toy_pair

VOCABULARY, EOS, SIZE = 4, 1, 8
START = 3


def table_model() -> LlamaForCausalLM:
    """Make a Llama that adds nothing, so that the next token depends on the last one alone."""
    config = LlamaConfig(
        vocab_size=VOCABULARY, hidden_size=SIZE, intermediate_size=8, num_hidden_layers=1, num_attention_heads=2,
        num_key_value_heads=1, max_position_embeddings=64, bos_token_id=None, eos_token_id=EOS,
        tie_word_embeddings=False,
    )  # fmt: skip
    model = LlamaForCausalLM(config).double().eval()
    with torch.no_grad():
        model.model.layers[0].self_attn.o_proj.weight.zero_()
        model.model.layers[0].mlp.down_proj.weight.zero_()
        model.model.embed_tokens.weight.copy_(torch.eye(VOCABULARY, SIZE))
        model.lm_head.weight.zero_()
    return model


@pytest.fixture(scope="module")
def pair() -> Pair:
    return make_pair(LanguageModel(table_model(), "target"), LanguageModel(table_model(), "draft"), Digits(START, EOS))


def fill(pair: Pair, seed: int, likeness: float = 0.5) -> dict[str, torch.Tensor]:
    """Give both models new tables; returns their log-probabilities [last token, next token]."""
    source = torch.Generator().manual_seed(seed)
    target, noise = (torch.rand(VOCABULARY, VOCABULARY, generator=source).double() ** 2 + 0.03 for _ in range(2))
    probs = {"target": target / target.sum(1, keepdim=True)}
    probs["draft"] = likeness * probs["target"] + (1 - likeness) * noise / noise.sum(1, keepdim=True)
    for role, table in probs.items():
        with torch.no_grad():
            getattr(pair, role).model.lm_head.weight[:, :VOCABULARY].copy_(table.log().T / SIZE**0.5)
    return {role: table.log() for role, table in probs.items()}


def ids(pair: Pair, **settings) -> list[int]:
    return dsbd.decode(pair, str(START), dsbd.DecodingSettings(top_k=0, **settings)).token_ids


def likeliest(table: torch.Tensor, last: int, depth: int) -> tuple[int, ...]:
    """The likeliest block of ``depth`` tokens, or of fewer that end, by trying all."""

    def weight(block):
        return sum(float(table[before, token]) for before, token in zip((last, *block), block, strict=False))

    every = [block for size in range(1, depth + 1) for block in product(range(VOCABULARY), repeat=size)
             if EOS not in block[:-1] and (size == depth or block[-1] == EOS)]  # fmt: skip
    return max(every, key=weight)


def beams(table: torch.Tensor, last: int, depth: int, width: int) -> tuple[int, ...]:
    """The best beam of a beam search under the draft model."""
    alive, ended = [(0.0, ())], []
    for _ in range(depth):
        grown = [(weight + float(table[(last, *path)[-1], token]), (*path, token))
                 for weight, path in alive for token in range(VOCABULARY)]  # fmt: skip
        best = sorted(grown, key=lambda one: -one[0])[:width]
        ended += [one for one in best if one[1][-1] == EOS]
        alive = [one for one in best if one[1][-1] != EOS]
    return max(ended + alive)[1]


def expected(tables: dict[str, torch.Tensor], tokens: int, depth: int, width: int, threshold: float) -> list[int]:
    """The text of ``mjsd`` at temperature 0."""
    text = [START]
    while len(text) <= tokens and text[-1] != EOS:
        room = tokens + 1 - len(text)
        block = beams(tables["draft"], text[-1], min(depth, room - 1), width) if room > 1 else ()
        pairs = list(zip((text[-1], *block), block, strict=False))
        gaps = [
            sum(float(tables["target"][pair] - tables["draft"][pair]) for pair in pairs[: at + 1])
            for at in range(len(block))
        ]
        count = max((at + 1 for at, gap in enumerate(gaps) if min(1.0, math.exp(gap)) >= threshold), default=0)
        text += block[:count]
        if text[-1] != EOS or not count:
            text.append(int(tables["target"][text[-1]].argmax()))
    return text[1:]


def test_mjsd_writes_what_the_oracle_writes(pair):
    """Catches another best beam, another rule, and a limit that is exceeded."""
    ended = 0
    for seed, depth, width, threshold in product(range(2), (2, 3), (1, 3), (0.0, 0.5)):
        tables = fill(pair, seed)
        settings = {"max_new_tokens": 6, "draft_depth": depth, "draft_width": width, "joint_threshold": threshold}
        found = ids(pair, method="mjsd", temperature=0.0, **settings)
        assert found == expected(tables, 6, depth, width, threshold), (seed, settings)
        ended += found[-1] == EOS
    assert ended


@pytest.mark.parametrize("seed", range(3))
def test_mjgd_is_greedy_at_one_and_the_mode_at_the_whole_length(pair, seed):
    tables = fill(pair, seed)
    assert ids(pair, method="mjgd", block=1, max_new_tokens=6) == ids(pair, method="greedy", max_new_tokens=6)
    assert tuple(ids(pair, method="mjgd", block=3, max_new_tokens=3)) == likeliest(tables["target"], START, 3)
    text = [START]
    while len(text) < 6 and text[-1] != EOS:
        text += likeliest(tables["target"], text[-1], min(2, 6 - len(text)))
    assert ids(pair, method="mjgd", block=2, max_new_tokens=5) == text[1:]


def test_too_many_blocks_are_refused_with_their_numbers():
    with pytest.raises(dsbd.SettingsError, match="260 tokens make 17,576,000 blocks"):
        dsbd.decode(toy_pair(), "Once", dsbd.DecodingSettings(method="mjgd", block=3))
