"""A race as positions on one clock, texts with their differences, and the sentences that say who was faster."""

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from typing import Any, Literal

from dsbd.evaluation.race_records import Lane, Race, Racer, Ratio, read_race
from dsbd.results import brief
from visualize.words.words import Words

Busy = Literal["prefill", "draft", "score", "verify", "forward"]
BUSY: dict[str, Busy] = {
    "prefill": "prefill",
    "draft": "draft",
    "score": "score",
    "verify": "verify",
    "commit": "verify",
    "forward": "forward",
}
"""The bar of each phase; verification and commit have the same."""
BUSY_WORDS: dict[Busy, str] = {
    "prefill": "reads the prompt",
    "draft": "small model guesses",
    "score": "large model checks",
    "verify": "decides and keeps",
    "forward": "forward, phases not told apart",
}
LABELS = {
    "speculative": "Speculative sampling",
    "dsbd defaults": "DSBD, dynamic width",
    "dsbd same-law": "DSBD, same law",
    "dsbd auto-same-law": "DSBD, same law, auto",
    "dsbd auto": "DSBD, dynamic width, auto",
    "dsbd paper-same-law": "DSBD, same law, as in the paper",
    "dsbd equal-quality": "DSBD, equal quality",
    "dsbd auto-equal-quality": "DSBD, equal quality, auto",
    "dsbd as in Play": "DSBD, as set in Play",
    "hf_beam_sampling": "transformers: beam sampling",
    "hf_beam_search": "transformers: beam search",
    "hf_assisted": "transformers: assisted",
    "hf_sampling": "transformers: sampling",
    "ct2_beam_search": "CTranslate2: beam search",
    "ct2_bfloat16_beam_search": "CTranslate2: beam search, bfloat16",
    "ct2_int8_beam_search": "CTranslate2: beam search, int8",
}
_SAME_CHANCES = (
    "Several versions. The small model guesses ahead; same law: every text has the same chance as in beam sampling."
)
MEANINGS = {
    "sampling": "One text. The large model works once for every token.",
    "beam_sampling": "Several versions of the text at once. The large model works once for every token.",
    "speculative": "One text. The small model guesses ahead; every text has the same chance as in sampling.",
    "dsbd same-law": _SAME_CHANCES,
    "dsbd auto-same-law": _SAME_CHANCES,
    "dsbd defaults": "As many versions as probably pass the check; each token of them by the large model's law.",
}
SAME_LAW = ("dsbd same-law", "dsbd auto-same-law", "dsbd paper-same-law")


@dataclass(frozen=True)
class Bar:
    """What a decoder does from ``start`` to ``end``, in parts of the whole clock, 0 to 1."""

    busy: Busy
    start: float
    end: float


@dataclass(frozen=True)
class Tick:
    """Tokens that land at one moment of the clock, 0 to 1."""

    at: float
    tokens: int
    text: str


@dataclass(frozen=True)
class Piece:
    """A part of a text; ``differs`` from the text it is compared with."""

    text: str
    differs: bool


@dataclass(frozen=True)
class LaneScene:
    """One decoder's lane."""

    __repr__ = brief

    name: str
    label: str
    meaning: str
    said: str
    """How fast it was, compared with the baseline: part of a sentence."""
    is_ours: bool
    seconds: float
    bars: tuple[Bar, ...]
    ticks: tuple[Tick, ...]
    has_phases: bool
    pieces: tuple[Piece, ...]
    """The returned text, compared with the baseline's."""


@dataclass(frozen=True)
class RaceScene:
    """All lanes on one clock."""

    __repr__ = brief

    seconds: float
    """The whole clock: until the slowest lane is over."""
    lanes: tuple[LaneScene, ...]
    sentence: str
    """What the race shows, in one sentence."""
    baseline: str
    """Label of the decoder that the others are compared with; empty if there is none."""

    @property
    def busy(self) -> tuple[Busy, ...]:
        """The kinds of bars that occur, in the order of :data:`BUSY_WORDS`."""
        found = {bar.busy for lane in self.lanes for bar in lane.bars}
        return tuple(name for name in BUSY_WORDS if name in found)


def race_scene(race: Race | Mapping[str, Any]) -> RaceScene:
    """Return the scene of a race: all that a drawing needs.

    Args:
        race: a record, or its plain data. Racers without a lane are left out.

    Raises:
        ValueError: the data is no race.
    """
    read = read_race(race)
    running = [(racer, racer.lane) for racer in read.racers if racer.lane is not None]
    whole = max((lane.seconds for _, lane in running), default=0.0) or 1.0
    base = next((lane.text for racer, lane in running if racer.name == read.baseline), None)
    return RaceScene(
        seconds=whole,
        lanes=tuple(_lane(racer, lane, read, whole, base) for racer, lane in running),
        sentence=meaning_of(read),
        baseline="" if read.baseline is None else label_of(read.baseline),
    )


