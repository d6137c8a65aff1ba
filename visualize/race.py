"""A race as lanes on one clock: which decoders are compared, paths of SVG, names and speeds in words.

The sentences about a race stand in ``page/race.html``.
"""

from typing import Literal

from dsbd.bench.records import Phase, Race, Ratio, Row, Timeline
from visualize.words import number

ALIKE = (0.9, 1.1)
"""Speeds between these are about as fast."""
LABELS = {
    "speculative": "Speculative sampling",
    "dsbd defaults": "DSBD, dynamic width",
    "dsbd exact": "DSBD, exact",
    "dsbd auto-exact": "DSBD, exact, auto",
    "dsbd auto": "DSBD, dynamic width, auto",
    "dsbd paper-exact": "DSBD, exact, as in the paper",
    "dsbd as in Play": "DSBD, as set in Play",
    "hf_beam_sampling": "transformers: beam sampling",
    "hf_beam_search": "transformers: beam search",
    "hf_assisted": "transformers: assisted",
    "hf_sampling": "transformers: sampling",
    "mjsd": "MJSD",
    "mjgd": "MJGD",
    "specinfer": "SpecInfer",
}
EXACT = ("dsbd exact", "dsbd auto-exact", "dsbd paper-exact")
Group = Literal["one text", "several texts"]
GROUPS: tuple[Group, Group] = ("several texts", "one text")
ONE_TEXT = ("sampling", "greedy", "speculative", "specinfer", "hf_sampling", "hf_assisted")
"""Decoders that write one text; the others keep several versions, which is other work."""
PLAIN = ("sampling", "greedy")
"""The first of these that runs is the yardstick of the group of one text; the other group has the baseline."""

WIDTH = 1000
"""Units of the clock in a drawn lane."""
HEIGHT, BAR = 38, 24
"""Units of a drawn lane, and of its bars: the ticks of the tokens stand below them."""
MOST_TOKENS = 8
"""Tokens of one commit with the longest tick."""
TOPS: dict[Phase, int] = {"prefill": 0, "draft": 12, "score": 0, "verify": 18, "forward": 0}
"""Where each kind of bar begins: kinds differ in height too, not only in colour."""


def group_of(system: str) -> Group:
    """Return the group of decoders that a system is compared with."""
    return "one text" if system.partition(" ")[0] in ONE_TEXT else "several texts"


def groups_of(race: Race) -> dict[Group, list[Row]]:
    """Return the rows with a timeline by group; groups without one are left out."""
    shown = [row for row in race.table.rows if row.system in race.timelines]
    groups = {group: [row for row in shown if group_of(row.system) == group] for group in GROUPS}
    return {group: rows for group, rows in groups.items() if rows}


def plain_of(race: Race, group: Group) -> str | None:
    """Return the system without guesses that the others of a group are compared with."""
    names = PLAIN if group == "one text" else (race.table.baseline,)
    return next((row.system for name in names for row in race.table.rows if row.system == name), None)


def passes_of(race: Race, system: str | None) -> tuple[int, int] | None:
    """Return the passes of a system and of the one without guesses in its group; None where either is not known."""
    if system is None:
        return None
    shown = [race.timelines.get(name or "") for name in (system, plain_of(race, group_of(system)))]
    own, others = (timeline and timeline.passes for timeline in shown)
    return (own, others) if own and others else None


def guessing_row(race: Race) -> Row | None:
    """Return the row of the decoder with guesses and several texts that the sentences are about."""
    rows = {row.system: row for row in race.table.rows}
    return next((rows[name] for name in (*EXACT, "dsbd defaults") if name in rows), None)


def leading_rows(race: Race) -> tuple[Row, Row] | None:
    """Return the rows of the baseline and of the decoder with guesses; None where either has no timeline."""
    guessing = guessing_row(race)
    baseline = next((row for row in race.table.rows if row.system == race.table.baseline), None)
    if baseline is None or guessing is None or not {baseline.system, guessing.system} <= {*race.timelines}:
        return None
    return baseline, guessing


def seconds_of(race: Race) -> float:
    """Return the whole clock: until the slowest decode is over."""
    return max((timeline.seconds for timeline in race.timelines.values()), default=0.0) or 1.0


def phases_of(race: Race) -> set[Phase]:
    """Return the kinds of bars that occur."""
    return {_bar(span.phase) for timeline in race.timelines.values() for span in timeline.spans}


def _bar(phase: Phase) -> Phase:
    """Return the kind of bar of a phase: verification and commit share one."""
    return "verify" if phase == "commit" else phase


def bar_paths(timeline: Timeline, seconds: float) -> dict[Phase, str]:
    """Return the path of all bars of each kind, in a lane of :data:`WIDTH` by :data:`HEIGHT` for so many seconds."""
    paths: dict[Phase, str] = {}
    for span in timeline.spans:
        kind = _bar(span.phase)
        x, width = WIDTH * span.start / seconds, WIDTH * (span.end - span.start) / seconds
        paths[kind] = f"{paths.get(kind, '')}M{x:.2f} {TOPS[kind]}h{width:.2f}V{BAR}h-{width:.2f}z"
    return paths


def tick_path(timeline: Timeline, seconds: float) -> str:
    """Return the path of the ticks: the more tokens become final at a moment, the longer."""
    room = HEIGHT - BAR - 1
    return "".join(
        f"M{WIDTH * commit.seconds / seconds:.2f} {BAR + 1}"
        f"v{room * (0.2 + 0.8 * min(commit.tokens, MOST_TOKENS) / MOST_TOKENS):.2f}"
        for commit in timeline.commits
    )


def label_of(name: str) -> str:
    """Return a system's name as a reader sees it."""
    label = LABELS.get(name) or name.replace("_", " ")
    return label[:1].upper() + label[1:]


def describe_speed(low: float, high: float) -> str:
    """Return between which numbers a speed lies, as far as one can tell: no winner within a tenth of 1.

    >>> describe_speed(1.71, 2.08), describe_speed(0.93, 1.04), describe_speed(0.9, 1.3), describe_speed(0.6, 0.8)
    ('1.7 to 2.1 × as fast', 'about as fast', '0.9 to 1.3 × as fast', '1.2 to 1.7 × the time')
    """
    if ALIKE[0] <= low and high <= ALIKE[1]:
        return "about as fast"
    ends, unit = ((low, high), "as fast") if high >= 1 else ((1 / high, 1 / low), "the time")
    return f"{' to '.join(dict.fromkeys(number(end, 1) for end in ends))} × {unit}"


def describe_ratio(race: Race, ratio: Ratio) -> str:
    """Return how fast a system was beside the baseline, and over how many prompts where there are several."""
    if ratio.low is None or ratio.high is None:
        speed = f"faster in {ratio.above_1} of {ratio.of} run{'s' * (ratio.of > 1)}"
    else:
        speed = describe_speed(ratio.low, ratio.high)
    return speed + (f" over {len(race.questions)} prompts" if len(race.questions) > 1 else "")


def describe_seconds(seconds: float) -> str:
    """Return a duration as a reader sees it.

    >>> describe_seconds(0.0374), describe_seconds(12.34)
    ('37 ms', '12.3 s')
    """
    return f"{1000 * seconds:.0f} ms" if seconds < 1 else f"{seconds:.1f} s"
