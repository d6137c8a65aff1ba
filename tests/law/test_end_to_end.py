"""Whole decodes of a tiny Hugging Face pair against the exact law that the oracle computes from the target's logits.

Chi-square over the multisets of beams that a decode ends with. The seeds are fixed, so a test either passes for
good or fails for good; over all choices of seeds a right decoder would fail one with odds ``FALSE_ALARM``.
"""

import math
from collections import Counter
from collections.abc import Callable
from dataclasses import asdict, replace
from functools import lru_cache, partial
from types import SimpleNamespace

import numpy as np
import pytest
import torch
from scipy import stats

import dsbd
from benchmarks.tiny_llama import scattered, tiny_llama
from dsbd.law.laws import Residual
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from dsbd.observer import IterationEnd, Observer
from tests.law.drafted import path_of
from tests.law.oracle import Multiset, Process, Warp, Weighted, Widths, joint, multiset, width_of

WidthLaw = Callable[[Process, Multiset], dict[int, float]]

FALSE_ALARM = 1e-6
VOCABULARY = 8
EOS = 1
PROMPT = [3, 5, 2]
RUNS = 300


class StubTokenizer:
    """Ids from the digits of a prompt."""

    bos_token_id, eos_token_id, chat_template = 0, EOS, None

    def __call__(self, prompt: str) -> SimpleNamespace:
        return SimpleNamespace(input_ids=[int(digit) for digit in prompt])

    def decode(self, ids, **_: object) -> str:
        return "".join(str(token) for token in ids if token != EOS)


def _model(seed: int, wobble: float) -> LanguageModel:
    """The same random weights for every seed, up to ``wobble``."""
    model = tiny_llama(VOCABULARY, EOS)
    torch.manual_seed(1)
    return LanguageModel(scattered(model, 0.3, seed, wobble), f"tiny {seed}")


@pytest.fixture(scope="module")
def pair() -> Pair:
    """Forwards are traced, as they are on a CPU unless asked otherwise."""
    made = make_pair(_model(2, 0.0), _model(3, 0.05), StubTokenizer(), engine="traced")
    assert all(check.passed for check in made.checks.values())
    return made


@pytest.fixture(scope="module")
def eager_pair() -> Pair:
    return make_pair(_model(2, 0.0), _model(3, 0.05), StubTokenizer())


class ModelTables:
    """The oracle's next-token tables, each path run alone."""

    eos = frozenset([EOS])

    def __init__(self, pair: Pair) -> None:
        @lru_cache(None)
        @torch.inference_mode()
        def table(role: str, path: tuple[int, ...]) -> list[float]:
            model = getattr(pair, role).model
            return model(torch.tensor([[*PROMPT, *path]])).logits[0, -1].softmax(0).tolist()

        self.next_token = {role: partial(table, role) for role in ("target", "draft")}


class Ends(Observer):
    """What a decode ends with, duplicates counted, which its result does not tell."""

    def __init__(self) -> None:
        self.finished: Counter = Counter()

    def on_iteration(self, iteration: IterationEnd) -> None:
        for layer in iteration.layers:
            for beam in layer.beams:
                if beam.node.token == EOS:
                    self.finished[path_of(beam.node)] += beam.multiplicity
        self.alive = Counter({path_of(beam.node): beam.multiplicity for beam in iteration.output_beams})

    def outcome(self) -> tuple[Multiset, Multiset]:
        return tuple(sorted(self.finished.items())), tuple(sorted(self.alive.items()))


def _p_value(pair: Pair, settings: dsbd.DecodingSettings, width: int | WidthLaw) -> float:
    """Of the decodes' ends against the oracle; outcomes expected fewer than five times share one bin.

    ``width`` of every layer, or its law given the beams above.
    """
    warp = Warp(settings.temperature, settings.top_k, settings.top_p, settings.replacement)
    process = Process(ModelTables(pair), [Weighted((), 0.0, 1)], warp)
    if isinstance(width, int):
        law = process.after((((), 1),), settings.max_new_tokens, width)
    else:
        law = process.after_widths((((), 1),), settings.max_new_tokens, partial(width, process))
    found: Counter = Counter()
    for seed in range(RUNS):
        ends = Ends()
        result = dsbd.decode(pair, "352", _seeded(settings, seed), observers=[ends])
        found[ends.outcome()] += 1
        paths = {path for part in ends.outcome() for path, _ in part}
        assert {tuple(beam.token_ids) for beam in result.beams} == paths
        assert result.token_ids == list(max(paths, key=lambda path: process.log_weight(path) / len(path)))
    assert not found.keys() - law.keys()
    bins = [(found[end], mass * RUNS) for end, mass in law.items() if mass * RUNS >= 5]
    rest = sum(mass for mass in law.values() if mass * RUNS < 5) * RUNS
    if rest > 0:
        bins.append((RUNS - sum(count for count, _ in bins), rest))
    assert len(bins) >= 8, "too few outcomes to tell laws apart"
    return float(stats.chisquare(*zip(*bins, strict=True)).pvalue)


