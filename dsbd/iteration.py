"""One iteration of a decode: what its phases fill in, and what observers see once it is committed."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from dsbd.next_tokens import NextTokens
from dsbd.results import ShortRepr
from dsbd.verification.beams import Beam, Node
from dsbd.verification.distributions import TopTokens
from dsbd.verification.forest import BranchedLayer, Forest, ForestLayer
from dsbd.verification.verified import VerifiedLayer


@dataclass(repr=False)
class Iteration(ShortRepr):
    """One iteration. Each phase fills in the fields below its name; an iteration without drafts has empty lists."""

    index: int
    input_beams: Sequence[Beam]

    # draft
    drafted: list[ForestLayer | BranchedLayer] = field(default_factory=list)
    """The layers of the forest."""
    draft_log_probs: dict[Node, float] = field(default_factory=dict)
    """Raw log p_draft(token | parent) of each forest node, nats."""
    drafts: list[list[Node]] = field(default_factory=list)
    """The nodes of each layer that may get children, each once: what was drawn or, in a coupled forest, guessed."""
    extras: list[list[Node]] = field(default_factory=list)
    """The extra candidates of each layer: scored, without children."""
    margins: dict[Node, float] = field(default_factory=dict)
    """Coupled forests: how far each node of ``drafts`` is from being drawn, in units of score + noise; 0 is a guess."""
    best: list[Node] = field(default_factory=list)
    """For a joint test: the draft's likeliest beam, top down. Its nodes are all that the target scores."""

    # score
    scored: list[Node] = field(init=False)
    """The forest nodes that the target scored, in this order."""
    forest: Forest = field(init=False)
    next_tokens: NextTokens = field(init=False)
    """The target's, after the input beams and the scored nodes."""
    uniforms: list[float] = field(init=False)
    """The random numbers that decide acceptance tests."""

    # verify
    layers: Sequence[VerifiedLayer] = field(init=False)
    """One for each token that the beams gained."""

    # commit
    output_beams: Sequence[Beam] = field(init=False)
    kept: Sequence[Node] = field(init=False)
    """The nodes of this iteration whose slots in the target's KV cache stay."""
    prompt_slots: int = field(init=False)
    slots_scored: int = field(init=False)
    slots_kept: int = field(init=False)
    seconds: dict[str, float] = field(init=False)
    """Seconds per phase; of the commit phase up to where this is filled in."""

    @property
    def groups(self) -> list[list[Node]]:
        """What the target is fed, parents in earlier groups: drafts layer by layer, then extra candidates."""
        groups = [[node] for node in self.best] or [*self.drafts, *self.extras]
        return [nodes for nodes in groups if nodes]

    def add(self, parent: Node, next_tokens: TopTokens, token: int) -> Node:
        """Make the node of one of the draft model's next tokens after ``parent``."""
        node = parent.child(token)
        self.draft_log_probs[node] = float(next_tokens.log_probs[next_tokens.tokens.searchsorted(token)])
        return node
