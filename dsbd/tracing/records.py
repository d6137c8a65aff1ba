"""The records that a trace is made of, as plain data.

Every token that ever belonged to a forest or a beam is a *node* with an id that is unique in the trace. Node 0 is the
end of the prompt and is not listed. ``parent`` links lead back to it: a beam is one node id, and its text is the tokens
on the way from node 0.

An iteration holds the beams that it starts from and the nodes that it adds: ``drafted`` and ``cover`` nodes of the
forest, then ``drawn`` nodes for recovered, fresh and bonus tokens that are not in the forest. Layer by layer it holds
the trials of the drafts and the draws from the target's law.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypeVar

from pydantic import ConfigDict, FailFast, Field
from pydantic.dataclasses import dataclass

from dsbd.law.verified import DrawKind, Outcome, Verdict
from dsbd.results import brief

ROOT = 0
ALTERNATIVES = 5
"""How many of its likeliest pairs a layer records."""
_HEX = "^([0-9a-f]{2})+$"

NodeKind = Literal["drafted", "cover", "drawn"]
LayerKind = Literal["draft", "bonus"]
Probability = float

Item = TypeVar("Item")
Listed = Annotated[list[Item], FailFast()]
"""A list whose check ends at the first wrong item: a damaged list takes no longer than a good one."""

STRICT = ConfigDict(extra="forbid", allow_inf_nan=False)
"""The rules of every record: no unknown field, no number that JSON does not have."""


@dataclass(frozen=True, config=STRICT)
class ModelRecord:
    """One model of the pair, as loaded."""

    id: str
    revision: str | None
    dtype: str
    device: str
    vocabulary_size: int
    attention: str
    """``forest`` (one cache row for all beams), or a row for each path: ``states`` (with a separate cache), ``steps``
    (the same, fed token by token), ``paths`` (computed each time from its first token)."""


@dataclass(frozen=True, config=STRICT)
class Models:
    """The pair; ``draft`` is None if the method drafts nothing."""

    target: ModelRecord
    draft: ModelRecord | None


@dataclass(frozen=True, config=STRICT)
class Piece:
    """A token of the prompt."""

    token_id: int
    text: str
    bytes: str | None = Field(default=None, pattern=_HEX)
    """Hex of the token's bytes if they alone are not UTF-8 (a character split over tokens), else None."""
    special: bool = False
    """True for tokens that are not text, such as BOS."""


@dataclass(frozen=True, config=STRICT)
class SegmentRecord:
    """A segment of a prompt that was read into a memory."""

    __repr__ = brief

    tokens: int
    text: str
    first_memory: int
    """The segment, from 0, whose memory is the first that could be recalled."""
    weights: Listed[Probability]
    """How much of each memory was recalled, from ``first_memory`` on."""


@dataclass(frozen=True, config=STRICT)
class MemoryRecord:
    """What stands in front of the prompt: one embedding for all segments but the last. *Source:* docs/memory.md."""

    __repr__ = brief

    name: str
    segments: Listed[SegmentRecord]
    """All segments; the last one is in ``pieces``, and its weights are what the embedding is made of."""
    sensory: int
    """How many first pieces are repeated from the segment before the last."""
    digest: str
    """SHA-256 of the embedding's numbers, as float32 in little-endian order."""


@dataclass(frozen=True, config=STRICT)
class Prompt:
    """The prompt: as typed, and as the models saw it."""

    __repr__ = brief

    text: str
    pieces: Listed[Piece]
    """All tokens; behind a memory the sensory tokens and the last segment."""
    memory: MemoryRecord | None = Field(default=None, exclude_if=lambda memory: memory is None)
    """The memory in slot 0 of the target; left out if the whole prompt is in ``pieces``."""


@dataclass(frozen=True, config=STRICT)
class InputBeam:
    """A beam that an iteration or layer starts from or yields."""

    node: int
    multiplicity: int
    """How often it was drawn."""
    log_weight: float
    """Sum of the target's raw log-probabilities after the prompt, nats."""


@dataclass(frozen=True, config=STRICT)
class Node:
    """One token below its parent. P and Q of a node come from the joint laws of its layer."""

    id: int
    parent: int
    layer: int
    """The layer in the iteration: 1..draft_depth for forest nodes; for drawn nodes the layer they were drawn in."""
    token_id: int
    text: str
    """The token's text; U+FFFD stands for bytes that alone are not UTF-8 (see ``bytes``)."""
    kind: NodeKind
    ends: bool
    """True for an end-of-sequence token: the beam is then a finished hypothesis."""
    target_log_prob: float | None
    """Raw log p(token | parent) under the target, nats; None if it is minus infinity, or not known: in a joint test the
    target scores the best beam only."""
    draft_log_prob: float | None
    """The same under the draft model; None for drawn nodes."""
    target_prob: Probability | None
    """P: the target's joint law of the layer at this node. None if the layer was never reached or, in a forest drawn
    per parent, the parent was not alive."""
    draft_prob: Probability | None
    """Q: the draft's joint law of the layer at this node, or the law of its parent; None for drawn nodes."""
    bytes: str | None = Field(default=None, pattern=_HEX)


@dataclass(frozen=True, config=STRICT)
class JointSums:
    """What a joint test compares at one token of the draft's best beam: both models' sums of raw log-probabilities.

    The sums run from below the input beam to this token, in nats. The beginning of the beam up to it passes if
    min(1, exp(target - draft)) reaches the threshold.
    """

    target: float | None
    """None if it is minus infinity."""
    draft: float
    threshold: float


