"""The forest: one tree of drafts per input beam, layer by layer, as the verifier reads it."""

from collections.abc import Container, Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from dsbd.law.beams import Beam, Node
from dsbd.law.laws import Floats, Ints, Law, pair_keys


@dataclass(frozen=True)
class DraftLaw:
    """Q: the draft model's joint law that the drafts of one layer were drawn from."""

    parents: Sequence[Node]
    """The nodes that Q extends: input beams, or drafts of the layer above."""
    parent_places: Ints  # [n] index into ``parents``
    tokens: Ints  # [n]
    probs: Floats  # [n] positive, sum 1
    ranked: bool = False
    """True for greedy drafts without replacement: pairs come in the order they were drawn."""

    @property
    def support(self) -> int:
        """Number of pairs that could be drawn."""
        return int(self.probs.size)

    def restrict(self, law: Law, places: dict[Node, int]) -> tuple[Floats, float]:
        """Q at the pairs of the target's ``law``, and Q's mass on the alive beams (of a ranked law: its pairs there).

        Q is restricted to alive parents and not renormalised: with orphans counted as rejections,
        renormalising is wrong.

        Args:
            law: the target's joint law over the alive beams.
            places: place of each alive beam's node in that law.
        """
        place_of = np.array([places.get(node, -1) for node in self.parents], dtype=np.int64)
        beams = place_of[self.parent_places]
        alive = beams >= 0
        keys, probs = pair_keys(beams[alive], self.tokens[alive]), self.probs[alive]
        index = np.minimum(np.searchsorted(law.keys, keys), law.support - 1)
        shared = law.keys[index] == keys
        on_law = np.zeros(law.support)
        on_law[index[shared]] = probs[shared]
        return on_law, float(alive.sum() if self.ranked else probs.sum())


@dataclass(frozen=True)
class ForestLayer:
    """The drafts of one layer in the order they were drawn, duplicates repeated, and its cover nodes.

    In a sampled forest cover nodes have no children; in a likely forest there are no drafts, and they have.
    """

    drafts: Sequence[Node]
    draft_probs: Sequence[float]
    """Q at each draft (its whole pair, not its slot)."""
    covers: Sequence[Node]
    law: DraftLaw

    def as_likely(self) -> "ForestLayer":
        """The layer of a likely forest: its nodes are covers, for none of them was drawn and none is tried."""
        return ForestLayer([], [], self.drafts, self.law)

    def below(self, places: Container[Node]) -> list[Node]:
        """The cover nodes whose parents are alive."""
        return [node for node in self.covers if node.parent in places]


class Forest:
    """Input beams and layers of drafts. Nodes with equal content are one object (checked here)."""

    def __init__(self, input_beams: Sequence[Beam], layers: Sequence[ForestLayer]) -> None:
        self.input_beams = list(input_beams)
        self.layers = list(layers)
        self._children: dict[tuple[Node, int], Node] = {}
        for layer in self.layers:
            for node in (*layer.drafts, *layer.covers):
                assert node.parent is not None, "the root is no forest node"
                known = self._children.setdefault((node.parent, node.token), node)
                assert known is node, "two nodes of a forest have equal content"

    def find(self, parent: Node, token: int) -> Node | None:
        """The forest node with this content, if there is one."""
        return self._children.get((parent, token))

    def nodes(self) -> Iterator[Node]:
        """All distinct nodes, drafted before cover within a layer."""
        return iter(self._children.values())
