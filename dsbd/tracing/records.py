"""The records that a trace is made of, as plain data.

Every token that ever belonged to a forest or a beam is a *node* with an id that is unique in the trace. Node 0 is the
end of the prompt and is not listed. ``parent`` links lead back to it: a beam is one node id, and its text is the tokens
on the way from node 0.

An iteration holds the beams that it starts from and the nodes that it adds: ``drafted`` and ``cover`` nodes of the
forest, then ``drawn`` nodes for recovered, fresh and bonus tokens that are not in the forest. Layer by layer it holds
the trials of the drafts and the draws from the target's distribution.
"""

from collections.abc import Iterator
from dataclasses import asdict
from typing import Annotated, Any, Literal, TypeVar

from pydantic import FailFast, Field, StrictFloat, StrictInt
from pydantic.dataclasses import dataclass

from dsbd.results import DecodedBeam, ShortRepr
from dsbd.settings import FIELDS
from dsbd.verification.verified import STRICT, Outcome
from dsbd.verification.verified import Draw as Draw
from dsbd.verification.verified import Trial as Trial

ROOT = 0
ALTERNATIVES = 5
"""How many of its likeliest candidates a layer records."""
_HEX = "^([0-9a-f]{2})+$"

LAYERS = int(FIELDS["draft_depth"].high) + 1
"""The most layers of an iteration: the largest ``draft_depth`` and the bonus layer."""
BEAMS = int(FIELDS["max_width"].high)
"""The most beams of a layer."""

WITHOUT_MODEL = ("copies", "source")
"""What ``attention`` says of a draft source that is no model."""
NodeKind = Literal["drafted", "cover", "drawn"]
LayerKind = Literal["draft", "bonus"]
Probability = Annotated[float, Field(ge=-1e-9, le=1.0 + 1e-9)]
"""Within rounding, which stays below 1e-12."""

Text = Annotated[str, Field(max_length=2**28)]
"""A text without half of a surrogate pair: where a text has a limit, pydantic refuses one."""
Item = TypeVar("Item")
Listed = Annotated[list[Item], FailFast()]
"""A list whose check ends at the first wrong item: a damaged list takes no longer than a good one."""
OfBeams = Annotated[list[Item], FailFast(), Field(max_length=BEAMS)]
"""A list with an item for each beam of a layer, at most."""


@dataclass(frozen=True, config=STRICT)
class ModelRecord:
    """One model of the pair, as loaded."""

    id: Text
    revision: Text | None
    dtype: Text
    device: Text
    vocabulary_size: int
    attention: Text
    """``forest`` (one cache row for all beams), or a row for each path: ``states`` (with a separate cache), ``steps``
    (the same, fed token by token), ``paths`` (computed each time from its first token). Or no model:
    ``copies``, guesses copied from the text, or ``source``, another draft source."""


@dataclass(frozen=True, config=STRICT)
class Models:
    """The pair; ``draft`` is None if the method drafts nothing."""

    target: ModelRecord
    draft: ModelRecord | None


@dataclass(frozen=True, config=STRICT)
class Piece:
    """A token of the prompt."""

    token_id: int
    text: Text
    bytes: str | None = Field(default=None, pattern=_HEX)
    """Hex of the token's bytes if they alone are not UTF-8 (a character split over tokens), else None."""
    special: bool = False
    """True for tokens that are not text, such as BOS."""


@dataclass(frozen=True, repr=False, config=STRICT)
class SegmentRecord(ShortRepr):
    """A segment of a prompt that was read into a memory."""

    tokens: int
    text: Text
    first_memory: int
    """The segment, from 0, whose memory is the first that could be recalled."""
    weights: Listed[float]
    """How much of each memory was recalled, from ``first_memory`` on."""


@dataclass(frozen=True, repr=False, config=STRICT)
class MemoryRecord(ShortRepr):
    """What stands in front of the prompt: one embedding for all segments but the last. *Source:* docs/memory.md."""

    name: Text
    segments: Listed[SegmentRecord]
    """All segments; the last one is in ``pieces``, and its weights are what the embedding is made of."""
    sensory: int
    """How many first pieces are repeated from the segment before the last."""
    digest: Text
    """SHA-256 of the embedding's numbers, as float32 in little-endian order."""