def _seeded(settings: dsbd.DecodingSettings, seed: int) -> dsbd.DecodingSettings:
    return dsbd.DecodingSettings(**{**vars(settings), "seed": seed})


FIXED = {"max_new_tokens": 3, "draft_depth": 2, "draft_width": 2, "min_width": 2, "max_width": 2, "top_k": 4}


@pytest.mark.parametrize(
    "changes",
    [
        {},
        pytest.param({"landing": False}, marks=pytest.mark.slow),
        pytest.param({"cover_width": 3, "top_k": 6, "temperature": 0.8, "max_new_tokens": 2}, marks=pytest.mark.slow),
        pytest.param({"replacement": False}, marks=pytest.mark.slow),
        pytest.param(
            {"forest": "likely", "draft_width": 5, "top_k": 6, "temperature": 0.8, "max_new_tokens": 2},
            marks=pytest.mark.slow,
        ),
        pytest.param({"forest": "likely", "draft_width": 4, "replacement": False}, marks=pytest.mark.slow),
        pytest.param(
            {"replacement": False, "cover_width": 2, "top_k": 0, "top_p": 0.7, "max_new_tokens": 2},
            marks=pytest.mark.slow,
        ),
        pytest.param(
            {"draft_width": 3, "min_width": 3, "max_width": 3, "top_k": 3, "temperature": 1.4, "max_new_tokens": 2},
            marks=pytest.mark.slow,
        ),
    ],
    ids=lambda changes: ", ".join(f"{name} {value}" for name, value in changes.items()) or "plain",
)
def test_fixed_width_decodes_as_beam_sampling(changes: dict, pair: Pair) -> None:
    """Catches a wrong join of draft, score, verify, commit and cache that exact laws of the parts do not show."""
    values = {**FIXED, **changes}
    assert _p_value(pair, dsbd.DecodingSettings(**values), values["max_width"]) > FALSE_ALARM


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.slow
def test_beam_sampling(replacement: bool, eager_pair: Pair) -> None:
    """Catches a baseline whose law is not the one it stands for."""
    chosen = {"method": "beam_sampling", "num_beams": 2, "top_k": 4, "max_new_tokens": 3}
    assert _p_value(eager_pair, dsbd.DecodingSettings(**chosen, replacement=replacement), 2) > FALSE_ALARM


@pytest.mark.slow
def test_speculative_decodes_as_sampling(pair: Pair) -> None:
    """Catches speculative sampling that leans towards the draft model."""
    chosen = {"method": "speculative", "draft_depth": 2, "top_k": 3, "max_new_tokens": 3}
    assert _p_value(pair, dsbd.DecodingSettings(**chosen), 1) > FALSE_ALARM


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.slow
def test_a_tree_drawn_per_parent_decodes_as_sampling(replacement: bool, pair: Pair) -> None:
    """Catches a tree whose slots, laws or cache belong to other parents."""
    chosen = {"method": "specinfer", "branching": (3, 2), "top_k": 3, "max_new_tokens": 3}
    assert _p_value(pair, dsbd.DecodingSettings(**chosen, replacement=replacement), 1) > FALSE_ALARM


@pytest.mark.parametrize("replacement", [True, False])
@pytest.mark.slow
def test_width_rule_sampling(replacement: bool, pair: Pair) -> None:
    """Catches a rule that takes another Q than the draft model's joint law over the alive beams, or another m."""
    chosen = dsbd.DecodingSettings(
        method="width_rule_sampling", draft_width=3, max_width=3, width_threshold=0.5, top_k=4, max_new_tokens=3,
        replacement=replacement,
    )  # fmt: skip
    seen = Counter()

    def width(process: Process, alive: Multiset) -> dict[int, float]:
        beams = [Weighted(path, process.log_weight(path), count) for path, count in alive]
        draft_law = joint(beams, process.tables.next_token["draft"], process.warp)
        found = width_of(process.target_law(alive), draft_law, Widths(3, 1, 3, 0.5), process.warp)
        seen[found] += 1
        return {found: 1.0}

    assert _p_value(pair, chosen, width) > FALSE_ALARM
    assert len(seen) > 1


