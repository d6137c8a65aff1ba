"""Beams: paths of tokens that share their beginnings.

A :class:`Node` is its content: a parent and a token. The forest and the verifier make sure that two nodes with the
same content are one object, so comparing nodes by identity is enough. The beams of a decode form one tree whose root
is the end of the prompt.

*Source:* docs/algorithm.md, *Words*.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from dsbd.settings import ResolvedSettings


@dataclass(frozen=True, eq=False, slots=True)
class Node:
    """One token below its parent; the root (end of the prompt) has no parent."""

    parent: "Node | None" = field(repr=False)
    token: int
    length: int
    """Tokens generated up to here: 0 for the root."""

    def child(self, token: int) -> "Node":
        """Make a new node below this one."""
        return Node(self, token, self.length + 1)

    def token_ids(self) -> list[int]:
        """Return the generated tokens from the root to this node, in reading order.

        >>> from dsbd.verification import toy
        >>> toy.AB.token_ids()
        [0, 1]
        """
        tokens = []
        node: Node = self
        while node.parent is not None:
            tokens.append(node.token)
            node = node.parent
        return tokens[::-1]


@dataclass(frozen=True, slots=True)
class Beam:
    """A distinct beam. Equal beams (replacement=True) are one beam with a multiplicity."""

    node: Node
    log_weight: float
    """Sum of the target's raw (unwarped) token log-probabilities after the prompt, nats."""
    multiplicity: int = 1


@dataclass(frozen=True, slots=True)
class Hypothesis:
    """A possible output: a finished beam, or an alive one at the limit."""

    node: Node
    log_weight: float
    score: float
    """``log_weight / length**length_penalty``."""
    finished: bool
    multiplicity: int


def score_hypothesis(beam: Beam, length_penalty: float, finished: bool) -> Hypothesis:
    """Rate a beam as an output. Its length counts generated tokens, EOS included.

    >>> from dsbd.verification import toy
    >>> beam = Beam(toy.AA, log_weight=-0.8)
    >>> score_hypothesis(beam, length_penalty=1.0, finished=False).score
    -0.4
    """
    length = max(beam.node.length, 1)
    return Hypothesis(beam.node, beam.log_weight, beam.log_weight / length**length_penalty, finished, beam.multiplicity)


def ends_early(finished: Sequence[Hypothesis], alive: Sequence[Beam], settings: ResolvedSettings) -> bool:
    """Return True if ``early_stopping`` ends a decode behind a layer that leaves ``alive``; the limit is no early end.

    >>> from dsbd.verification import toy
    >>> finished = [score_hypothesis(Beam(toy.AA, -1.0, multiplicity=2), 1.0, True)]
    >>> settings = [ResolvedSettings(max_width=2, early_stopping=rule) for rule in (True, False, "never", None)]
    >>> [ends_early(finished, [Beam(toy.AB, -1.2)], one) for one in settings]
    [True, True, False, False]

    *Source:* ``generate`` of transformers; docs/algorithm.md, *Where a decode ends*.
    """
    rule, penalty, length = settings.early_stopping, settings.length_penalty, alive[0].node.length
    scores = sorted((one.score for one in finished for _ in range(one.multiplicity)), reverse=True)
    if rule is None or len(scores) < settings.max_width or length == settings.max_new_tokens:
        return False
    longest = settings.max_new_tokens if rule == "never" and penalty > 0 else length
    best = max(beam.log_weight for beam in alive) / longest**penalty
    return rule is True or best <= scores[settings.max_width - 1]


def keep_best(beams: Sequence[Beam], count: int | None) -> list[Beam]:
    """Keep the ``count`` beams of largest log-weight, all if None, in their given order. Ties go to the earlier beam.

    >>> from dsbd.verification import toy
    >>> [toy.text(beam.node) for beam in keep_best(toy.BEAMS, 1)]
    ['a']

    *Source:* one beam is the paper's variant for little memory.
    """
    if count is None or len(beams) <= count:
        return list(beams)
    best = sorted(range(len(beams)), key=lambda index: (-beams[index].log_weight, index))[:count]
    return [beams[index] for index in sorted(best)]


def common_prefix(nodes: Iterable[Node]) -> Node:
    """Return the deepest node that lies on the path to each of ``nodes``.

    >>> from dsbd.verification import toy
    >>> toy.text(common_prefix([toy.AA, toy.AB])), toy.text(common_prefix([toy.AA, toy.BA]))
    ('a', '')
    """
    level = list({id(node): node for node in nodes}.values())
    shortest = min(node.length for node in level)
    level = [_ancestor(node, shortest) for node in level]
    while any(node is not level[0] for node in level):
        level = [node.parent for node in level if node.parent is not None]
    return level[0]


def _ancestor(node: Node, length: int) -> Node:
    while node.length > length and node.parent is not None:
        node = node.parent
    return node
