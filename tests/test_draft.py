"""The draft's joint law against its twin on the host, and the draws of a forest."""

import math
from typing import NamedTuple

import pytest
import torch
from hypothesis import given, settings

from dsbd.draft import DeviceLaw, Drafter, exponential_race, joint_draft_law, likeliest_left, parent_draft_laws
from dsbd.host_draft import HostDrafter
from dsbd.law.beams import Beam, Node
from dsbd.law.forest import LEAST_DRAFT_PROB
from dsbd.law.laws import joint_law
from dsbd.settings import ResolvedSettings
from tests.law.layers import layers, near_cut, rows_of, settings_of
from tests.law.oracle import Path, Process, Tables, Warp, Weighted, multiset, p_value

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


class PeakedRow:
    """A row with one beam, whose logits are those of the test above."""

    def open(self, beams: list[Node], room: int) -> None: ...

    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes) -> torch.Tensor:
        return torch.tensor([[0.0, -6.90, -6.92, -7.4]], dtype=torch.float64)


def test_the_host_does_not_draft_below_the_least_probability_either() -> None:
    chosen = ResolvedSettings(temperature=0.01, top_k=0, replacement=False, draft_width=4)
    drafter = HostDrafter(PeakedRow(), chosen, frozenset(), torch.Generator().manual_seed(0))
    (layer,) = drafter.draft([Beam(Node(None, -1, 0).child(0), -0.5)], depth=1).layers
    assert [node.token for node in layer.drafts] == layer.law.tokens.tolist() == [0, 1]
    assert layer.law.probs.min() >= LEAST_DRAFT_PROB


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


CHANGES = [
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
]
INPUTS = [(0,), (1,)]
TABLES = Tables(3, vocabulary=4, eos=3)
ENDS = torch.tensor([token in TABLES.eos for token in range(4)])


class Drawn(NamedTuple):
    """A layer of a forest: its law, what was drawn from it in order, and the cover nodes."""

    law: list[tuple[Path, float]]
    drafts: list[Path]
    covers: list[Path]


