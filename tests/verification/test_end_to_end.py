"""Whole decodes of a tiny Hugging Face pair against the exact distribution that the oracle computes from the target's
logits.

Chi-square over the multisets of beams that a decode ends with. The seeds are fixed, so a test either passes for
good or fails for good; over all choices of seeds a right decoder would fail one with odds ``FALSE_ALARM``.
"""

import math
from collections import Counter
from collections.abc import Sequence
from dataclasses import replace
from functools import lru_cache, partial
from itertools import product

import numpy as np
import pytest
import torch

import dsbd
from dsbd.drafts.lookup import PromptLookup
from dsbd.iteration import Iteration
from dsbd.methods import resolve
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from dsbd.verification.distributions import Residual
from tests.toy_pair import Digits, Iterations, read_by_host, read_settings, small_model, tied
from tests.verification.enumeration import path_of
from tests.verification.oracle import Multiset, Process, Warp, Weighted, p_value

FALSE_ALARM = 1e-6
VOCABULARY = 8
EOS = 1
PROMPT = [3, 5, 2, 3, 4, 3, 5]
TEXT = "".join(map(str, PROMPT))
RUNS = 300


@pytest.fixture(scope="module")
def pair() -> Pair:
    """Forwards are traced, as they are on a CPU by default."""
    pair = make_pair(small_model(VOCABULARY, 2, 0.0), small_model(VOCABULARY, 3, 0.05), Digits(0, EOS), engine="traced")
    assert all(check.passed for check in pair.checks.values())
    return pair


class ModelTables:
    """The oracle's next-token tables, each path run alone."""

    eos = frozenset([EOS])

    def __init__(self, pair: Pair, prompt: Sequence[int] = PROMPT) -> None:
        @lru_cache(None)
        @torch.inference_mode()
        def table(role: str, path: tuple[int, ...]) -> list[float]:
            model = getattr(pair, role).model
            return model(torch.tensor([[*prompt, *path]])).logits[0, -1].softmax(0).tolist()

        self.next_token = {role: partial(table, role) for role in ("target", "draft")}


def ends_of(seen: list[Iteration]) -> tuple[Multiset, Multiset]:
    """What a decode ends with, finished and alive, duplicates counted, which its result does not tell."""
    beams = [beam for iteration in seen for layer in iteration.layers for beam in layer.beams]
    finished = Counter()
    for beam in beams:
        if beam.node.token == EOS:
            finished[path_of(beam.node)] += beam.multiplicity
    alive = [(path_of(beam.node), beam.multiplicity) for beam in seen[-1].output_beams]
    return tuple(sorted(finished.items())), tuple(sorted(alive))


def _p_value(pair: Pair, settings: dsbd.DecodingSettings, width: int, lookup: bool = False, **known) -> float:
    """Of the decodes' ends against the oracle, every layer having this width; ``known``: guess or history."""
    warp = Warp(settings.temperature, settings.top_k, settings.top_p, settings.replacement)
    decoding = replace(pair, draft=PromptLookup()) if lookup else pair
    process = Process(ModelTables(pair), [Weighted((), 0.0, 1)], warp, resolve(settings))
    distribution = process.after((((), 1),), settings.max_new_tokens, width)
    outcomes = []
    for seed in range(RUNS):
        watcher = Iterations()
        result = dsbd.decode(decoding, TEXT, replace(settings, seed=seed), observers=[watcher], **known)
        outcomes.append(ends_of(watcher.seen))
        paths = {path for part in outcomes[-1] for path, _ in part}
        assert {tuple(beam.token_ids) for beam in result.beams} == paths
        assert result.token_ids == list(max(paths, key=lambda path: process.log_weight(path) / len(path)))
    return p_value(outcomes, distribution)


FIXED = {"max_new_tokens": 3, "draft_depth": 2, "draft_width": 2, "min_width": 2, "max_width": 2, "top_k": 4,
         "forest": "sampled"}  # fmt: skip
