"""A run beside the large model alone: what passes cost on this machine, and the sentences that say how fast it was.

The cost of a pass is measured once for a pair; with it the page counts how long a decode takes, and comes to the same
number each time. After a run both decode in turn with the run's own seed, so each repetition does the same work: their
times differ by the clock alone, and the page gives the range that their spread leaves.
"""

import math
import time
from collections.abc import Callable, Iterator, Sequence
from itertools import zip_longest
from statistics import median
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

import dsbd
from dsbd.bench.statistics import clustered_mean
from dsbd.errors import PromptError, SettingsError, StoppedError
from dsbd.iteration import Iteration
from dsbd.methods import ABOUT
from dsbd.models.pair import Pair
from dsbd.results import DecodingResult
from dsbd.session import Observer
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
ROUNDS, MOMENTS = 6, 2
"""How often passes are timed in a row, and at how many moments: what else ran may have lasted as long as one."""
TIMED: dict[str, DecodingSettings] = {
    "alone": DecodingSettings(method="beam_sampling", num_beams=4, max_new_tokens=24),
    "checks": DecodingSettings(min_width=4, max_width=4, draft_width=4, draft_depth=8, max_new_tokens=24),
}
"""The decodes whose passes are timed: the forest is deep, so the cost of a node is not that of a pass's first ones."""
Range = tuple[float, float]


class Costs(NamedTuple):
    """What passes cost, in seconds: scoring, choosing and keeping."""

    alone: float
    """A pass of the large model alone."""
    node: float
    """Of each node more that a pass checks."""
    guess: float
    """A pass of the small model."""


class Compared(NamedTuple):
    """A decode beside the large model alone."""

    method: str
    """The method without guesses."""
    num_beams: int
    state: str = "measuring"
    """``measuring``; at last ``measured``, ``busy``, ``shared``, ``long`` or ``stopped``."""
    text: str | None = None
    """What the large model wrote alone, with the decode's own seed."""
    token_ids: tuple[int, ...] | None = None
    perplexity: tuple[float, float] | None = None
    """Of the texts under the large model: the decode's, and the other."""
    runs: int = 0
    """Of each."""
    speed: Range | None = None
    """The 95 % interval of the decode's tokens per second over those of the large model alone."""
    costs: Costs | None = None


_COSTS: WeakKeyDictionary[Pair, list[Costs]] = WeakKeyDictionary()
"""What was measured of each pair."""


