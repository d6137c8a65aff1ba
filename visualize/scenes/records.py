"""The records of a scene: a trace as positions, labels, sentences and steps, computed once for all drawings.

Plain frozen data. Nodes stand where they stand in the whole forest, drawn nodes included: a step changes how a node
looks, never where it is. What the trace records as numbers stays in the record; a scene adds what a drawing needs.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

from dsbd.results import VerdictCounts, brief
from dsbd.tracing.records import BeamRecord, Iteration, Layer, MemoryRecord
from dsbd.tracing.trace import Trace


@dataclass(frozen=True)
class Fact:
    """What a step says about one node."""

    step: int
    state: str
    """The verdict of the trial or of the beginning, or the kind of the draw."""
    title: str
    sentence: str
    detail: str
    """The arithmetic behind the sentence, or empty."""


@dataclass(frozen=True)
class NodeScene:
    """One node of the forest of an iteration, input beams included."""

    __repr__ = brief

    id: int
    parent: int
    """Place of the parent in ``IterationScene.nodes``; -1 for input beams."""
    column: int
    """0 for input beams, else the layer."""
    row: float
    """Where the node stands across its layer, from 0; leaves below each other are 1 apart."""
    label: str
    """Visible text, shortened for the drawing."""
    label_columns: int
    """Monospace columns that the label takes."""
    token: str
    """Visible text, whole."""
    adds: str
    """What it adds to the running text; for an input beam the end of its text."""
    pending: str
    """Its bytes, as hex, that wait for the next token to become a character."""
    token_id: int | None
    kind: str
    """``input``, ``drafted``, ``cover`` or ``drawn``."""
    state: str
    """The state after the last step."""
    slots: int
    """How many beams end here after the last step (for an input beam its multiplicity)."""
    kept: bool
    """True on the way to a beam that goes on or finished."""
    completes: str = ""
    """The character, split over tokens, that this token completes, visible; or empty."""
    landed: bool = False
    ends: bool = False
    target_prob: float | None = None
    draft_prob: float | None = None
    target_log_prob: float | None = None
    draft_log_prob: float | None = None
    log_weight: float | None = None
    """Of an input beam."""
    facts: tuple[Fact, ...] = ()


@dataclass(frozen=True)
class LayerScene:
    """One column with its width and the reason for it."""

    __repr__ = brief

    layer: int
    title: str
    width: int = 0
    reason: str = ""
    caption: str = ""
    """The width and its reason, in a few characters."""
    outcome_sentence: str = ""
    at_least: tuple[float, ...] = ()
    """P(accepted >= k), in a likely forest P(k draws all land), for k = 1, 2, ..."""
    threshold: float | None = None
    """None if no threshold chose the width."""
    step: int = 0
    """The step that chooses the width."""
    record: Layer | None = field(default=None, repr=False)
    """None for a column whose width is not chosen yet."""


@dataclass(frozen=True)
class Change:
    """The look of one node from this step on."""

    node: int
    """Place in ``IterationScene.nodes``."""
    state: str
    slots: int
    landed: bool


@dataclass(frozen=True)
class StepScene:
    """One step: what it is about, one sentence, and what it changes."""

    __repr__ = brief

    phase: str
    """``draft``, ``score``, ``block``, ``width``, ``trial``, ``draw``, ``layer`` or ``commit``."""
    layer: int
    """0 if the step is about no layer."""
    sentence: str
    focus: int
    """Place of the node the step is about; -1 if it is about no node."""
    changes: tuple[Change, ...]
    about: tuple[int, ...]
    """Drafts, nodes and cover nodes of a draft step; nodes of the score step; the place among the beginnings, trials
    or draws; how many nodes a width step leaves out."""


@dataclass(frozen=True)
class BeamScene:
    """A beam as text: its last token in ``Scene.tokens``."""

    node: int
    multiplicity: int
    log_weight: float
    finished: bool


@dataclass(frozen=True)
class IterationScene:
    """One iteration, ready to draw."""

    __repr__ = brief

    index: int
    last_column: int
    """The largest ``NodeScene.column``: how many layers are drawn."""
    last_row: float
    """The largest ``NodeScene.row``."""
    nodes: tuple[NodeScene, ...]
    layers: tuple[LayerScene, ...]
    steps: tuple[StepScene, ...]
    scored_step: int
    """From this step on the target's probabilities are known."""
    beams_before: tuple[BeamScene, ...]
    beams_after: tuple[BeamScene, ...]
    record: Iteration = field(repr=False)
    """As recorded: its numbers decide again what happened."""
    slots_before: int | None
    """Cache slots in use when the iteration began; None if the iteration before is not known."""
    before: int
    """How many tokens of the text earlier iterations brought."""


