"""The forest: one tree of nodes below each input beam, layer by layer, as the verifier reads it.

*Source:* docs/algorithm.md, *One iteration*, *Going on below drawn beams* and *SpecInfer's tree*.
"""

from collections.abc import Container, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from dsbd.verification.beams import Beam, Node
from dsbd.verification.distributions import Floats, Ints, JointDistribution

LEAST_DRAFT_PROB = 1e-300
"""A candidate that the draft model finds less likely than this is not in Q: it is never drafted.

The verifier divides by what is left of Q, and above this the quotient stays finite. Any Q gives the target's
distribution, so nothing else changes.
"""


@dataclass(frozen=True)
class DraftDistribution:
    """Q: the draft model's joint distribution from which the drafts of one layer were drawn."""

    parents: Sequence[Node]
    """The nodes that Q extends: the input beams, or drafts of the layer above."""
    parent_indices: Ints  # [n] index into ``parents``
    tokens: Ints  # [n]
    probs: Floats  # [n] at least LEAST_DRAFT_PROB, sum 1; after the first candidate 0 where ranked
    ranked: bool = False
    """True for greedy drafts without replacement: the candidates are in the order they were drawn."""

    @property
    def support(self) -> int:
        """Number of candidates that could be drawn."""
        return int(self.probs.size)

    def probability(self, node: Node) -> float:
        """Return Q at a node; 0 if the distribution could not have drawn it.

        >>> from dsbd.verification import toy
        >>> toy.draft_distribution().probability(toy.BA), toy.draft_distribution().probability(toy.B.child(1))
        (0.25, 0.0)
        """
        parent = [index for index, one in enumerate(self.parents) if one is node.parent]
        here = np.isin(self.parent_indices, parent) & (self.tokens == node.token)
        return float(self.probs[here].sum())

    def restrict(self, distribution: JointDistribution, beam_index: dict[Node, int]) -> tuple[Floats, float]:
        """Restrict Q to the alive beams, without renormalising it.

        Orphans count as rejections, and with them a renormalised Q would give a wrong distribution.

        >>> from dsbd.verification import toy
        >>> on_distribution, mass = toy.draft_distribution().restrict(toy.target_distribution(), {toy.A: 0})
        >>> on_distribution.tolist(), mass
        ([0.25, 0.25, 0.25, 0.0], 0.75)

        Args:
            distribution: the target's joint distribution over the alive beams, n candidates.
            beam_index: index of each alive beam in that distribution, by its node.

        Returns:
            Q at the candidates of ``distribution`` [n], and the mass of Q on the alive beams (for a ranked Q: the
            number of its candidates there).
        """
        index_of = np.array([beam_index.get(node, -1) for node in self.parents], dtype=np.int64)
        beams = index_of[self.parent_indices]
        alive = beams >= 0
        index, shared = distribution.locate(beams[alive], self.tokens[alive])
        probs = self.probs[alive]
        on_distribution = np.zeros(distribution.support)
        on_distribution[index[shared]] = probs[shared]
        return on_distribution, float(alive.sum() if self.ranked else probs.sum())


@dataclass(frozen=True)
class ForestLayer:
    """Drafts from one draft distribution in the order they were drawn, duplicates repeated, and nodes without a test.

    In a forest drawn from joint distributions this is a whole layer; in one drawn per parent, the children of one
    parent.
    """

    drafts: Sequence[Node]
    draft_probs: Sequence[float]
    """Q at the candidate of each draft; equal drafts each hold the whole probability of their candidate."""
    untested: Sequence[Node]
    """Nodes that are scored, but no drafts: in a sampled forest its extra candidates, which have no children; in a
    coupled forest, where nothing is tested, all guesses. A trace calls them ``cover``."""
    distribution: DraftDistribution

    @property
    def distributions(self) -> Sequence[DraftDistribution]:
        """The one draft distribution of the layer."""
        return [self.distribution]

    def of(self, node: Node) -> "ForestLayer":
        """Return the drafts that are tried together with those below a node: all, because one distribution has drawn
        them.
        """
        return self

    def below(self, parents: Container[Node]) -> list[Node]:
        """Return the untested nodes whose parents are alive.

        >>> from dsbd.verification import toy
        >>> layer = toy.forest(untested=[toy.BA]).layers[0]
        >>> [toy.text(node) for node in layer.below({toy.B})], layer.below({toy.A})
        (['ba'], [])
        """
        return [node for node in self.untested if node.parent in parents]


@dataclass(frozen=True)
class BranchedLayer:
    """A layer drawn per parent: every node above has children, drawn from its own draft distribution.

    >>> from dsbd.verification import toy
    >>> layer = toy.tree().layers[0]
    >>> [toy.text(node) for node in layer.drafts], [toy.text(node) for node in layer.of(toy.B).drafts]
    (['ab', 'aa', 'ba'], ['ba'])
    """

    families: Mapping[Node, ForestLayer]
    """By parent, in the order of the parents; without parents that have no drafts, such as ended ones."""

    @property
    def drafts(self) -> Sequence[Node]:
        """All drafts, family by family."""
        return [node for family in self.families.values() for node in family.drafts]

    @property
    def untested(self) -> Sequence[Node]:
        """Nothing: a forest drawn per parent has drafts only."""
        return []

    @property
    def distributions(self) -> Sequence[DraftDistribution]:
        """The draft distribution of each family."""
        return [family.distribution for family in self.families.values()]

    def of(self, node: Node) -> ForestLayer | None:
        """Return the children of one node; None if it has no children."""
        return self.families.get(node)


class Forest:
    """Input beams and layers of drafts. Nodes with equal content are one object (checked here)."""

    def __init__(self, input_beams: Sequence[Beam], layers: Sequence[ForestLayer | BranchedLayer]) -> None:
        self.input_beams = list(input_beams)
        self.layers = list(layers)
        self._children: dict[tuple[Node, int], Node] = {}
        for layer in self.layers:
            for node in (*layer.drafts, *layer.untested):
                assert node.parent is not None, "the root is no forest node"
                known = self._children.setdefault((node.parent, node.token), node)
                assert known is node, "two nodes of a forest have equal content"

    def find(self, parent: Node, token: int) -> Node | None:
        """Return the forest node with this content, or None.

        >>> from dsbd.verification import toy
        >>> toy.forest().find(toy.A, 1) is toy.AB, toy.forest().find(toy.B, 0)
        (True, None)
        """
        return self._children.get((parent, token))

    def nodes(self) -> Iterator[Node]:
        """Iterate over the distinct nodes, layer by layer, drafts first.

        >>> from dsbd.verification import toy
        >>> [toy.text(node) for node in toy.forest(untested=[toy.BA]).nodes()]
        ['ab', 'aa', 'ba']
        """
        return iter(self._children.values())