def measure_speed(
    pair: Pair, prompt: str, result: DecodingResult, cancel: Callable[[], bool],
    known: Callable[[], dict[str, Any]] = dict,
) -> Iterator[Compared]:  # fmt: skip
    """Yield what is known of a decode beside the large model alone, again and again; at last its speed.

    ``known`` makes what the decode guessed from, anew for each repetition, as :func:`dsbd.stream` takes it.
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
        measured = measured._replace(costs=measure_costs(pair, prompt, cancel))
        if took * FEWEST > MOST_SECONDS:
            yield measured._replace(state="long")
            return
        speeds = _repeated(pair, prompt, (result.settings, alone), cancel, known)
        speed = interval(*zip(*speeds, strict=True)) if len(speeds) >= FEWEST else (0.0, math.inf)
        state = "measured" if speed[1] < BUSY * speed[0] else "busy"
        yield measured._replace(state=state, runs=len(speeds), speed=speed)
    except StoppedError:
        yield measured._replace(state="stopped")


def beside_others(result: DecodingResult) -> Compared:
    """Return what is known of a decode while others use the machine, too."""
    alone = _alone(result.settings)
    return Compared(alone.method, alone.num_beams, state="shared")


def _alone(settings: ResolvedSettings) -> DecodingSettings:
    """Return the settings of the large model alone; of a dynamic width it keeps the most."""
    method = ABOUT[settings.method].plain or settings.method
    shared = {field.name: getattr(settings, field.name) for field in fields_of(method)}
    if settings.method == "dsbd":
        shared["num_beams"] = settings.max_width
    return DecodingSettings(method=method, **shared)


def _repeated(
    pair: Pair, prompt: str, both: tuple[DecodingSettings, DecodingSettings], cancel: Callable[[], bool],
    known: Callable[[], dict[str, Any]],
) -> list[tuple[float, float]]:  # fmt: skip
    """Return tokens per second of both, run by run; they take turns in going first."""
    speeds, start = list[tuple[float, float]](), time.monotonic()
    while (spent := time.monotonic() - start) < MOST_SECONDS:
        if len(speeds) >= FEWEST:
            low, high = interval(*zip(*speeds, strict=True))
            if spent > ENOUGH_SECONDS or high < CLOSE * low:
                break
        order = (0, 1) if len(speeds) % 2 else (1, 0)
        options = known(), dict[str, Any]()
        took = {at: dsbd.decode(pair, prompt, both[at], cancel=cancel, **options[at]).stats for at in order}
        speeds.append((took[0].tokens_per_second, took[1].tokens_per_second))
    return speeds


def interval(tops: Sequence[float], bottoms: Sequence[float]) -> Range:
    """Return the 95 % interval of the ratio of pairs: that of the mean of its logarithm."""
    logs = [math.log(top / bottom) for top, bottom in zip(tops, bottoms, strict=True)]
    mean = clustered_mean(logs, range(len(logs)))
    half = (mean.high or 0.0) - mean.mean
    return math.exp(mean.mean - half), math.exp(mean.mean + half)


class _Clock(Observer):
    """Notes of each pass: seconds, without those of guessing; nodes; seconds of guessing; passes of the small model."""

    def __init__(self) -> None:
        self.passes = list[tuple[float, int, float, int]]()

    def on_iteration(self, iteration: Iteration) -> None:
        seconds = iteration.seconds
        own = sum(seconds[phase] for phase in ("score", "verify", "commit"))
        nodes = len(iteration.input_beams) + len(iteration.scored)
        self.passes.append((own, nodes, seconds["draft"], len(iteration.drafted)))

    def mean(self) -> tuple[float, float, float]:
        """Return of a pass its seconds and its nodes, and the seconds of a pass of the small model."""
        own, nodes, drafting, guesses = map(sum, zip(*self.passes, strict=True))
        return own / len(self.passes), nodes / len(self.passes), drafting / max(1, guesses)


def measure_costs(pair: Pair, prompt: str, cancel: Callable[[], bool] | None = None) -> Costs | None:
    """Return what passes cost on this machine: the least of the moments at which it was measured.

    None: it is busy, the pair has no small model, or there is no room behind the prompt. Raises: StoppedError.
    """
    known = _COSTS.setdefault(pair, [])
    if len(known) < MOMENTS and pair.draft is not None and (costs := _measure_once(pair, prompt, cancel)):
        known.append(costs)
    return Costs(*map(min, zip(*known, strict=True))) if known else None


def _measure_once(pair: Pair, prompt: str, cancel: Callable[[], bool] | None) -> Costs | None:
    rounds = []
    for _ in range(ROUNDS + 1):  # the first warms up
        clocks = {name: _Clock() for name in TIMED}
        try:
            for name, clock in clocks.items():
                dsbd.decode(pair, prompt, TIMED[name], observers=[clock], cancel=cancel)
        except (PromptError, SettingsError):
            return None
        rounds.append([clock.mean() for clock in clocks.values()])
    alone, checks = ([tuple(one) for one in zip(*each, strict=True)] for each in zip(*rounds[1:], strict=True))
    if any(median(own) >= BUSY * min(own) for own, *_ in (alone, checks)):
        return None
    one, several = min(alone[0]), min(checks[0])  # what else ran only adds to a time
    return Costs(one, max(0.0, several - one) / max(1, median(checks[1]) - 1), min(checks[2]))


# ---- the sentences ----------------------------------------------------------------------------------------------

ALONE = "alone, the large model writes"
NOT_MEASURED = {
    "busy": " This machine was busy: the times differed too much from run to run, so the speed was not measured.",
    "shared": " Other runs used this machine at the same time, so the speed was not measured.",
    "long": " A run takes too long here to be repeated, so the speed was not measured.",
    "stopped": " The comparison gave way to a run that waited, or its time was over: the speed was not measured.",
}


def describe(trace: Trace, beside: Compared, rows: Sequence[Any] = (None, None)) -> dict[str, Any]:
    """Return what the page says of a comparison: ``measured`` of the speed, ``same`` of the answers, and all else.

    ``speed``: its range, or None; ``parts``: whether rounding turned a draw. ``rows`` are those of the queries, as
    :func:`answers_said` takes them.
    """
    assert trace.result is not None, "only a decode that has ended is compared"
    own, alone = tuple(trace.result.token_ids), beside.token_ids
    speed = beside.speed if beside.state == "measured" else None
    busy = "this machine is busy: not measured"
    doing = {"measuring": "measuring …", "long": "too long a run: not measured"}
    part = parting(own, alone) if trace.settings.forest == "coupled" and alone else None
    return {
        "measured": f"measured: {describe_speed(*speed)}" if speed else doing.get(beside.state, busy),
        "speed": speed,
        "same": answers_said(own, alone, rows) or (f"{ALONE} the same text up to token {part}" if part else ""),
        "sentences": "" if beside.state == "measuring" else _sentences(trace, beside, speed, part),
        "costs": beside.costs and beside.costs._asdict(),
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
    kind = "distinct " if beside.method == "beam_sampling" and not trace.settings.replacement else ""
    beams = f" with {beside.num_beams} {kind}beam{'s' * (beside.num_beams > 1)}" if "beam" in beside.method else ""
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
        settings = trace.settings
        is_kept = settings.lossless and settings.min_width == settings.max_width and not settings.input_beams
        chance = " (texts differ by chance)" if settings.temperature and is_kept and not part else ""
        sentences += f" Perplexity of the text: {own}, alone {alone}{chance}."
    if speed is None:
        return sentences + NOT_MEASURED[beside.state]
    won = len([layer for one in trace.iterations for layer in one.layers]) / len(trace.iterations)
    cost = " to ".join(dict.fromkeys(number(won / one, 1) for one in reversed(speed)))
    brought = f"{number(won, 1)} tokens" if round(won, 1) != 1 else "1 token"
    sentences += f" A pass brought {brought}; with its guesses it took as long as {cost} passes without."
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
        return f"{ALONE} the same " + ("query, which fails" if isinstance(ours, str) else "text, token for token")
    if isinstance(ours, str):
        return "both queries fail" if isinstance(others, str) else f"this query fails; {ALONE} one that does not"
    if isinstance(others, str):
        return f"{ALONE} a query that fails"
    is_same = ours is not None and others is not None and ours[1:] == others[1:]
    return f"{ALONE} another query, with the same rows" if is_same else ""
