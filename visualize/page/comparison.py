"""A run beside the large model alone, and the sentences that say how fast it was.

Both decode in turn with the run's own seed, so each repetition does the same work: their times differ by the clock
alone, and the spread of the ratios says what the clock can tell: the page gives a range, and no more than it carries.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from statistics import median
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import dsbd
from dsbd.bench.measure import time_passes
from dsbd.bench.statistics import clustered_mean
from dsbd.errors import PromptError, SettingsError, StoppedError
from dsbd.methods import ABOUT
from dsbd.models.pair import Pair
from dsbd.results import DecodingResult
from dsbd.settings import DecodingSettings, ResolvedSettings, fields_of
from dsbd.tracing.trace import Trace
from visualize.race import describe_speed
from visualize.words import number

FEWEST = 4
"""Runs of each, at least."""
ENOUGH_SECONDS, MOST_SECONDS = 6.0, 16.0
"""Past the first no further repetition begins, once there are enough; nothing is repeated that needs more than the
second."""
CLOSE, BUSY = 1.15, 1.6
"""Highest over lowest likely speed: below the first it is known well enough, above the second it says nothing."""
CHECKED = 5
"""Words of a pass that checks guesses and is timed."""
ROUNDS = 6
"""How often passes are timed."""
Range = tuple[float, float]


class Passes(NamedTuple):
    """How long passes of the large model take."""

    sentence: str
    bars: Sequence[tuple[int, float, str]] = ()
    """Words and seconds of a pass that writes one word, and of one that checks several; none: the machine was busy."""


class Compared(NamedTuple):
    """A decode beside the large model alone."""

    method: str
    """The method without guesses."""
    num_beams: int
    state: str = "measuring"
    """``measuring``; at last ``measured``, ``busy``, ``long`` or ``stopped``."""
    text: str | None = None
    """What the large model wrote alone, with the decode's own seed."""
    token_ids: tuple[int, ...] | None = None
    perplexity: tuple[float, float] | None = None
    """Of the texts under the large model: the decode's, and the other."""
    runs: int = 0
    """Of each."""
    speed: Range | None = None
    """The 95 % interval of the decode's tokens per second over those of the large model alone."""
    passes: Passes | None = None


_PASSES: WeakKeyDictionary[Pair, Passes] = WeakKeyDictionary()


def measure_speed(pair: Pair, prompt: str, result: DecodingResult, cancel: Callable[[], bool]) -> Iterator[Compared]:
    """Yield what is known of a decode beside the large model alone, again and again; at last its speed.

    ``cancel`` is called in every decode; once it returns True the comparison ends, which is no error of the run.
    """
    alone = _alone(result.settings)
    measured = Compared(alone.method, alone.num_beams)
    if result.stats.seconds * 2 > MOST_SECONDS:  # not even the texts can be compared
        yield measured._replace(state="long")
        return
    yield measured
    try:
        start = time.monotonic()
        plain = dsbd.decode(pair, prompt, alone, cancel=cancel)  # it warms up, too
        took = 2 * max(time.monotonic() - start, result.stats.seconds)
        own, other = (math.exp(-one.beams[0].log_weight / len(one.beams[0].token_ids)) for one in (result, plain))
        measured = measured._replace(text=plain.text, token_ids=tuple(plain.token_ids), perplexity=(own, other))
        yield measured
        passes = pass_times(pair, prompt, cancel)
        if took * FEWEST > MOST_SECONDS:
            yield measured._replace(state="long", passes=passes)
            return
        speeds = _repeated(pair, prompt, (result.settings, alone), cancel)
        speed = interval(*zip(*speeds, strict=True)) if len(speeds) >= FEWEST else (0.0, math.inf)
        state = "measured" if speed[1] < BUSY * speed[0] else "busy"
        yield measured._replace(state=state, runs=len(speeds), speed=speed, passes=passes)
    except StoppedError:
        yield measured._replace(state="stopped")


def _alone(settings: ResolvedSettings) -> DecodingSettings:
    """Return the settings of the large model alone; of a dynamic width it keeps the most."""
    method = ABOUT[settings.method].plain or settings.method
    shared = {field.name: getattr(settings, field.name) for field in fields_of(method)}
    if settings.method == "dsbd":
        shared["num_beams"] = settings.max_width
    return DecodingSettings(method=method, **shared)


def _repeated(
    pair: Pair, prompt: str, both: tuple[DecodingSettings, DecodingSettings], cancel: Callable[[], bool]
) -> list[tuple[float, float]]:
    """Return tokens per second of both, run by run; they take turns in going first."""
    speeds, start = list[tuple[float, float]](), time.monotonic()
    while (spent := time.monotonic() - start) < MOST_SECONDS:
        if len(speeds) >= FEWEST:
            low, high = interval(*zip(*speeds, strict=True))
            if spent > ENOUGH_SECONDS or high < CLOSE * low:
                break
        order = (0, 1) if len(speeds) % 2 else (1, 0)
        took = {at: dsbd.decode(pair, prompt, both[at], cancel=cancel).stats.tokens_per_second for at in order}
        speeds.append((took[0], took[1]))
    return speeds


def interval(tops: Sequence[float], bottoms: Sequence[float]) -> Range:
    """Return the 95 % interval of the ratio of pairs: that of the mean of its logarithm."""
    logs = [math.log(top / bottom) for top, bottom in zip(tops, bottoms, strict=True)]
    mean = clustered_mean(logs, range(len(logs)))
    half = (mean.high or 0.0) - mean.mean
    return math.exp(mean.mean - half), math.exp(mean.mean + half)


