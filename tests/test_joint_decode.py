"""Whole decodes with a joint test, and the search of blocks, against searches that ask the models path by path."""

import math
from collections.abc import Callable
from functools import lru_cache, partial
from itertools import product

import pytest
import torch

import dsbd
from benchmarks.tiny_llama import scattered, tiny_llama
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from tests.toy_pair import Digits, toy_pair

VOCABULARY, EOS, START = 4, 1, 3
Path = tuple[int, ...]
Table = Callable[[Path], list[float]]
"""The log-probabilities of the next token after a path."""


def model(seed: int, wobble: float) -> LanguageModel:
    made = tiny_llama(VOCABULARY, EOS)
    torch.manual_seed(1)
    return LanguageModel(scattered(made, 0.6, seed, wobble), f"tiny {seed}")


@pytest.fixture(scope="module", params=range(2, 5))
def pair(request) -> Pair:
    return make_pair(model(request.param, 0.3), model(9, 0.3), Digits(START, EOS))


@lru_cache(None)
@torch.inference_mode()
def after(pair: Pair, role: str, path: Path) -> list[float]:
    return getattr(pair, role).model(torch.tensor([[START, *path]])).logits[0, -1].log_softmax(0).tolist()


def ids(pair: Pair, **settings) -> Path:
    return tuple(dsbd.decode(pair, str(START), dsbd.DecodingSettings(top_k=0, **settings)).token_ids)


def weight(table: Table, path: Path, block: Path) -> float:
    return sum(table((*path, *block[:at]))[token] for at, token in enumerate(block))


def likeliest(table: Table, path: Path, depth: int) -> Path:
    """The likeliest block of ``depth`` tokens, or of fewer that end, by trying all."""
    every = [block for size in range(1, depth + 1) for block in product(range(VOCABULARY), repeat=size)
             if EOS not in block[:-1] and (size == depth or block[-1] == EOS)]  # fmt: skip
    return max(every, key=lambda block: weight(table, path, block))


def best_beam(table: Table, path: Path, depth: int, width: int) -> Path:
    """The best beam of a beam search."""
    alive, ended = [()], []
    for _ in range(depth):
        grown = [(*block, token) for block in alive for token in range(VOCABULARY)]
        best = sorted(grown, key=lambda block: -weight(table, path, block))[:width]
        ended += [block for block in best if block[-1] == EOS]
        alive = [block for block in best if block[-1] != EOS]
    return max(ended + alive, key=lambda block: weight(table, path, block))


def expected(target: Table, draft: Table, tokens: int, depth: int, width: int, threshold: float) -> Path:
    """The text of ``mjsd`` at temperature 0."""
    text: Path = ()
    while len(text) < tokens and text[-1:] != (EOS,):
        room = tokens - len(text) - 1
        block = best_beam(draft, text, min(depth, room), width) if room else ()
        gaps = [weight(target, text, block[:at]) - weight(draft, text, block[:at]) for at in range(1, len(block) + 1)]
        count = max((at for at, gap in enumerate(gaps, 1) if min(1.0, math.exp(gap)) >= threshold), default=0)
        text += block[:count]
        if text[-1:] != (EOS,) or not count:
            text += likeliest(target, text, 1)
    return text


def test_mjsd_writes_what_the_oracle_writes(pair):
    """Catches another best beam, another rule, and a limit that is exceeded."""
    target, draft = (partial(after, pair, role) for role in ("target", "draft"))
    for depth, width, threshold in product((2, 3), (1, 3), (0.0, 0.5)):
        settings = {"max_new_tokens": 6, "draft_depth": depth, "draft_width": width, "joint_threshold": threshold}
        found = ids(pair, method="mjsd", temperature=0.0, **settings)
        assert found == expected(target, draft, 6, depth, width, threshold), settings


def test_mjgd_is_greedy_at_one_and_the_mode_at_the_whole_length(pair):
    target, text = partial(after, pair, "target"), ()
    assert ids(pair, method="mjgd", block=1, max_new_tokens=6) == ids(pair, method="greedy", max_new_tokens=6)
    assert ids(pair, method="mjgd", block=3, max_new_tokens=3) == likeliest(target, (), 3)
    while len(text) < 5 and text[-1:] != (EOS,):
        text += likeliest(target, text, min(2, 5 - len(text)))
    assert ids(pair, method="mjgd", block=2, max_new_tokens=5) == text


def test_too_many_blocks_are_refused_with_their_numbers():
    with pytest.raises(dsbd.SettingsError, match="260 tokens make 17,576,000 blocks"):
        dsbd.decode(toy_pair(), "Once", dsbd.DecodingSettings(method="mjgd", block=3))