@dataclass(frozen=True, config=STRICT)
class Trial:
    """The test of one draft. Each duplicate of a node has a trial; a joint test tries the draft's best beam only.

    With c and S as in docs/algorithm.md, *The residual in closed form*, the residual at the node is
    max(P - c*Q, 0) / S, and the acceptance probability is min(1, residual / draft_prob).
    """

    layer: int
    order: int
    """Place among the drafts of its layer, from 0, in the order in which they were drawn."""
    node: int
    verdict: Verdict
    draft_prob: Probability
    """Q_k: the law that this draft was drawn from (without replacement: Q without earlier drafts, renormalised)."""
    residual_prob: Probability | None
    """P': the target's residual at the node before this trial; None if orphaned or unneeded."""
    c: float | None
    S: float | None
    acceptance: Probability | None
    uniform: float | None
    """The random number; the draft is accepted if it is below ``acceptance``. None if no random number was needed."""
    joint: JointSums | None
    """In a joint test: the sums behind ``acceptance``, which is then min(1, exp(target - draft)); else None."""


@dataclass(frozen=True, config=STRICT)
class Draw:
    """One beam drawn from the target's law by inverse CDF: ``cdf_low <= uniform < cdf_high``."""

    layer: int
    order: int
    kind: DrawKind
    node: int
    landed: bool
    """True if the drawn pair is a node of the forest."""
    target_prob: Probability
    """P at the pair."""
    draft_prob: Probability
    """Q at the pair (0 if the draft model could not have drawn it, and in a bonus layer)."""
    c: float
    S: float
    uniform: float
    cdf_low: float
    cdf_high: float


@dataclass(frozen=True, config=STRICT)
class Alternative:
    """One of the likeliest pairs of a layer's joint law, drafted or not."""

    parent: int
    token_id: int
    text: str
    target_prob: Probability
    draft_prob: Probability
    node: int | None


@dataclass(frozen=True, config=STRICT)
class Layer:
    """One verified layer: its width, trials, draws and beams."""

    __repr__ = brief

    layer: int
    kind: LayerKind
    alive: Listed[int]
    """Node ids of the alive beams that this layer extends, in the fixed order of its joint law."""
    draws_planned: int
    """m: how many drafts can be tried: draft_width, or the children of the alive beam in a forest drawn per parent;
    without replacement at most the support of Q; 0 for a bonus layer."""
    chain_c: Listed[float]
    """c_1..c_{m+1} of the residual after 0..m rejections in a row. Empty for a bonus layer."""
    chain_S: Listed[float]
    """S at each c of ``chain_c``."""
    acceptance_chain: Listed[Probability]
    """alpha_j = 1 - S_{j+1}/S_j: the mean acceptance of a draft after j - 1 rejections, j = 1..m."""
    accepted_distribution: Listed[Probability]
    """P(m, k): the probability that k of the m drafts are accepted, k = 0..m."""
    target_support: int
    """Number of pairs with positive probability under P."""
    width: int
    """The chosen width."""
    width_reason: str
    accepted: int
    """How many drafts were accepted."""
    outcome: Outcome
    """passed: accepted drafts reached its width; landed: every drawn beam landed, so verification went on;
    short: verification ended here; bonus: the bonus layer; finished: no beam is alive any more;
    block: the last layer of a block that the target searched itself."""
    beams: Listed[InputBeam]
    """The beams that this layer yielded, finished ones included."""
    finished: Listed[int]
    """Node ids among ``beams`` that ended."""
    alternatives: Listed[Alternative]
    forest_mass: Probability | None
    """In a likely forest: P of all its nodes below the alive beams: the probability that a draw lands; else None."""


@dataclass(frozen=True, config=STRICT)
class Phases:
    """Wall-clock seconds of the phases of one iteration."""

    draft_seconds: float
    score_seconds: float
    verify_seconds: float
    commit_seconds: float


@dataclass(frozen=True, config=STRICT)
class KeptSlots:
    """The target's cache row before and after the commit."""

    prompt_slots: int
    slots_scored: int
    """Slots in use after the forest was scored: prompt, live trie and forest."""
    slots_kept: int
    """Slots in use after the commit."""
    nodes: Listed[int]
    """Ids of the nodes, of this iteration's forest and input beams, whose slots stay."""


@dataclass(frozen=True, config=STRICT)
class Iteration:
    """One target forward: draft, score, verify, commit."""

    __repr__ = brief

    index: int
    input_beams: Listed[InputBeam]
    draft_depth: int
    nodes: Listed[Node]
    layers: Listed[Layer]
    trials: Listed[Trial]
    draws: Listed[Draw]
    output_beams: Listed[InputBeam]
    """The input beams of the next iteration."""
    kept: KeptSlots
    phases: Phases

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data that ``json.dumps`` takes."""
        return asdict(self)


@dataclass(frozen=True, config=STRICT)
class BeamRecord:
    """A hypothesis of the result."""

    __repr__ = brief

    node: int
    text: str
    token_ids: Listed[int]
    log_weight: float
    score: float
    finished: bool
    multiplicity: int


@dataclass(frozen=True, config=STRICT)
class Result:
    """What was returned; ``beams`` are ranked, the first is the returned one."""

    __repr__ = brief

    text: str
    token_ids: Listed[int]
    beams: Listed[BeamRecord]
    stats: dict[str, Any]


def path_to(node: int, nodes: dict[int, Node]) -> Iterator[Node]:
    """Yield the nodes from just below the prompt to ``node``, in reading order."""
    path = []
    while node != ROOT:
        path.append(nodes[node])
        node = nodes[node].parent
    return reversed(path)
