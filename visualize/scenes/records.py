"""The records of a scene: a trace as positions, labels, sentences and steps, computed once for all drawings.

Plain frozen data. The layout of an iteration is that of its whole forest, drawn nodes included; a step
changes how nodes look, never where they are.
"""

from dataclasses import asdict, dataclass, field
from typing import Any

from dsbd.results import brief
from dsbd.tracing.records import Beginning, Draw, KeptSlots, Trial
from dsbd.tracing.trace import Trace
from visualize.scenes.whole_records import WholeScene


@dataclass(frozen=True)
class Gauge:
    """A random number against what it was compared with: ``u < high``, or ``low <= u < high`` for a draw."""

    low: float
    high: float
    u: float


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
    gauge: Gauge | None


@dataclass(frozen=True)
class NodeScene:
    """One node of the union tree of an iteration."""

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
    completes: str
    """The character, split over tokens, that this token completes, visible; or empty."""
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
    landed: bool
    kept: bool
    """True on the way to a beam that goes on or finished."""
    ends: bool
    target_prob: float | None
    draft_prob: float | None
    target_log_prob: float | None
    draft_log_prob: float | None
    log_weight: float | None
    facts: tuple[Fact, ...]


@dataclass(frozen=True)
class AlternativeScene:
    """One of the likeliest pairs of a layer, drafted or not."""

    parent: str
    """Visible text of the beam's last token; empty where only one beam is alive."""
    token: str
    target_prob: float
    draft_prob: float
    node: int
    """Place in ``IterationScene.nodes``; -1 where it is no node."""


@dataclass(frozen=True)
class LayerScene:
    """One column with its width and why."""

    __repr__ = brief

    layer: int
    kind: str
    title: str
    width: int
    width_reason: str
    """As recorded."""
    reason: str
    caption: str
    """The width and why, in a few characters."""
    accepted: int
    outcome: str
    outcome_sentence: str
    at_least: tuple[float, ...]
    """P(accepted >= k), in a likely forest P(k draws all land), for k = 1, 2, ..."""
    forest_mass: float | None
    """In a likely forest the chance that a draw lands."""
    width_uniform: float | None
    """In random_width: the random number that drew the width."""
    threshold: float | None
    """None where no threshold chose the width."""
    step: int
    """The step that chooses the width."""
    chain_S: tuple[float, ...]
    """S of the residual after 0..m rejections in a row, as recorded."""
    support: int
    """Pairs of positive probability under the target."""
    alive: tuple[int, ...]
    """Places of the beams this layer extends."""
    alternatives: tuple[AlternativeScene, ...]


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
    """0 where the step is about no layer."""
    sentence: str
    focus: int
    """Place of the node the step is about; -1 for none."""
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
    seconds: dict[str, float]
    """Wall-clock seconds by phase."""
    trials: tuple[Trial, ...]
    """As recorded, so that a reader of the scene can decide them again."""
    draws: tuple[Draw, ...]
    slots: KeptSlots
    slots_before: int | None
    """Cache slots in use when the iteration began; None if the iteration before is not known."""
    beginnings: tuple[Beginning, ...]
    """As recorded, under block verification."""


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
class Statistics:
    """Counts over all iterations so far."""

    iterations: int = 0
    layers: int = 0
    accepted: int = 0
    rejected: int = 0
    orphaned: int = 0
    unneeded: int = 0
    recovered: int = 0
    fresh: int = 0
    bonus: int = 0
    landed: int = 0
    widths: int = 0
    """Sum of the chosen widths."""
    seconds: float = 0.0
    """Sum of all phases."""

    @property
    def acceptance_rate(self) -> float | None:
        """Accepted / (accepted + rejected); None before the first trial."""
        tried = self.accepted + self.rejected
        return self.accepted / tried if tried else None

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
        ratios = {name: getattr(self, name) for name in ("acceptance_rate", "layers_per_iteration", "mean_width")}
        return {**asdict(self), **ratios}


@dataclass(frozen=True)
class ResultBeam:
    """A ranked hypothesis."""

    node: int
    text: str
    log_weight: float
    score: float
    finished: bool


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
    result: tuple[ResultBeam, ...]
    """Ranked; empty while the decode runs."""
    strings: dict[str, str]
    """The sentence templates of the language the scene was built in."""
    whole: WholeScene
    """All iterations as one tree, also where ``iterations`` holds only the newest."""
    trace: Trace | None = field(default=None, compare=False, repr=False)
    """What it shows, where that is whole: whoever packs the scene has it audited."""


@dataclass(frozen=True)
class Divergence:
    """The first step at which two scenes differ."""

    it: int
    """Place of the iteration, from 0."""
    iteration: int
    """Its recorded index."""
    step: int
    """Place of the step, from 0; the first step that only one of the two has counts as different."""
    phase: str
    layer: int
    """0 where the step is about no layer."""


@dataclass(frozen=True)
class DiffScene:
    """Two scenes of one prompt, and where they part. Pages take it as they take a scene."""

    __repr__ = brief

    left: Scene
    right: Scene
    divergence: Divergence | None
    """None where both took the same steps."""

    @property
    def title(self) -> str:
        return f"{self.left.title} | {self.right.title}"

    @property
    def prompt(self) -> tuple[str, ...]:
        return self.left.prompt

    @property
    def result(self) -> tuple[ResultBeam, ...]:
        return self.left.result

    @property
    def strings(self) -> dict[str, str]:
        return self.left.strings