COUPLED = {"forest": "coupled", "draft_width": 5, "top_k": 6, "temperature": 0.8, "max_new_tokens": 2}
WIDE = {"draft_width": 3, "min_width": 3, "max_width": 3, "top_k": 3, "temperature": 1.4, "max_new_tokens": 2}
TREE = {"method": "specinfer", "branching": (3, 2), "top_k": 3, "max_width": 1}
DISTRIBUTIONS = [
    {},
    COUPLED,
    {"cover_width": 3, "top_k": 6, "temperature": 0.8, "max_new_tokens": 2},
    COUPLED | {"replacement": False, "top_k": 0, "top_p": 0.7},
    {"replacement": False, "cover_width": 2, "top_k": 0, "top_p": 0.7, "max_new_tokens": 2},
    WIDE,
    {"method": "beam_sampling", "num_beams": 2},
    {"method": "beam_sampling", "num_beams": 2, "replacement": False},
    {"method": "speculative", "top_k": 3, "min_width": 1, "max_width": 1},
    TREE | {"min_width": 1, "replacement": False},
]


@pytest.mark.slow
@pytest.mark.parametrize("changes", [{}, COUPLED, DISTRIBUTIONS[-1]], ids=str)
def test_a_decode_with_copied_drafts_has_the_distribution_of_its_method(changes: dict, pair: Pair) -> None:
    """Catches copied drafts that look at what they must not see, and iterations without a draft that lose something."""
    values = {**FIXED, **changes}
    assert _p_value(pair, read_settings(**values), values["max_width"], lookup=True) > FALSE_ALARM
    assert _p_value(pair, read_settings(**values), values["max_width"], guess=[[2, 3, 1], [3, 3, 2]]) > FALSE_ALARM


@pytest.mark.parametrize(
    "changes", [*DISTRIBUTIONS[:2], *(pytest.param(one, marks=pytest.mark.slow) for one in DISTRIBUTIONS[2:])], ids=str
)
def test_a_decode_has_the_distribution_of_its_method(changes: dict, pair: Pair) -> None:
    """Catches a wrong join of draft, score, verify, commit and cache that exact distributions of the parts do not
    show.
    """
    values = {**FIXED, **changes}
    assert _p_value(pair, read_settings(**values), values["max_width"]) > FALSE_ALARM


def test_decodes_meet_every_verdict(pair: Pair) -> None:
    """Catches a pair so alike, or so unlike, that the tests here leave paths of the decoder untried."""
    chosen = dsbd.DecodingSettings(**{**FIXED, "draft_width": 3, "draft_depth": 3, "max_new_tokens": 20})
    counts = Counter()
    for seed in range(10):
        counts.update(vars(dsbd.decode(pair, TEXT, replace(chosen, seed=seed)).stats))
    names = ("accepted", "rejected", "orphaned", "unneeded", "recovered", "fresh", "bonus", "landed")
    assert min(counts[name] for name in names) >= 5
    assert 1.5 < counts["layers"] / counts["iterations"] < 3.5


SHAPES = [(2, 2, 4, 50), (4, 3, 6, 0), (1, 4, 3, 50), (4, 1, 3, 50)]
"""Beams; depth and width of the forest; top_k."""
RULES = (True, False, "never", None)


@pytest.mark.parametrize("variant", [lambda pair: pair, tied], ids=["plain", "tied"])
def test_speculative_beam_search_has_the_hypotheses_of_beam_search(variant, pair: Pair) -> None:
    """Catches a hypothesis, a rank or a log-weight that a draft has changed."""
    landed = finished = 0
    lengths = Counter()
    for prompt, (beams, depth, width, top_k), rule in product(("352", "5", "0634"), SHAPES, RULES):
        values = {"max_new_tokens": 9, "num_beams": beams, "top_k": top_k, "draft_depth": depth, "draft_width": width}
        values |= {"early_stopping": rule, "length_penalty": 0.5}
        plain, drafted = (
            dsbd.decode(variant(pair), prompt, read_settings(method, **values))
            for method in ("beam_search", "speculative_beam_search")
        )
        assert [beam.token_ids for beam in drafted.beams] == [beam.token_ids for beam in plain.beams]
        for ours, theirs in zip(drafted.beams, plain.beams, strict=True):
            assert ours.log_weight == pytest.approx(theirs.log_weight, abs=1e-6)
            assert (ours.finished, ours.multiplicity) == (theirs.finished, theirs.multiplicity)
        assert drafted.stats.layers == plain.stats.layers
        lengths[rule] += plain.stats.layers
        landed += drafted.stats.landed
        finished += sum(beam.finished for beam in plain.beams)
    assert lengths[True] < lengths[False] < lengths["never"] < lengths[None]
    assert landed > 10
    assert finished > 5


