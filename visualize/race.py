"""A race as lanes on one clock and as paths of SVG, and the sentences that say who was faster."""

from typing import Literal

from dsbd.bench.records import Lane, Phase, Race, Racer, Ratio
from visualize.words import number

ALIKE = (0.9, 1.1)
"""Speeds between these are about as fast."""

BUSY_WORDS: dict[Phase, str] = {
    "prefill": "reads the prompt",
    "draft": "guesses",
    "score": "large model checks",
    "verify": "decides and keeps",
    "forward": "a pass, whose parts are not told apart",
}
"""What each bar means; verification and commit have the same."""
LABELS = {
    "speculative": "Speculative sampling",
    "dsbd defaults": "DSBD, dynamic width",
    "dsbd exact": "DSBD, same distribution",
    "dsbd auto-exact": "DSBD, same distribution, auto",
    "dsbd auto": "DSBD, dynamic width, auto",
    "dsbd paper-exact": "DSBD, same distribution, as in the paper",
    "dsbd as in Play": "DSBD, as set in Play",
    "hf_beam_sampling": "transformers: beam sampling",
    "hf_beam_search": "transformers: beam search",
    "hf_assisted": "transformers: assisted",
    "hf_sampling": "transformers: sampling",
    "mjsd": "MJSD",
    "mjgd": "MJGD",
    "specinfer": "SpecInfer",
}
_SAME_CHANCES = "Several versions, guessed ahead; every text has the same chance as in beam sampling."
MEANINGS = {
    "sampling": "One text. The large model works once for every token.",
    "beam_sampling": "Several versions of the text at once. The large model works once for every token.",
    "speculative": "One text, guessed ahead; every text has the same chance as in sampling.",
    "dsbd exact": _SAME_CHANCES,
    "dsbd auto-exact": _SAME_CHANCES,
    "dsbd defaults": "As many versions as will probably pass the check; each token is drawn by the large model.",
}
EXACT = ("dsbd exact", "dsbd auto-exact", "dsbd paper-exact")
Heat = Literal["one text", "several texts"]
HEATS: tuple[Heat, Heat] = ("several texts", "one text")
ONE_TEXT = ("sampling", "greedy", "speculative", "specinfer", "hf_sampling", "hf_assisted")
"""Decoders that write one text; the others keep several versions, which is other work."""
PLAIN = ("sampling", "greedy")
"""Of these the first that runs is compared with in the heat of one text; the other heat has the baseline."""


def lanes_of(race: Race) -> dict[Heat, list[Racer]]:
    """Return the racers that have a lane by heat; heats without one are left out."""
    found = {heat: [one for one in race.racers if one.lane and heat_of(one) == heat] for heat in HEATS}
    return {heat: racers for heat, racers in found.items() if racers}


def seconds_of(race: Race) -> float:
    """Return the whole clock: until the slowest lane is over."""
    return max((racer.lane.seconds for racer in race.racers if racer.lane), default=0.0) or 1.0


def busy_of(race: Race) -> list[Phase]:
    """Return the kinds of bars that occur, in the order of :data:`BUSY_WORDS`."""
    found = {_bar(stretch.phase) for racer in race.racers if racer.lane for stretch in racer.lane.stretches}
    return [name for name in BUSY_WORDS if name in found]


def _bar(phase: Phase) -> Phase:
    return "verify" if phase == "commit" else phase


WIDTH = 1000
"""Units of the clock in a drawn lane."""
HEIGHT = 38
"""Units of a drawn lane: 24 for what the decoder is busy with, and the ticks of the tokens below."""
BAR = 24
MOST_TOKENS = 8
"""Tokens of one moment with the longest tick."""
TOPS: dict[Phase, int] = {"prefill": 0, "draft": 12, "score": 0, "verify": 18, "forward": 0}
"""Where each kind of bar begins: kinds differ in height too, not only in colour."""