def _lane(racer: Racer, lane: Lane, race: Race, whole: float, base: str | None) -> LaneScene:
    return LaneScene(
        name=racer.name,
        label=label_of(racer.name),
        meaning=MEANINGS.get(racer.name, ""),
        said=speed_said(racer, race.baseline),
        is_ours=racer.row.method == "dsbd",
        seconds=lane.seconds,
        bars=tuple(Bar(BUSY[one.phase], one.start / whole, one.end / whole) for one in lane.stretches),
        ticks=tuple(Tick(one.seconds / whole, one.tokens, one.text) for one in lane.landings),
        has_phases=lane.has_phases,
        pieces=compared(lane.text, lane.text if base is None else base),
    )


def label_of(name: str) -> str:
    """Return a contender's name as a reader sees it; values of a setting that varies stand behind."""
    words = name.split(" ")
    base = " ".join(word for word in words if "=" not in word)
    found = LABELS.get(base) or Words("en").table.get(f"method.{base}") or base
    values = [word.replace("_", " ").replace("=", " ") for word in words if "=" in word]
    return " · ".join([found[:1].upper() + found[1:], *values])


def speed_said(racer: Racer, baseline: str | None) -> str:
    """Return how fast a contender was, compared with the baseline; empty if nothing was compared."""
    if racer.name == baseline:
        return "the others are compared with this one"
    if racer.ratio is None or baseline is None:
        return ""
    return _ratio_said(racer.ratio, label_of(baseline).lower())


def _ratio_said(ratio: Ratio, other: str) -> str:
    times = _short(ratio.of)
    if ratio.low is None or ratio.high is None:
        return f"{times} × as fast as {other} in the one run; one run shows no difference"
    interval = f"95 % interval {ratio.low:.2f} to {ratio.high:.2f}"
    match ratio.verdict:
        case "faster":
            return f"{times} × as fast as {other} here ({interval})"
        case "slower":
            return f"slower here: {times} × the speed of {other} ({interval})"
    ends = f"{_short(ratio.low)} to {_short(ratio.high)}"
    return f"too few runs to tell whether faster or slower than {other}: {times} ×, could be {ends} ×"


def _short(times: float) -> str:
    return f"{times:.1f}" if times >= 1 else f"{times:.2f}"


def quality_said(racer: Racer, race: Race) -> str:
    """Return how good a contender's answers were, compared with the baseline's; empty if nothing was compared."""
    found = racer.row.difference
    if found is None:
        return ""
    what = "perplexity" if race.task is None else "share of right answers"
    if found.verdict in ("higher", "lower"):
        good = (found.verdict == "higher") == race.higher_is_better
        return f"{what} {found.verdict}, which is {'better' if good else 'worse'}"
    return f"{what}: {found.verdict}"


def meaning_of(race: Race) -> str:
    """Return what a race shows, in one sentence."""
    racers = {racer.name: racer for racer in race.racers}
    found = next((racers[name] for name in SAME_LAW if name in racers), None)
    if found is None or found.ratio is None:
        return "A decoder that guesses ahead saves passes of the large model; whether it saves time, the clock says."
    times = _short(found.ratio.of)
    match found.ratio.verdict:
        case "faster":
            return f"Guessing and checking gave texts of beam sampling's own law, {times} × as fast on this machine."
        case "slower":
            return (
                "The guesses cost more time here than they save: texts of beam sampling's own law at "
                f"{times} × its speed."
            )
        case "not measured":
            return "One run is no comparison; ask for more runs."
    return (
        "These runs show no difference in speed between beam sampling and guessing under its own law; "
        "more runs narrow the interval."
    )


def compared(text: str, other: str) -> tuple[Piece, ...]:
    """Return a text in pieces, with the words that differ from another text.

    Example:
        >>> compared("a fox ran", "a cat ran")
        (Piece(text='a ', differs=False), Piece(text='fox ', differs=True), Piece(text='ran', differs=False))
    """
    ours, theirs = _words(text), _words(other)
    matcher = SequenceMatcher(None, [word.strip() for word in ours], [word.strip() for word in theirs], autojunk=False)
    pieces = []
    for kind, start, end, _, _ in matcher.get_opcodes():
        if end > start:
            pieces.append(Piece("".join(ours[start:end]), kind != "equal"))
    return tuple(pieces)


def _words(text: str) -> Sequence[str]:
    """Return words, each with the space after it; the first one has the space before it too."""
    return re.findall(r"^\s*\S+\s*|\S+\s*|^\s+$", text)