@pytest.mark.parametrize(("rule", "lengths"), [(True, (8, 4, 6, 3)), (False, (9, 5, 7, 4)), ("never", (12, 9, 10, 8))])
def test_beam_search_ends_where_that_of_transformers_ends(rule, lengths: tuple[int, ...], pair: Pair) -> None:
    """Catches another ``early_stopping``. The two agree while no beam that ended leaves a slot that matters."""
    values = {"num_beams": 3, "max_new_tokens": 14, "length_penalty": 0.5, "early_stopping": rule}
    for prompt, length in zip(([2, 6], [4, 7], [5, 6], [6, 6]), lengths, strict=True):
        ids, passes = torch.tensor([prompt]), []
        hook = pair.target.model.register_forward_hook(lambda *_, passes=passes: passes.append(1))
        theirs = pair.target.model.generate(
            ids, attention_mask=torch.ones_like(ids), do_sample=False, eos_token_id=EOS, pad_token_id=0, **values
        )
        hook.remove()
        for method in ("beam_search", "speculative_beam_search"):
            ours = dsbd.decode(pair, prompt, read_settings(method, top_k=0, **values))
            assert ours.token_ids == theirs[0, len(prompt) :].tolist()
            assert ours.stats.layers == len(passes) == length


@pytest.mark.slow
def test_a_wrong_distribution_is_seen(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a chi-square too weak to see that every draft is accepted."""
    monkeypatch.setattr(Residual, "probability", lambda self, index: 1.0)
    far = make_pair(pair.target, small_model(VOCABULARY, 3, 0.15), Digits(0, EOS), engine="traced")
    assert _p_value(far, dsbd.DecodingSettings(**FIXED), 2) < FALSE_ALARM


@pytest.mark.parametrize("at_hand", [True, False], ids=["on demand", "copied"])
@pytest.mark.parametrize(
    "changes",
    [
        {"draft_width": 4, "draft_depth": 3, "temperature": 0.7, "cover_width": 3, "top_k": 6},
        {"draft_width": 3, "replacement": False, "cover_width": 2, "top_k": 0},
        {"min_width": 4, "max_width": 4, "draft_width": 5, "draft_depth": 3},
        {"draft_width": 3, "replacement": False, "cover_width": 2, "temperature": 0.0, "min_width": 2},
        {"draft_width": 3, "top_p": 0.8, "input_beams": 2, "temperature": 1.3},
        {"method": "specinfer", "branching": (3, 2, 2), "top_k": 5},
        {"method": "specinfer", "branching": (3, 2, 2), "top_k": 5, "replacement": False},
    ],
    ids=str,
)
def test_forest_holds_what_the_models_say(
    changes: dict, at_hand: bool, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches slots that are taken for other nodes: log-probabilities or rows that belong to another path or
    parent; with logits that the host reads, and with rows that come over from a GPU."""
    read_by_host(at_hand, monkeypatch)
    chosen = dsbd.DecodingSettings(**{"max_new_tokens": 10, "top_k": 7, **changes})
    tables = ModelTables(pair)
    for seed in range(9):  # the first decode that is not over after one iteration
        watcher = Iterations()
        dsbd.decode(pair, TEXT, replace(chosen, seed=seed), observers=[watcher])
        if len(watcher.seen) > 1:
            break
    assert len(watcher.seen) > 1
    for iteration in watcher.seen:
        for node, draft in iteration.draft_log_probs.items():
            for role, log_prob in (("target", iteration.next_tokens.log_prob(node)), ("draft", draft)):
                expected = tables.next_token[role](path_of(node.parent))[node.token]
                assert math.exp(log_prob) == pytest.approx(expected, abs=1e-6)
        slots = iteration.scored
        assert len(set(slots)) == len(slots)
        nodes = [*(beam.node for beam in iteration.input_beams), *iteration.forest.nodes()]
        for node, row in zip(nodes, iteration.next_tokens(nodes), strict=True):
            expected = tables.next_token["target"](path_of(node))
            assert [expected[token] for token in row.tokens] == pytest.approx(list(np.exp(row.log_probs)), abs=1e-6)
