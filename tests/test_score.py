"""Drafted slots become a forest on the host: what is fed, what is copied, which slots are nodes."""

import math

import pytest
import torch

from dsbd.draft import DeviceLaw, DraftedLayer
from dsbd.law.beams import Beam, Node
from dsbd.score import score
from dsbd.settings import ResolvedSettings

VOCABULARY = 5
WIDTH = 3
ROOT = Node(None, -1, 0)
BEAMS = [Beam(ROOT.child(7), -0.5, 2), Beam(ROOT.child(8), -0.7, 1)]


class SpokenRow:
    """A row that notes what it is fed; its logits are random, one row each for the beams and the slots."""

    def open(self, beams, room: int) -> None:
        self.opened, self.room = list(beams), room

    def feed(self, tokens, parents, sizes) -> torch.Tensor:
        self.tokens, self.parents, self.sizes = tokens.tolist(), parents.tolist(), list(sizes)
        generator = torch.Generator().manual_seed(3)
        self.logits = torch.randn(
            len(self.opened) + tokens.numel(), VOCABULARY, generator=generator, dtype=torch.float64
        )
        return self.logits


def drafted(pairs: list[tuple[int, int]], probs: list[float], chosen: list[int]) -> DraftedLayer:
    """Make a layer whose law has these (parent, token) pairs; the raw draft probability of the n-th is 1 / (n + 2)."""
    law = DeviceLaw(
        torch.tensor([parent * VOCABULARY + token for parent, token in pairs]),
        torch.tensor(probs, dtype=torch.float64).log(),
        torch.tensor(probs, dtype=torch.float64),
        torch.tensor([-math.log(place + 2) for place in range(len(pairs))], dtype=torch.float64),
    )
    parents, tokens = zip(*(pairs[index] for index in chosen), strict=True)
    draws = min(WIDTH, len(chosen))
    return DraftedLayer(law, torch.tensor(chosen), draws, torch.tensor(parents), torch.tensor(tokens))


FIRST = [(0, 1), (1, 1), (1, 4)], [0.5, 0.3, 0.2]
SECOND = [(0, 2), (2, 0), (0, 3), (2, 2)], [0.4, 0.4, 0.2, 0.0]


def settings(**changes) -> ResolvedSettings:
    return ResolvedSettings(**{"draft_depth": 2, "draft_width": WIDTH, "max_width": 4, "top_k": 2} | changes)


def scored(layers, **changes):
    row = SpokenRow()
    return row, score(row, BEAMS, layers, settings(**changes), torch.Generator().manual_seed(1))


def test_a_slot_drawn_twice_is_one_node():
    """Catches two nodes of equal content, and a draw that is lost because its node is there already."""
    _, result = scored([drafted(*FIRST, [0, 2, 0]), drafted(*SECOND, [0, 1, 0])])
    first, second = result.forest.layers
    assert first.drafts[0] is first.drafts[2]
    assert [(node.parent, node.token) for node in first.drafts] == [
        (BEAMS[0].node, 1), (BEAMS[1].node, 4), (BEAMS[0].node, 1)
    ]  # fmt: skip
    assert first.draft_probs == [0.5, 0.2, 0.5]
    assert result.slots == [*first.drafts[:2], None, second.drafts[0], None, None]
    assert result.draft_slots == result.slots[:WIDTH]


def test_drafts_without_replacement_keep_the_order_in_which_they_were_drawn():
    """Catches another order, in which the trials' gains would not be those of the draws, and a ranked law whose mass is
    not on the pair that is drawn first."""
    _, result = scored([drafted(*FIRST, [2, 0, 1])], replacement=False)
    (layer,) = result.forest.layers
    assert [node.token for node in layer.drafts] == [4, 1, 1]
    assert layer.draft_probs == [0.2, 0.5, 0.3]
    _, result = scored([drafted(FIRST[0], [1.0, 1.0, 1.0], [0, 1, 2])], replacement=False, temperature=0.0)
    (layer,) = result.forest.layers
    assert (layer.law.ranked, layer.law.probs.tolist()) == (True, [1.0, 0.0, 0.0])


def test_a_draft_needs_probability_and_a_cover_node_only_possibility():
    """Catches drafts that Q cannot draw, cover nodes that are left out because the warp cut them off, and likely nodes
    that are put to trial."""
    layer = drafted([(0, 1), (0, 2), (1, 3), (1, 0)], [0.6, 0.4, 0.0, 0.0], [0, 1, 2, 3])
    _, result = scored([layer], draft_depth=1, cover_width=1)
    (only,) = result.forest.layers
    assert [[node.token for node in nodes] for nodes in (only.drafts, only.covers)] == [[1, 2], [0]]
    _, result = scored([drafted(*FIRST, [0, 2, 1])], forest="likely", draft_depth=1)
    (only,) = result.forest.layers
    assert (only.drafts, len(only.covers)) == ([], WIDTH)


def test_drafts_are_fed_before_cover_nodes_and_parents_are_counted_behind_the_beams():
    """Catches slots whose parents are counted in another order than the slots are fed, and cover nodes among the
    parents of a sampled layer."""
    row, _ = scored([drafted(*FIRST, [0, 2, 1]), drafted(*SECOND, [0, 1, 2])])
    assert (row.opened, row.room) == ([beam.node for beam in BEAMS], 2 * WIDTH)
    assert (row.tokens, row.parents, row.sizes) == ([1, 4, 1, 2, 0, 3], [0, 1, 1, 2, 4, 2], [WIDTH, WIDTH])
    row, result = scored([drafted(*FIRST, [0, 2, 0, 1]), drafted(*SECOND, [0, 1, 0, 2])], cover_width=1)
    assert row.tokens == [1, 4, 1, 2, 0, 2, 1, 3]
    assert row.parents == [0, 1, 0, 2, 4, 2, 1, 2]
    assert row.sizes == [WIDTH, WIDTH, 1, 1]
    first, second = result.forest.layers
    assert result.slots[-2:] == [*first.covers, *second.covers]
    assert list(second.law.parents) == first.drafts[:2]


@pytest.mark.parametrize(
    ("layers", "changes", "count"),
    [
        (0, {}, 4),
        (1, {}, WIDTH + 2 * 4),
        (2, {"max_width": 7}, 2 * WIDTH + 3 * 7),
        (2, {"forest": "likely"}, 3 * 4),
    ],
)
def test_there_is_a_uniform_for_everything_that_can_be_decided(layers, changes, count):
    """Catches verification that runs out of uniforms: one a draft, and one a beam of every layer and of the bonus."""
    made = [drafted(*FIRST, [0, 2, 1]), drafted(*SECOND, [0, 1, 2])][:layers]
    _, result = scored(made, **changes)
    assert len(result.uniforms) == len(set(result.uniforms)) == count
    assert all(0 <= uniform < 1 for uniform in result.uniforms)
    assert len(result.forest.layers) == layers