@pytest.mark.slow
def test_random_width(pair: Pair) -> None:
    """Catches a width that is drawn otherwise than ``width_weights`` say, or that a draw of the layer knows."""
    chosen = dsbd.DecodingSettings(method="random_width", width_weights=(2, 1, 1), top_k=4, max_new_tokens=3)
    assert _p_value(pair, chosen, lambda process, alive: {1: 0.5, 2: 0.25, 3: 0.25}) > FALSE_ALARM


def test_decodes_meet_every_verdict(pair: Pair) -> None:
    """Catches a pair so alike, or so unlike, that the tests here leave paths of the decoder untried."""
    chosen = dsbd.DecodingSettings(**{**FIXED, "draft_width": 3, "draft_depth": 3, "max_new_tokens": 20})
    counts = Counter()
    for seed in range(10):
        stats_ = asdict(dsbd.decode(pair, "352", _seeded(chosen, seed)).stats)
        counts.update({name: value for name, value in stats_.items() if value is not None})
    names = ("accepted", "rejected", "orphaned", "unneeded", "recovered", "fresh", "bonus", "landed")
    assert min(counts[name] for name in names) >= 5
    assert 1.5 < counts["layers"] / counts["iterations"] < 3.5


@pytest.mark.slow
def test_a_wrong_law_is_seen(pair: Pair, monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a chi-square too weak to see that every draft is accepted."""
    monkeypatch.setattr(Residual, "probability", lambda self, index: 1.0)
    far = make_pair(pair.target, _model(3, 0.15), StubTokenizer(), engine="traced")
    assert _p_value(far, dsbd.DecodingSettings(**FIXED), 2) < FALSE_ALARM


class Iterations(Observer):
    def __init__(self) -> None:
        self.seen: list[IterationEnd] = []

    def on_iteration(self, iteration: IterationEnd) -> None:
        self.seen.append(iteration)


@pytest.mark.parametrize("at_hand", [True, False], ids=["on demand", "copied"])
@pytest.mark.parametrize(
    "changes",
    [
        {"draft_width": 4, "draft_depth": 3},
        {"draft_width": 4, "draft_depth": 3, "temperature": 0.7, "cover_width": 3, "top_k": 6},
        {"draft_width": 3, "replacement": False, "cover_width": 2, "top_k": 0},
        {"forest": "likely", "draft_width": 5, "draft_depth": 3},
        {"draft_width": 3, "top_p": 0.8, "input_beams": 2, "temperature": 1.3},
    ],
    ids=str,
)
def test_forest_holds_what_the_models_say(
    changes: dict, at_hand: bool, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches slots that are taken for other nodes: Q, log-probabilities or rows that belong to another path;
    with logits that the host reads, and with rows that come over from a GPU."""
    monkeypatch.setattr("dsbd.score.is_at_hand", lambda logits: at_hand)
    chosen = dsbd.DecodingSettings(**{"max_new_tokens": 10, "top_k": 7, "seed": 4, **changes})
    warp = Warp(chosen.temperature, chosen.top_k, chosen.top_p, chosen.replacement)
    watcher, tables = Iterations(), ModelTables(pair)
    dsbd.decode(pair, "352", chosen, observers=[watcher])
    assert watcher.seen
    for iteration in watcher.seen:
        inputs = [Weighted(path_of(beam.node), beam.log_weight, beam.multiplicity) for beam in iteration.input_beams]
        process = Process(tables, inputs, warp)
        parents = tuple((beam.path, beam.multiplicity) for beam in inputs)
        for layer in iteration.scored.forest.layers:
            law = dict(process.law(parents, "draft"))
            held = zip(layer.law.parent_places.tolist(), layer.law.tokens.tolist(), layer.law.probs, strict=True)
            shipped = {(*path_of(layer.law.parents[place]), token): prob for place, token, prob in held}
            assert shipped == pytest.approx(law, abs=1e-6)
            if chosen.forest == "likely":
                best = sorted(law, key=lambda path: -law[path])[: chosen.draft_width]
                assert {path_of(node) for node in layer.covers} == set(best)
                parents = process.living(multiset(best))
                continue
            drawn = [path_of(node) for node in layer.drafts]
            assert list(layer.draft_probs) == [shipped[path] for path in drawn]
            covers = [path_of(node) for node in layer.covers]
            assert not set(covers) & set(drawn)
            assert all(path[-1] != EOS for path in covers)
            missing = [p for path, p in law.items() if path not in drawn and path not in covers and path[-1] != EOS]
            if len(covers) == chosen.cover_width > 0 and missing:
                assert max(missing) <= min(law.get(path, 0.0) for path in covers) + 1e-6
            parents = process.living(multiset(drawn))
        scored = iteration.scored
        for node, draft in scored.draft_log_probs.items():
            for role, log_prob in (("target", scored.next_tokens.log_prob(node)), ("draft", draft)):
                expected = tables.next_token[role](path_of(node.parent))[node.token]
                assert math.exp(log_prob) == pytest.approx(expected, abs=1e-6)
        nodes = [*(beam.node for beam in iteration.input_beams), *scored.forest.nodes()]
        for node, row in zip(nodes, scored.next_tokens(nodes), strict=True):
            expected = tables.next_token["target"](path_of(node))
            assert [expected[token] for token in row.tokens] == pytest.approx(list(np.exp(row.log_probs)), abs=1e-6)


@pytest.mark.parametrize("at_hand", [True, False], ids=["on demand", "copied"])
@pytest.mark.parametrize("replacement", [True, False])
def test_a_tree_holds_what_the_models_say(
    replacement: bool, at_hand: bool, pair: Pair, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Catches children that are drawn below another parent, or laws that are another parent's."""
    monkeypatch.setattr("dsbd.score.is_at_hand", lambda logits: at_hand)
    chosen = dsbd.DecodingSettings(
        method="specinfer", branching=(3, 2, 2), replacement=replacement, max_new_tokens=10, top_k=5, seed=4
    )
    watcher, tables = Iterations(), ModelTables(pair)
    dsbd.decode(pair, "352", chosen, observers=[watcher])
    assert len(watcher.seen) > 1
    for iteration in watcher.seen:
        (beam,) = iteration.input_beams
        process = Process(tables, [Weighted(path_of(beam.node), 0.0, 1)], Warp(1.0, 5, 1.0, replacement))
        parents = [path_of(beam.node)]
        for children, layer in zip(chosen.branching, iteration.scored.forest.layers, strict=False):
            assert [path_of(parent) for parent in layer.families] == parents
            for family in layer.families.values():
                (parent,) = family.law.parents
                tokens, probs = family.law.tokens.tolist(), family.law.probs.tolist()
                shipped = {(*path_of(parent), token): prob for token, prob in zip(tokens, probs, strict=True)}
                assert shipped == pytest.approx(dict(process.law(((path_of(parent), 1),), "draft")), abs=1e-6)
                assert len(family.drafts) == children
                assert {node.parent for node in family.drafts} == {parent}
                assert list(family.draft_probs) == [shipped[path_of(node)] for node in family.drafts]
                assert replacement or len(set(family.drafts)) == children
            parents = [path for path in dict.fromkeys(map(path_of, layer.drafts)) if path[-1] != EOS]
        scored = iteration.scored
        for node, draft in scored.draft_log_probs.items():
            for role, log_prob in (("target", scored.next_tokens.log_prob(node)), ("draft", draft)):
                expected = tables.next_token[role](path_of(node.parent))[node.token]
                assert math.exp(log_prob) == pytest.approx(expected, abs=1e-6)


ANY = [
    {"draft_depth": 3, "draft_width": 4, "temperature": 1.2},
    {"draft_depth": 2, "cover_width": 4, "replacement": False, "top_k": 0},
    {"draft_depth": 4, "input_beams": 1, "top_p": 0.9, "landing": False},
    {"temperature": 0.0},
    {"temperature": 0.0, "replacement": False, "min_width": 3},
    {"method": "beam_search"},
    {"forest": "likely", "draft_width": 7, "draft_depth": 3},
    {"draft_depth": 3, "depth_costs": (1.0, 1.2, 1.4, 1.6), "draft_width": 4},
    {"method": "specinfer", "branching": (3, 2, 1)},
    {"method": "specinfer", "branching": (2, 2), "temperature": 0.0},
]


@pytest.mark.parametrize("changes", ANY, ids=str)
def test_same_seed_same_output(changes: dict, pair: Pair) -> None:
    """Catches randomness from the global state, and sets or dictionaries whose order enters the result."""
    chosen = dsbd.DecodingSettings(max_new_tokens=12, seed=7, **changes)
    torch.manual_seed(1)
    first = dsbd.decode(pair, "352", chosen)
    state = torch.get_rng_state()
    torch.manual_seed(2)
    second = dsbd.decode(pair, "352", chosen)
    torch.manual_seed(1)
    dsbd.decode(pair, "352", chosen)
    assert torch.equal(state, torch.get_rng_state())  # the global state is left alone
    assert first.beams == second.beams
    assert (first.token_ids, first.text) == (second.token_ids, second.text)


@pytest.mark.parametrize("changes", ANY, ids=str)
@pytest.mark.parametrize("prompt", ["3", "352"])
@pytest.mark.slow
def test_paths_and_forest_decode_alike(changes: dict, prompt: str, pair: Pair) -> None:
    """Catches a cache row that, over many iterations, drifts from every path computed again."""
    slow = replace(pair, target=replace(pair.target, attention="paths"), draft=replace(pair.draft, attention="paths"))
    for seed in range(3):
        chosen = dsbd.DecodingSettings(max_new_tokens=20, seed=seed, **changes)
        ours, theirs = dsbd.decode(pair, prompt, chosen), dsbd.decode(slow, prompt, chosen)
        assert [beam.token_ids for beam in ours.beams] == [beam.token_ids for beam in theirs.beams]
        assert [b.log_weight for b in ours.beams] == pytest.approx([b.log_weight for b in theirs.beams], abs=1e-5)


@pytest.mark.parametrize("changes", ANY, ids=str)
def test_slots_are_prompt_live_trie_and_forest(changes: dict, pair: Pair) -> None:
    """Catches slots that are never freed, are freed too early, or are held twice."""
    for seed in range(2):
        watcher = Iterations()
        chosen = dsbd.DecodingSettings(max_new_tokens=20, seed=seed, **changes)
        result = dsbd.decode(pair, "352", chosen, observers=[watcher])
        live: set = set()
        for iteration in watcher.seen:
            assert iteration.prompt_slots == len(PROMPT) - 1
            beams = {beam.node for beam in iteration.input_beams}
            fed = len(PROMPT) - 1 + len(live) + len(beams) + len(iteration.scored.slots)
            assert iteration.slots_scored == fed
            live = {node for beam in iteration.output_beams for node in _ancestors(beam.node)}
            if iteration.output_beams:
                assert iteration.slots_kept == len(PROMPT) - 1 + len(live)
        assert result.stats.kv_peak_slots == max(iteration.slots_scored for iteration in watcher.seen)
        assert result.stats.layers == sum(len(iteration.layers) for iteration in watcher.seen)
        assert result.stats.iterations == len(watcher.seen)


def _ancestors(node) -> list:
    found = []
    while node.parent is not None:
        node = node.parent
        found.append(node)
    return found


@pytest.mark.parametrize("limit", [1, 2, 3, 7])
def test_the_limit_is_exact(limit: int, pair: Pair) -> None:
    """Catches layers beyond max_new_tokens, and runs that stop short with a beam alive."""
    for seed in range(6):
        chosen = dsbd.DecodingSettings(max_new_tokens=limit, draft_depth=5, draft_width=3, cover_width=2, seed=seed)
        result = dsbd.decode(pair, "352", chosen)
        assert all(len(beam.token_ids) <= limit for beam in result.beams)
        for beam in result.beams:
            assert beam.finished == (beam.token_ids[-1] == EOS)
            assert beam.finished or len(beam.token_ids) == limit
            assert EOS not in beam.token_ids[:-1]


@pytest.mark.parametrize("changes", [{}, {"replacement": False, "cover_width": 3}, {"temperature": 0.5}], ids=str)
def test_log_weights_are_the_targets(changes: dict, pair: Pair) -> None:
    """Catches log-weights that are warped, hold multiplicities, or are the draft model's."""
    tables = ModelTables(pair)
    process = Process(tables, [Weighted((), 0.0, 1)], Warp())
    for seed in range(5):
        result = dsbd.decode(pair, "352", dsbd.DecodingSettings(max_new_tokens=9, seed=seed, **changes))
        for beam in result.beams:
            assert beam.log_weight == pytest.approx(process.log_weight(tuple(beam.token_ids)), abs=1e-6)
            assert beam.score == pytest.approx(beam.log_weight / len(beam.token_ids))
        assert [beam.score for beam in result.beams] == sorted((beam.score for beam in result.beams), reverse=True)


def test_equal_models_accept_every_draft(pair: Pair) -> None:
    """Catches a draft stage that warps, weighs or merges otherwise than verification does."""
    same = make_pair(pair.target, pair.target, StubTokenizer())
    for changes in ({}, {"replacement": False}, {"top_k": 0, "top_p": 0.9}, {"temperature": 0.6}, {"temperature": 0.0}):
        for seed in range(2):
            width = {"draft_width": 3, "min_width": 3, "max_width": 3, "draft_depth": 3, "max_new_tokens": 12}
            stats_ = dsbd.decode(same, "352", dsbd.DecodingSettings(seed=seed, **width, **changes)).stats
            assert (stats_.rejected, stats_.recovered, stats_.fresh) == (0, 0, 0)