def bar_paths(lane: Lane, whole: float) -> dict[Phase, str]:
    """Return the path of all bars of each kind, in a lane of :data:`WIDTH` by :data:`HEIGHT` for ``whole`` seconds."""
    found: dict[Phase, list[str]] = {}
    for stretch in lane.stretches:
        busy = _bar(stretch.phase)
        x, width = WIDTH * stretch.start / whole, WIDTH * (stretch.end - stretch.start) / whole
        found.setdefault(busy, []).append(f"M{x:.2f} {TOPS[busy]}h{width:.2f}V{BAR}h-{width:.2f}z")
    return {busy: "".join(parts) for busy, parts in found.items()}


def tick_path(lane: Lane, whole: float) -> str:
    """Return the path of the ticks: the more tokens land at a moment, the longer."""
    room = HEIGHT - BAR - 1
    return "".join(
        f"M{WIDTH * landing.seconds / whole:.2f} {BAR + 1}"
        f"v{room * (0.2 + 0.8 * min(landing.tokens, MOST_TOKENS) / MOST_TOKENS):.2f}"
        for landing in lane.landings
    )


def label_of(name: str) -> str:
    """Return a system's name as a reader sees it."""
    found = LABELS.get(name) or name.replace("_", " ")
    return found[:1].upper() + found[1:]


def heat_of(racer: Racer) -> Heat:
    """Return the heat that a decoder runs in."""
    return "one text" if racer.name.partition(" ")[0] in ONE_TEXT else "several texts"


def plain_of(race: Race, heat: Heat) -> Racer | None:
    """Return the decoder without guesses that the others of a heat are compared with."""
    names = PLAIN if heat == "one text" else (race.baseline,)
    here = {racer.name: racer for racer in race.racers if heat_of(racer) == heat}
    return next((here[name] for name in names if name in here), None)


def passes_said(racer: Racer, race: Race) -> str:
    """Return its passes beside those of the decoder without guesses in its heat; empty where they are not known."""
    plain = plain_of(race, heat_of(racer))
    if racer is plain:
        return "without guesses"
    passes, others = _passes(racer), _passes(plain)
    if passes is None or others is None:
        return ""
    return f"{passes} {'pass' if passes == 1 else 'passes'} of the large model instead of {others}"


def _passes(racer: Racer | None) -> int | None:
    lane = None if racer is None else racer.lane
    return len(lane.landings) if lane is not None and lane.landings and lane.has_phases else None


def answers_said(racer: Racer) -> str:
    """Return how good its answers were; empty if that was not measured."""
    if any(answer.right is not None for answer in racer.answers):
        return f"{sum(bool(answer.right) for answer in racer.answers)} of {len(racer.answers)} right"
    found = racer.row.perplexity
    if found is None:
        return ""
    ends = "" if found.low is None or found.high is None else f" ({max(found.low, 1.0):.1f} to {found.high:.1f})"
    return f"perplexity {found.mean:.1f}{ends}"


def describe_speed(low: float, high: float) -> str:
    """Return between which numbers a speed lies, as far as one can tell: no winner within a tenth of 1.

    >>> describe_speed(1.71, 2.08), describe_speed(0.93, 1.04), describe_speed(0.9, 1.3)
    ('1.7 to 2.1 × as fast', 'about as fast', '0.9 to 1.3 × as fast')
    """
    if ALIKE[0] <= low and high <= ALIKE[1]:
        return "about as fast"
    return f"{' to '.join(dict.fromkeys(number(end, 1) for end in (low, high)))} × as fast"


def describe_seconds(seconds: float, digits: int = 1) -> str:
    """Return a duration as a reader sees it; what would be 0.0 s is *under 0.1 s*."""
    least = 10.0**-digits
    return f"under {least:.{digits}f} s" if seconds < least else f"{seconds:.{digits}f} s"


def _short(times: float) -> str:
    return f"{times:.1f}" if times >= 1 else f"{times:.2f}"