def drawn_on_device(beams: list[Beam], chosen: ResolvedSettings, seed: int) -> list[Drawn]:
    drafter = Drafter(TableRow(TABLES), chosen, ENDS, torch.Generator().manual_seed(seed))
    above, found = INPUTS, list[Drawn]()
    for layer in drafter.draft(beams, depth=3):
        paths = [(*above[pair // 4], pair % 4) for pair in layer.law.pairs.tolist()]
        probs, slots = layer.law.probs.tolist(), layer.chosen.tolist()
        drafts = [paths[slot] for slot in slots[: layer.draws] if probs[slot] > 0]
        if chosen.forest == "likely" or not chosen.replacement:
            drafts = list(dict.fromkeys(drafts))  # behind the last pair, slots hold the first one again
        covers = [paths[slot] for slot in slots[layer.draws :] if paths[slot] not in drafts]
        law = [(path, prob) for path, prob in zip(paths, probs, strict=True) if prob > 0]
        found.append(Drawn(law, drafts, covers))
        above = [paths[slot] for slot in slots[: layer.draws]]
    assert len(found) == 3
    return found


def drawn_on_host(beams: list[Beam], chosen: ResolvedSettings, seed: int) -> list[Drawn]:
    """Check what is fed, too: each node once, behind its parent, and to the draft model only what does not end."""
    row = TableRow(TABLES)
    forest = HostDrafter(row, chosen, TABLES.eos, torch.Generator().manual_seed(seed)).draft(beams, depth=3)
    living = [node for nodes in forest.drafts[:2] for node in nodes if node.token not in TABLES.eos]
    assert forest.fed_to_draft == living[: len(row.paths) - 2]
    assert [tuple(node.token_ids()) for node in forest.fed_to_draft] == row.paths[2:]
    assert len(set(row.paths)) == len(row.paths)
    tokens, parents, sizes = forest.feed(beams)
    rows = [*(beam.node for beam in beams), *forest.slots]
    assert [(rows[parent], token) for parent, token in zip(parents.tolist(), tokens.tolist(), strict=True)] == [
        (node.parent, node.token) for node in forest.slots
    ]
    assert sum(sizes) == len(forest.slots) == len(set(forest.slots)) == len(forest.log_probs)
    for node in forest.slots:
        table = TABLES.next_token["draft"](tuple(node.parent.token_ids()))
        assert forest.log_probs[node] == pytest.approx(math.log(table[node.token]))
    found = list[Drawn]()
    for layer in forest.layers:
        parents_of = [tuple(node.token_ids()) for node in layer.law.parents]
        pairs = zip(layer.law.parent_places.tolist(), layer.law.tokens.tolist(), strict=True)
        probs = [1.0] * layer.law.support if layer.law.ranked else layer.law.probs.tolist()
        law = list(zip([(*parents_of[place], token) for place, token in pairs], probs, strict=True))
        drafts, covers = ([tuple(node.token_ids()) for node in nodes] for nodes in (layer.drafts, layer.covers))
        assert layer.draft_probs == [dict(law)[path] for path in drafts]
        found.append(Drawn(law, covers, []) if chosen.forest == "likely" else Drawn(law, drafts, covers))
    assert len(found) == 3 or not set(forest.drafts[-1]) - {node for node in forest.slots if node.token in TABLES.eos}
    return found


@pytest.mark.parametrize("draw", [drawn_on_host, drawn_on_device])
@pytest.mark.parametrize("changes", CHANGES, ids=str)
def test_each_layer_is_drawn_from_the_law_below_the_distinct_drafts_above_it(changes, draw) -> None:
    """Catches slots below which nothing is drawn, or twice, or with another weight, and cover nodes that were drafted,
    that end or that are not the likeliest: legal, but slower."""
    chosen = ResolvedSettings(draft_depth=3, draft_width=5, **changes)
    inputs = [Weighted((0,), -0.5, 1 + chosen.replacement), Weighted((1,), -0.9, 1)]
    process = Process(TABLES, inputs, Warp(chosen.temperature, chosen.top_k, chosen.top_p, chosen.replacement))
    beams = [Beam(Node(None, -1, 0).child(one.path[0]), one.log_weight, one.multiplicity) for one in inputs]
    for seed in range(4):
        alive = tuple((one.path, one.multiplicity) for one in inputs)
        for layer in draw(beams, chosen, seed):
            found = dict(layer.law)
            assert len(found) == len(layer.law)
            assert found == pytest.approx(dict(process.law(alive, "draft")), abs=EXACT)
            left = [path for path, _ in sorted(layer.law, key=lambda pair: -pair[1]) if path not in layer.drafts]
            assert layer.covers == [path for path in left if path[-1] not in TABLES.eos][: chosen.cover_width]
            repeats = chosen.replacement and chosen.forest == "sampled"
            assert repeats or len(layer.drafts) == len(set(layer.drafts))
            alive = process.living(multiset(layer.drafts if repeats else set(layer.drafts)))


@pytest.mark.parametrize("changes", [{}, {"replacement": False}, {"temperature": 0.0}, {"forest": "likely"}], ids=str)
def test_the_host_draws_what_the_device_draws(changes) -> None:
    """Catches another order of races or pairs: a seed would mean another text on another machine."""
    chosen = ResolvedSettings(draft_depth=3, draft_width=5, top_k=4, **changes)
    beams = [Beam(Node(None, -1, 0).child(token), -0.5 * token) for (token,) in INPUTS]
    for seed in range(4):
        on_host, on_device = (draw(beams, chosen, seed)[0] for draw in (drawn_on_host, drawn_on_device))
        assert on_host.drafts == on_device.drafts


def test_cover_nodes_of_greedy_drafts_are_the_next_best() -> None:
    """Catches cover nodes that are taken from the warped law, which holds the best pair only."""
    chosen = ResolvedSettings(draft_depth=1, draft_width=2, temperature=0.0, cover_width=2)
    beams = [Beam(Node(None, -1, 0).child(0), -0.5)]
    (layer,) = HostDrafter(TableRow(TABLES), chosen, TABLES.eos, torch.Generator()).draft(beams, depth=1).layers
    best = sorted(range(4), key=lambda token: -TABLES.next_token["draft"]((0,))[token])
    assert [node.token for node in layer.drafts] == best[:1] * 2
    assert [node.token for node in layer.covers] == [token for token in best[1:] if token not in TABLES.eos][:2]
