"""The draft's joint law against its twin on the host, and the draws of a forest."""

import math

import pytest
import torch
from hypothesis import given, settings

from dsbd.draft import DeviceLaw, Drafter, exponential_race, joint_draft_law, likeliest_left, parent_draft_laws
from dsbd.law.beams import Beam, Node
from dsbd.law.forest import LEAST_DRAFT_PROB
from dsbd.law.laws import joint_law
from dsbd.settings import ResolvedSettings
from tests.law.layers import layers, near_cut, rows_of, settings_of
from tests.law.oracle import Path, Process, Tables, Warp, Weighted, multiset, p_value
from tests.toy_pair import read_by_host

EXACT = 1e-12
FALSE_ALARM = 1e-6
"""Odds that a chi-square test below fails though the code is right (seeds are fixed, so: that it ever did)."""


@settings(max_examples=200, deadline=None)
@given(layers())
def test_draft_law_is_the_hosts_twin(layer) -> None:
    """Catches a draft side that warps differently: legal, but every difference costs acceptance.

    Ties are left out: the draft side breaks them as it likes.
    """
    tables, weights, counts, warp = layer
    untied = {round(weight + math.log(p), 9) for table, weight in zip(tables, weights, strict=True) for p in table}
    if near_cut(*layer) or len(untied) < len(tables) * len(tables[0]):
        return
    law = joint_law(rows_of(tables), weights, counts, settings_of(warp))
    vocabulary = len(tables[0])
    logits = torch.tensor(tables, dtype=torch.float64).log() + 3.0
    logs = torch.tensor(counts, dtype=torch.float64).log()
    twin = joint_draft_law(logits, torch.tensor(weights, dtype=torch.float64), logs, settings_of(warp))
    pairs, probs = twin.pairs.tolist(), twin.probs.tolist()
    flat = [math.log(p) for table in tables for p in table]
    assert twin.log_probs.tolist() == pytest.approx([flat[pair] for pair in pairs])
    drawn = {divmod(pair, vocabulary): p for pair, p in zip(pairs, probs, strict=True) if p > 0}
    if law.ranks is not None:
        assert list(drawn) == [law.pair(index) for index in law.ranks.tolist()]
        return
    assert set(drawn) == {law.pair(index) for index in range(law.support)}
    for index in range(law.support):
        assert drawn[law.pair(index)] == pytest.approx(law.probability(index), abs=EXACT)