def pass_times(pair: Pair, prompt: str, cancel: Callable[[], bool] | None = None) -> Passes | None:
    """Return how long passes of the large model take; once it was quiet, they are not measured again.

    None: the pair has no small model, or no room behind the prompt. Raises: StoppedError: ``cancel`` returned True.
    """
    if pair in _PASSES or pair.draft is None:
        return _PASSES.get(pair)
    try:
        rounds = time_passes(pair, prompt, (1, CHECKED), ROUNDS, cancel)
    except (PromptError, SettingsError):
        return None
    if len(rounds) < FEWEST:  # the text ended before guesses were checked
        return None
    one, several = zip(*((each[1], each[CHECKED]) for each in rounds), strict=True)
    what = f"A pass reads the whole model, for 1 word or for {CHECKED}"
    low, high = interval(several, one)
    if high >= BUSY * low:
        return Passes(f"{what}. This machine was busy: how long they take was not measured.")
    ratio = describe_speed(low, high).replace("fast", "long")
    bars = ((1, median(one), "write 1"), (CHECKED, median(several), f"check {CHECKED}"))
    _PASSES[pair] = Passes(f"{what}: checking {CHECKED} takes {ratio} on the machine of this page.", bars)
    return _PASSES[pair]


# ---- the sentences ----------------------------------------------------------------------------------------------

NOT_MEASURED = {
    "busy": " This machine was busy: the times differed too much from run to run, so the speed was not measured.",
    "long": " A run takes too long here to be repeated, so the speed was not measured.",
    "stopped": " The comparison gave way to a run that waited, or its time was over: the speed was not measured.",
}


def describe(trace: Trace, beside: Compared, rows: Sequence[Any] = (None, None)) -> dict[str, Any]:
    """Return what the page says of a comparison, and what it draws.

    ``ratio``: how many times as fast the decode was, or None; ``parts``: whether rounding turned a draw. ``rows`` are
    those of the queries, as :func:`answers_said` takes them.
    """
    assert trace.result is not None, "only a decode that has ended is compared"
    own, alone = tuple(trace.result.token_ids), beside.token_ids
    speed = beside.speed if beside.state == "measured" else None
    doing = {"measuring": "measuring how fast …", "busy": "this machine is busy: not measured"}
    part = parting(own, alone) if trace.settings.forest == "coupled" and alone else None
    answers = answers_said(own, alone, rows) or (f"the same text up to token {part}" if part else "")
    headline = [describe_speed(*speed), answers] if speed else [answers, doing.get(beside.state, "")]
    return {
        "headline": [words for words in headline if words],
        "sentences": "" if beside.state == "measuring" else _sentences(trace, beside, speed, part),
        "ratio": speed and math.sqrt(speed[0] * speed[1]),
        "passes": beside.passes and beside.passes._asdict(),
        "goes_on": beside.state == "measuring",
        "parts": part is not None,
    }


def parting(own: Sequence[int], alone: Sequence[int]) -> int | None:
    """Return the first token, from 1, at which two texts differ; None if they are the same.

    >>> parting([5, 6, 7], [5, 6, 8]), parting([5, 6], [5, 6])
    (3, None)
    """
    return next((at for at, (one, other) in enumerate(zip_longest(own, alone), 1) if one != other), None)


def _sentences(trace: Trace, beside: Compared, speed: Range | None, part: int | None) -> str:
    assert trace.result is not None, "only a decode that has ended is compared"
    beams = f" with {beside.num_beams} beam{'s' * (beside.num_beams > 1)}" if "beam" in beside.method else ""
    sentences = f"Compared here with the large model alone ({ABOUT[beside.method].label.lower()}{beams})"
    sentences += f", {beside.runs} runs each in turn, without reading the prompt." if beside.runs else "."
    if beside.token_ids is None:
        return NOT_MEASURED[beside.state].strip()
    if part:
        sentences += (
            f" The texts part at token {part}: a pass over several tokens rounds its numbers "
            f"({trace.models.target.dtype}) otherwise than a pass over one, and that turned a draw."
        )
    if beside.perplexity and beside.token_ids != tuple(trace.result.token_ids):
        own, alone = (f"{value:.{2 if value < 10 else 1}f}" for value in beside.perplexity)
        chance = " (texts differ by chance)" if trace.settings.temperature and not part else ""
        sentences += f" Perplexity of the text: {own}, alone {alone}{chance}."
    if speed is None:
        return sentences + NOT_MEASURED[beside.state]
    won = len([layer for one in trace.iterations for layer in one.layers]) / len(trace.iterations)
    cost = " to ".join(dict.fromkeys(number(won / one, 1) for one in reversed(speed)))
    sentences += f" A pass brought {number(won, 1)} words and took, with its guesses, as long as {cost} passes without."
    return sentences + (" Beside a larger model, guesses weigh less." if speed[1] < 1 else "")


def answers_said(own: Sequence[int], alone: Sequence[int] | None, rows: Sequence[Any]) -> str:
    """Return what the headline says of two answers; empty where they differ, or the other is not known.

    ``own`` and ``alone`` are the tokens of both. ``rows`` of both: a list whose first row holds its headings, why a
    query has none, or None where there is no query.
    """
    if alone is None:
        return ""
    ours, others = rows
    if own == alone:
        return "the same query, which fails" if isinstance(ours, str) else "the same text, token for token"
    if isinstance(ours, str):
        return "both queries fail" if isinstance(others, str) else "this query fails, the large model's own does not"
    if isinstance(others, str):
        return "the query of the large model alone fails"
    return "the same answer" if ours is not None and others is not None and ours[1:] == others[1:] else ""