def quality_said(racer: Racer, race: Race) -> str:
    """Return how good a system's answers were, compared with the baseline's; empty if nothing was compared."""
    found = racer.row.difference
    if found is None:
        return ""
    what = "perplexity" if race.task is None else "share of right answers"
    if found.verdict in ("higher", "lower"):
        good = (found.verdict == "higher") == race.higher_is_better
        return f"{what} {found.verdict}, which is {'better' if good else 'worse'}"
    return f"{what}: {found.verdict}"


def led_by(race: Race) -> tuple[Racer, Racer] | None:
    """Return the large model alone and the decoder with guesses that a race leads with; None without both lanes."""
    alone = next((racer for racer in race.racers if racer.name == race.baseline), None)
    guessing = _several(race)
    return (alone, guessing) if alone and alone.lane and guessing and guessing.lane else None


def _several(race: Race) -> Racer | None:
    """Return the decoder with guesses and several texts that a race tells of."""
    racers = {racer.name: racer for racer in race.racers}
    return next((racers[name] for name in (*EXACT, "dsbd defaults") if name in racers), None)


def headline_of(race: Race) -> str:
    """Return how much faster guesses made a race, and whether the answers were as good; empty if nothing leads it."""
    lanes = led_by(race)
    ratio = lanes and lanes[1].row.ratio
    if not lanes or ratio is None:
        return ""
    over = f" over {len(race.prompts)} prompts" if len(race.prompts) > 1 else ""
    return ", ".join(filter(None, (_speed_of(ratio) + over, _answers_of(race, *lanes))))


def _speed_of(ratio: Ratio) -> str:
    if ratio.low is None or ratio.high is None:
        return f"faster in {ratio.above_1} of {ratio.of} run{'s' * (ratio.of > 1)}"
    return describe_speed(ratio.low, ratio.high)


def _answers_of(race: Race, alone: Racer, guessing: Racer) -> str:
    here = " here" if len(race.prompts) > 1 else ""
    is_same = alone.lane and guessing.lane and alone.lane.text == guessing.lane.text
    if race.task is None:
        verdict = guessing.row.difference.verdict if guessing.row.difference else "not measured"
        said = {"not measured": "", "no difference seen": "no difference in perplexity seen"}
        return f"the same text{here}" if is_same else said.get(verdict, f"{verdict} perplexity")
    first = [answer.right for racer in (alone, guessing) for answer in racer.answers if not answer.prompt]
    return (
        f"the same answer{here}" if is_same and all(first) else f"{answers_said(guessing)}, alone {answers_said(alone)}"
    )


def meaning_of(race: Race) -> str:
    """Return what a race shows: the passes first, of which every machine makes as many, and then the time."""
    several = _several(race)
    one = next((racer for racer in race.racers if racer.name == "speculative"), None)
    saved, guessing = [], ((HEATS[1], one), (HEATS[0], several))
    for heat, racer in guessing:
        passes, others = _passes(racer), _passes(plain_of(race, heat))
        if passes is not None and others is not None and passes < others:
            saved.append(f"{passes} instead of {others} for {heat}")
    distribution = ", under the same distribution" if several is None or several.name in EXACT else ""
    lead = f"Guesses save passes of the large model, on every machine: {', '.join(saved)}{distribution}. "
    if not saved:
        lead = "Guesses ahead may save passes of the large model; whether they save time, the clock says. "
    return lead.rstrip() if several is None or several.row.ratio is None else lead + _time_said(several.row.ratio)


def _time_said(ratio: Ratio) -> str:
    times = _short(ratio.median)
    if ratio.low is None or ratio.high is None:
        return f"In time {times} × the speed of beam sampling, from too few runs for an interval; ask for more."
    interval = f"95 % interval {ratio.low:.2f} to {ratio.high:.2f}"
    match ratio.verdict:
        case "faster":
            return f"In time, over all runs here: {times} × as fast as beam sampling ({interval})."
        case "slower":
            return f"Here the guesses cost more time than they save: {times} × the speed of beam sampling ({interval})."
    ends = f"{_short(ratio.low)} to {_short(ratio.high)}"
    return (
        f"In time no clear difference from beam sampling: {times} × its speed, {ends} × possible; more runs narrow it."
    )