@pytest.mark.parametrize("top_k", [0, 3])
@pytest.mark.parametrize("top_p", [1.0, 0.8])
@pytest.mark.parametrize(("temperature", "replacement"), [(0.0, False), (0.7, False), (0.7, True)])
def test_the_law_of_a_parent_is_the_joint_law_of_this_beam_alone(temperature, replacement, top_k, top_p) -> None:
    """Catches laws of parents that are mixed with each other; the joint law of one beam is the slow twin."""
    chosen = ResolvedSettings(temperature=temperature, top_k=top_k, top_p=top_p, replacement=replacement)
    logits = torch.randn(5, 8, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    weights = torch.tensor([-1.0, -torch.inf, -0.2, 0.0, -9.0], dtype=torch.float64)
    laws = parent_draft_laws(logits, weights, chosen)
    for row, weight in enumerate(weights):
        alone = joint_draft_law(logits[row : row + 1], weight[None], torch.zeros(1, dtype=torch.float64), chosen)
        possible = alone.probs > 0
        assert torch.equal(laws.probs[row] > 0, possible)
        assert (laws.pairs[row] - 8 * row)[possible].tolist() == alone.pairs[possible].tolist()
        assert laws.probs[row].tolist() == pytest.approx(alone.probs.tolist(), abs=EXACT)
        assert laws.log_probs[row][possible].tolist() == pytest.approx(alone.log_probs[possible].tolist())


def test_each_parent_draws_from_its_own_law() -> None:
    """Catches a race over several rows that draws from another row, or in an order that is not that of the draws."""
    other = torch.tensor([0.1, 0.5, 0.0, 0.1, 0.3, 0.0], dtype=torch.float64)
    both = DeviceLaw(*(torch.stack(parts) for parts in zip(LAW, LAW._replace(probs=other), strict=True)))
    for replacement in (True, False):
        generator, chosen = torch.Generator().manual_seed(2), ResolvedSettings(replacement=replacement)
        drawn = [exponential_race(both, 2, chosen, generator).tolist() for _ in range(4000)]
        for row, law in enumerate((PROBS.tolist(), other.tolist())):
            places = range(len(law))
            pairs = {(a, b): law[a] * law[b] / (1 if replacement else 1 - law[a])
                     for a in places for b in places if law[a] * law[b] > 0 and (replacement or a != b)}  # fmt: skip
            assert p_value([tuple(rows[row]) for rows in drawn], pairs) > FALSE_ALARM


def test_a_frontier_with_nothing_left_gives_no_law() -> None:
    """Catches NaN where all drafts of the layer above ended."""
    for temperature in (0.0, 1.0):
        for top_p in (1.0, 0.5):
            chosen = ResolvedSettings(temperature=temperature, top_p=top_p)
            dead = torch.full((2,), -torch.inf, dtype=torch.float64)
            law = joint_draft_law(torch.zeros(2, 4, dtype=torch.float64), dead, torch.zeros_like(dead), chosen)
            assert law.probs.sum() == 0
            assert not law.probs.isnan().any()


def test_pairs_below_the_least_probability_are_not_drafted() -> None:
    """Catches subnormal probabilities in Q: one divided by what is left of Q would be infinite."""
    logits = torch.tensor([[0.0, -6.90, -6.92, -7.4]], dtype=torch.float64)  # Q: 1, 2e-300, 3e-301, 4e-322
    nothing = torch.zeros(1, dtype=torch.float64)
    for top_p in (1.0, 0.9):
        chosen = ResolvedSettings(temperature=0.01, top_k=0, top_p=top_p, replacement=False)
        law = joint_draft_law(logits, nothing, nothing, chosen)
        drafted = exponential_race(law, 4, chosen, torch.Generator().manual_seed(0))
        assert (law.probs > 0).tolist() == [True, top_p == 1, False, False]
        assert law.probs[law.probs > 0].min() >= LEAST_DRAFT_PROB
        assert law.probs[drafted].tolist() == sorted(law.probs.tolist(), reverse=True)


PROBS = torch.tensor([0.45, 0.25, 0.15, 0.1, 0.05, 0.0], dtype=torch.float64)
LAW = DeviceLaw(torch.arange(6), PROBS.log(), PROBS, PROBS.log())


def test_race_marks_what_could_not_be_drawn() -> None:
    """Catches slots beyond the support that pass for drafts."""
    for width in (6, 9):
        chosen = ResolvedSettings(replacement=False)
        slots = exponential_race(LAW, width, chosen, torch.Generator().manual_seed(0)).tolist()
        assert sorted(slots[:5]) == [0, 1, 2, 3, 4]
        assert slots[5] == 5  # its probability is 0
        assert slots[6:] == [slots[0]] * (width - 6) or slots[6:] == [0] * (width - 6)


def test_covers_are_the_likeliest_that_were_not_drafted() -> None:
    """Catches covers that were drafted, or that extend nothing."""
    scores = torch.tensor([5.0, 4.0, -torch.inf, 2.0, 1.0, -torch.inf], dtype=torch.float64)
    assert likeliest_left(scores, torch.tensor([1, 1]), 4).tolist() == [0, 3, 4, 1]


class TableRow:
    """A row whose logits are the draft model's table of each path; ``paths`` grow as tokens are fed."""

    def __init__(self, tables: Tables) -> None:
        self.tables = tables

    def open(self, beams: list[Node], room: int) -> None:
        self.paths: list[Path] = [tuple(beam.token_ids()) for beam in beams]
        self.is_first = True

    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes) -> torch.Tensor:
        fed = [(*self.paths[parent], token) for token, parent in zip(tokens.tolist(), parents.tolist(), strict=True)]
        self.paths += fed
        asked = self.paths if self.is_first else fed
        self.is_first = False
        return torch.tensor([self.tables.next_token["draft"](path) for path in asked], dtype=torch.float64).log() + 1.0


