"""The toy of every example: two alive beams, three tokens, distributions in eighths.

The tokens are 0 = "a", 1 = "b" and 2 = ".", which ends a beam. An iteration starts from two input beams, "a" with
probability 3/4 under the target and "b" with probability 1/4. What follows depends on the last token only:

    next token          a    b    .
    target, after a    2/3  1/6  1/6
    target, after b     1    0    0
    draft, after a     1/3  1/3  1/3
    draft, after b      1    0    0

So the joint distributions of the first layer, over (alive beam, token) candidates, are

    candidate               aa   ab   a.   ba
    P, the target's   1/2  1/8  1/8  1/4
    Q, the draft's    1/4  1/4  1/4  1/4

The forest has one layer with two drafts, "ab" and then "aa". docs/algorithm.md works through the same numbers.
"""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from dsbd.settings import ResolvedSettings
from dsbd.verification.beams import Beam, Node
from dsbd.verification.distributions import JointDistribution, TopTokens, joint_distribution
from dsbd.verification.forest import BranchedLayer, DraftDistribution, Forest, ForestLayer

LETTERS = "ab."
EOS = (2,)
TARGET = {0: (2 / 3, 1 / 6, 1 / 6), 1: (1.0, 0.0, 0.0)}
"""The target's probabilities of the next token, by last token."""

ROOT = Node(None, -1, 0)
A, B = ROOT.child(0), ROOT.child(1)
AA, AB, BA = A.child(0), A.child(1), B.child(0)
BEAMS = [Beam(A, math.log(3 / 4)), Beam(B, math.log(1 / 4))]
DRAFT_PROBS = np.array([1 / 4, 1 / 4, 1 / 4, 1 / 4])
"""Q of the first layer."""


def settings(**changes: Any) -> ResolvedSettings:
    """The toy's settings: one layer of two drafts, widths 1 to 2, threshold 1/2, no top-k; ``changes`` replace them."""
    chosen = {"draft_depth": 1, "draft_width": 2, "max_width": 2, "width_threshold": 0.5, "top_k": 0}
    return ResolvedSettings(**(chosen | changes))


def text(node: Node) -> str:
    """The letters from the root to a node."""
    return "".join(LETTERS[token] for token in node.token_ids())


def next_tokens(nodes: Sequence[Node]) -> list[TopTokens]:
    """The target's next tokens after each node."""
    with np.errstate(divide="ignore"):
        return [TopTokens(np.arange(3), np.log(np.array(TARGET[node.token]))) for node in nodes]


def target_distribution(**changes: Any) -> JointDistribution:
    """P of the first layer, under the toy's settings with ``changes``."""
    log_weights = [beam.log_weight for beam in BEAMS]
    return joint_distribution(next_tokens([A, B]), log_weights, [1, 1], settings(**changes))


def draft_distribution() -> DraftDistribution:
    """Q of the first layer."""
    return DraftDistribution([A, B], np.array([0, 0, 0, 1]), np.array([0, 1, 2, 0]), DRAFT_PROBS)


def forest(untested: Sequence[Node] = ()) -> Forest:
    """The forest with the drafts "ab" and "aa", and perhaps extra candidates such as :data:`BA`."""
    return Forest(BEAMS, [ForestLayer([AB, AA], [1 / 4, 1 / 4], list(untested), draft_distribution())])


def tree() -> Forest:
    """A layer drawn per parent: "ab" and then "aa" below "a", "ba" below "b"."""
    below_a = DraftDistribution([A], np.array([0, 0, 0]), np.array([0, 1, 2]), np.array([1 / 3, 1 / 3, 1 / 3]))
    below_b = DraftDistribution([B], np.array([0]), np.array([0]), np.array([1.0]))
    families = {A: ForestLayer([AB, AA], [1 / 3, 1 / 3], [], below_a), B: ForestLayer([BA], [1.0], [], below_b)}
    return Forest(BEAMS, [BranchedLayer(families)])