@dataclass(frozen=True)
class TokenScene:
    """A token of some beam's text."""

    id: int
    parent: int
    text: str
    """What it adds to the text; a character split over tokens stands at its last token."""
    pending: str
    """Hex of bytes that wait for the next token, shown where the text ends here."""
    origin: str
    """``accepted``, ``recovered``, ``fresh`` or ``bonus``."""


@dataclass(frozen=True)
class TreeNode:
    """One token that was ever guessed or drawn."""

    id: int
    parent: int
    """Its id; 0 is the end of the prompt."""
    position: int
    """Place of its token in the text, from 1."""
    row: int
    """0 on the line of the text, otherwise how far below it."""
    state: str
    """After the last step of the last iteration that names it."""
    iteration: int
    """Recorded index of that iteration."""
    label: str
    """Visible text, shortened for a drawing."""


@dataclass(frozen=True)
class Band:
    """The positions that one iteration won: one pass of the large model."""

    iteration: int
    """Its recorded index."""
    first: int
    """Position of the first token it won, from 1."""
    last: int
    """Position of the last one; ``first - 1`` if it won no token."""

    @property
    def won(self) -> int:
        """How many tokens it won."""
        return self.last - self.first + 1


@dataclass(frozen=True)
class WholeScene:
    """A decode, or the part of it there is so far, as one tree."""

    __repr__ = brief

    nodes: tuple[TreeNode, ...]
    """Every node of the trace once, parents first, without the cover nodes that no beam landed on."""
    bands: tuple[Band, ...]
    tokens: int
    """Tokens of the returned text, or of the best beam so far: the nodes of row 0."""
    last_position: int
    """The largest position of a node or a band."""
    last_row: int


@dataclass(frozen=True)
class Statistics:
    """Counts over all iterations so far."""

    iterations: int = 0
    layers: int = 0
    widths: int = 0
    """Sum of the chosen widths."""
    seconds: float = 0.0
    """Sum of all phases."""
    verdicts: VerdictCounts = field(default_factory=VerdictCounts)

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted / (accepted + rejected); None before the first trial."""
        return self.verdicts.acceptance_rate

    @property
    def layers_per_iteration(self) -> float | None:
        """None before the first iteration."""
        return self.layers / self.iterations if self.iterations else None

    @property
    def mean_width(self) -> float | None:
        """None before the first layer."""
        return self.widths / self.layers if self.layers else None

    def to_dict(self) -> dict[str, float | int | None]:
        """Counts and ratios."""
        counts = {**vars(self), **asdict(self.verdicts)}
        del counts["verdicts"]
        ratios = ("acceptance_rate", "layers_per_iteration", "mean_width")
        return counts | {name: getattr(self, name) for name in ratios}


@dataclass(frozen=True)
class Scene:
    """A decode, or the part of it there is so far."""

    __repr__ = brief

    title: str
    models: tuple[str, ...]
    settings: dict[str, Any]
    prompt: tuple[str, ...]
    tokens: tuple[TokenScene, ...]
    iterations: tuple[IterationScene, ...]
    statistics: Statistics
    result: tuple[BeamRecord, ...]
    """As recorded, ranked; empty while the decode runs."""
    strings: dict[str, str]
    """The sentence templates of the language the scene was built in."""
    whole: WholeScene
    """All iterations as one tree, even if ``iterations`` holds only the newest."""
    memory: MemoryRecord | None = None
    """As recorded: what stands for the earlier segments of a long prompt; None if the prompt is read whole."""
    trace: Trace | None = field(default=None, compare=False, repr=False)
    """The trace that it shows whole, for the audit; None while the decode runs."""