@pytest.mark.parametrize("at_hand", [True, False], ids=["shared slots", "a slot for each draw"])
@pytest.mark.parametrize(
    "changes",
    [
        {},
        {"temperature": 0.5, "cover_width": 2},
        {"replacement": False, "cover_width": 5},
        {"top_p": 0.5},
        {"replacement": False},
        {"replacement": False, "top_p": 0.5},
        {"replacement": False, "top_k": 2},
        {"replacement": False, "temperature": 0.0},
        {"temperature": 0.0},
        {"forest": "likely"},
        {"forest": "likely", "top_k": 2},
        {"forest": "likely", "top_p": 0.5},
    ],
    ids=str,
)
def test_each_layer_is_drawn_from_the_law_below_the_distinct_drafts_above_it(changes, at_hand, monkeypatch) -> None:
    """Catches slots below which nothing is drawn, or twice, or with another weight, and cover nodes that were drafted,
    that end or that are not the likeliest: legal, but slower. On a CPU also a token that is fed twice, and layers below
    a forest that has ended."""
    read_by_host(at_hand, monkeypatch)
    chosen = ResolvedSettings(draft_depth=3, draft_width=5, **changes)
    tables = Tables(3, vocabulary=4, eos=3)
    inputs = [Weighted((0,), -0.5, 1 + chosen.replacement), Weighted((1,), -0.9, 1)]
    process = Process(tables, inputs, Warp(chosen.temperature, chosen.top_k, chosen.top_p, chosen.replacement))
    beams = [Beam(Node(None, -1, 0).child(one.path[0]), one.log_weight, one.multiplicity) for one in inputs]
    ends = torch.tensor([token in tables.eos for token in range(4)])
    for seed in range(4):
        drafter = Drafter(TableRow(tables), chosen, ends, torch.Generator().manual_seed(seed))
        above, alive = [one.path for one in inputs], tuple((one.path, one.multiplicity) for one in inputs)
        layers = drafter.draft(beams, depth=3)
        for number, layer in enumerate(layers, 1):
            paths = [(*above[pair // 4], pair % 4) for pair in layer.law.pairs.tolist()]
            probs = layer.law.probs.tolist()
            found = [(path, prob) for path, prob in zip(paths, probs, strict=True) if prob > 0]
            assert len(found) == len(dict(found))
            assert dict(found) == pytest.approx(dict(process.law(alive, "draft")), abs=EXACT)
            slots = layer.chosen[:5].tolist()
            drawn = [paths[slot] for slot in slots if probs[slot] > 0]
            left = [path for path, _ in sorted(found, key=lambda pair: -pair[1]) if path not in drawn]
            covers = [path for path in left if path[-1] not in tables.eos][: chosen.cover_width]
            padding = [paths[slots[0]]] * (min(chosen.cover_width, len(probs)) - len(covers))
            assert [paths[slot] for slot in layer.chosen[5:].tolist()] == covers + padding
            repeats = chosen.replacement and chosen.forest == "sampled"
            alive = process.living(multiset(drawn if repeats else set(drawn)))
            above = [paths[slot] for slot in layer.slots[: layer.drafts].tolist()]
            assert [*dict.fromkeys(above)] == (above if at_hand else [*dict.fromkeys(paths[slot] for slot in slots)])
            assert number == len(layers) or alive or not at_hand
        assert len(layers) == 3 or (at_hand and not alive)