@dataclass(frozen=True, repr=False, config=STRICT)
class Prompt(ShortRepr):
    """The prompt: as typed, and as the models saw it."""

    text: Text
    pieces: Listed[Piece]
    """All tokens; behind a memory the sensory tokens and the last segment."""
    memory: MemoryRecord | None = Field(default=None, exclude_if=lambda memory: memory is None)
    """The memory in slot 0 of the target; left out if the whole prompt is in ``pieces``."""


@dataclass(frozen=True, config=STRICT)
class InputBeam:
    """A beam that an iteration or layer starts from or yields."""

    node: int
    multiplicity: Annotated[int, Field(le=BEAMS)]
    """How often it was drawn."""
    log_weight: float
    """Sum of the target's raw log-probabilities after the prompt, nats."""


@dataclass(frozen=True, config=STRICT)
class NodeRecord:
    """One token below its parent. P and Q of a node come from the joint distributions of its layer."""

    id: int
    parent: int
    layer: Annotated[int, Field(le=LAYERS)]
    """The layer in the iteration: 1..draft_depth for forest nodes; for drawn nodes the layer they were drawn in."""
    token_id: int
    text: Text
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
    """P: the target's joint distribution of the layer at this node. None if the layer was never reached or, in a forest
    drawn per parent, the parent was not alive."""
    draft_prob: Probability | None
    """Q: the draft's joint distribution of the layer at this node, or the distribution of its parent; None for drawn
    nodes.
    """
    bytes: str | None = Field(default=None, pattern=_HEX)


@dataclass(frozen=True, config=STRICT)
class Alternative:
    """One of the likeliest candidates of a layer's joint distribution, drafted or not."""

    parent: int
    token_id: int
    text: Text
    target_prob: Probability
    draft_prob: Probability
    node: int | None


@dataclass(frozen=True, repr=False, config=STRICT)
class Layer(ShortRepr):
    """One verified layer: its width, trials, draws and beams."""

    layer: int
    kind: LayerKind
    alive: OfBeams[int]
    """Node ids of the alive beams that this layer extends, in the fixed order of its joint distribution."""
    draws_planned: Annotated[int, Field(ge=0)]
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
    width: Annotated[int, Field(le=BEAMS)]
    """The chosen width."""
    width_reason: Text
    accepted: int
    """How many drafts were accepted."""
    outcome: Outcome
    beams: OfBeams[InputBeam]
    """The beams that this layer yielded, finished ones included."""
    finished: OfBeams[int]
    """Node ids among ``beams`` that ended."""
    alternatives: OfBeams[Alternative]


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


@dataclass(frozen=True, repr=False, config=STRICT)
class IterationRecord(ShortRepr):
    """One target forward: draft, score, verify, commit."""

    index: int
    input_beams: OfBeams[InputBeam]
    draft_depth: Annotated[int, Field(le=LAYERS - 1)]
    nodes: Listed[NodeRecord]
    layers: Annotated[Listed[Layer], Field(min_length=1, max_length=LAYERS)]
    trials: Listed[Trial]
    draws: Listed[Draw]
    output_beams: OfBeams[InputBeam]
    """The input beams of the next iteration."""
    kept: KeptSlots
    phases: Phases

    def to_dict(self) -> dict[str, Any]:
        """Return the record as plain data that ``json.dumps`` takes."""
        return asdict(self)


@dataclass(frozen=True, repr=False, config=STRICT)
class BeamRecord(DecodedBeam):
    """A hypothesis of the result, and the node that it ends with."""

    node: int
    text: Text
    token_ids: Listed[int]


@dataclass(frozen=True, repr=False, config=STRICT)
class Result(ShortRepr):
    """What was returned; ``beams`` are ranked, the first is the returned one. ``text`` ends at ``stop``."""

    text: Text
    token_ids: Listed[int]
    beams: Annotated[Listed[BeamRecord], Field(min_length=1)]
    stats: dict[Text, StrictInt | StrictFloat | None]


def path_to(node: int, nodes: dict[int, NodeRecord]) -> Iterator[NodeRecord]:
    """Yield the nodes from just below the prompt to ``node``, in reading order."""
    path = []
    while node != ROOT:
        path.append(nodes[node])
        node = nodes[node].parent
    return reversed(path)
