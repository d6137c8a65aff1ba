"""Resolves ``auto``: finds the forest that decodes fastest on this pair and device by trying a few.

Each candidate decodes the first tokens after the prompt. Two numbers are measured: how often a draft layer lets
verification go on, and the seconds of an iteration, of which each layer takes an equal part. They give the expected
layers per second at every depth. The best of many estimates is partly luck, so the best candidate then decodes in turn
with beam sampling of the same width; if it is not clearly faster, nothing is drafted. Only this measuring reads a
clock: the resolved settings hold the costs, and a run with them makes the same choices.

A plan is kept with its pair, so that forests are tried once in a process.

*Source:* Theorem 3.2 of the paper for the expected layers; docs/algorithm.md, *Depth and auto*.
"""

import math
import statistics
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import dataclass, field, replace
from typing import Any
from weakref import WeakKeyDictionary

from dsbd.decoder import iterations
from dsbd.drafts.lookup import NOTHING, Known
from dsbd.iteration import Iteration
from dsbd.methods import WORTHWHILE, expected_layers, resolve
from dsbd.models.pair import Pair
from dsbd.results import DecodingResult
from dsbd.session import Observer, RunStart
from dsbd.settings import AUTO, FIELDS, DecodingSettings, implied_by
from dsbd.util import CancelCheck, Progress, never_cancel
from dsbd.verification.verified import draft_layers_passed

TRYING = "trying out forests"
MEASURED_DEPTH, MEASURED_TOKENS, RUNS = 6, 48, 2
"""Draft depth and tokens of a measuring decode, and how many each forest gets."""
DUELS = 3
"""Decodes of the best forest and of beam sampling, in turn."""
DEEPEST = 16
"""The largest depth of a plan."""
HEADROOM = 2
"""A decode may draft this much deeper than the best depth of the measurements, if its drafts are accepted
more often."""
NARROWER = 0.25
"""A candidate's mean width may be this much below the first one's: speed must not come from fewer beams."""
SHAPES = (
    *(("sampled", width, extra) for width, extra in ((6, 0), (4, 0), (4, 8), (6, 8), (6, 24))),
    *(("coupled", nodes, 0) for nodes in (4, 6, 8, 12, 24, 48)),
)
"""Kind, draft width and extra candidates of the forests that are tried."""
MEASURED_NODES = MEASURED_DEPTH * max(width + extra for _, width, extra in SHAPES)
"""Nodes of the largest forest of a plan, at any depth."""


@dataclass(frozen=True)
class Plan:
    """What ``auto`` resolved to, and why."""

    values: dict[str, Any]
    """Fields of the settings."""
    sentence: str


@dataclass
class MeasuredRun(Observer):
    """What one measuring decode found."""

    seconds: list[tuple[int, float]] = field(default_factory=list)
    """Draft depth and seconds of each iteration."""
    passed: int = 0
    """Draft layers that let verification go on."""
    stopped: int = 0
    """Draft layers that ended verification because they fell short of their width."""
    mean_width: float = 0.0
    layers: int = 0

    def on_iteration(self, iteration: Iteration) -> None:
        self.seconds.append((len(iteration.drafted), sum(iteration.seconds.values())))
        passed, stopped = draft_layers_passed(iteration.layers)
        self.passed += passed
        self.stopped += stopped

    def on_finish(self, result: DecodingResult) -> None:
        self.mean_width, self.layers = result.stats.mean_width, result.stats.layers

    @property
    def deepest(self) -> int:
        """Return the largest draft depth; near the end of a decode the drafts are less deep."""
        return max(depth for depth, _ in self.seconds)

    @property
    def iteration_seconds(self) -> float:
        """Return the lower quartile of the deepest iterations: disturbances only make a measured time longer."""
        values = [seconds for depth, seconds in self.seconds if depth == self.deepest]
        return statistics.quantiles(values, n=4)[0] if len(values) > 1 else values[0]


@dataclass(frozen=True)
class MeasuredForest:
    """A candidate and its measurements."""

    settings: DecodingSettings
    deepest: int
    """The largest measured draft depth."""
    alone: float
    """Seconds of an iteration of beam sampling."""
    layer: float
    """Seconds that each draft layer adds."""
    continuation: float
    """How often a draft layer let verification go on."""
    decided: int
    """Draft layers that this was seen on."""
    mean_width: float

    @classmethod
    def of(
        cls, settings: DecodingSettings, runs: Sequence[MeasuredRun], baseline: Sequence[MeasuredRun]
    ) -> "MeasuredForest":
        """Return what the runs of a forest say beside those of beam sampling."""
        passed, stopped = sum(one.passed for one in runs), sum(one.stopped for one in runs)
        alone = statistics.fmean(one.iteration_seconds for one in baseline)
        layers = [(one.iteration_seconds - alone) / one.deepest for one in runs if one.deepest]
        return cls(
            settings,
            max(one.deepest for one in runs),
            alone,
            max(statistics.fmean(layers or [0.0]), 0.0),
            (passed + 1) / (passed + stopped + 2),  # few layers were seen: keep the rate away from 0 and 1
            passed + stopped,
            statistics.fmean(one.mean_width for one in runs),
        )

    @property
    def most(self) -> int:
        """Return the largest depth of a plan; no more than was measured where the texts ended early."""
        return _deepest(self.settings) if self.deepest >= MEASURED_DEPTH else self.deepest

    def cost(self, depth: int) -> float:
        """Return the seconds of an iteration as a multiple of one of beam sampling."""
        return 1.0 + depth * self.layer / self.alone

    def rate(self, depth: int) -> float:
        """Return the expected layers per second."""
        return expected_layers(self.continuation, depth) / (self.alone * self.cost(depth))

    def noise(self, depth: int) -> float:
        """Return the standard error of the expected layers of a depth, as a part of them.

        The chance that a layer lets verification go on is known from ``decided`` trials; its standard error is
        carried over by the derivative of the expected layers.
        """
        rate = self.continuation
        slope = sum(layer * rate ** (layer - 1) for layer in range(1, depth + 1))
        error = math.sqrt(rate * (1.0 - rate) / max(self.decided, 1))
        return slope * error / expected_layers(rate, depth)


TryOut = Callable[[DecodingSettings], MeasuredRun]
_plans: WeakKeyDictionary[Pair, dict[tuple[DecodingSettings, bool], Plan]] = WeakKeyDictionary()


def known_plan(pair: Pair, settings: DecodingSettings, known: Known = NOTHING) -> Plan | None:
    """Return the plan that was made for settings with a field ``auto``; None if there is none."""
    return _plans.get(pair, {}).get((_shared(settings), bool(known)))


def measure_forests(
    pair: Pair,
    prompt_ids: list[int],
    settings: DecodingSettings,
    check: CancelCheck = never_cancel,
    known: Known = NOTHING,
) -> Generator[Progress, None, Plan]:
    """Make the plan for settings with a field ``auto``, or return the known one; closing the generator cancels.

    Args:
        pair: with a draft model.
        prompt_ids: ids of the prompt, with room for at least one new token.
        settings: of a drafting method.
        check: called before each forward of a model; what it raises ends the measuring.
        known: what guesses are copied from besides the text; one plan serves all, and one where there is nothing.
    """
    plan, room = known_plan(pair, settings, known), pair.room_after(len(prompt_ids))
    if plan is not None:
        return plan
    plan = yield from make_plan(settings, lambda chosen: _try_out(pair, prompt_ids, chosen, check, known), room)
    if room >= MEASURED_TOKENS:  # shorter measurements say too little to be remembered
        _plans.setdefault(pair, {})[_shared(settings), bool(known)] = plan
    return plan


def _shared(settings: DecodingSettings) -> DecodingSettings:
    """Return the settings with defaults in the fields that a plan does not depend on."""
    return replace(settings, seed=0, max_new_tokens=1, length_penalty=1.0)


def _try_out(
    pair: Pair, prompt_ids: list[int], settings: DecodingSettings, check: CancelCheck, known: Known
) -> MeasuredRun:
    """Decode and return what was measured."""
    run = MeasuredRun()
    for _ in iterations(RunStart(pair, "", prompt_ids, resolve(settings), known=known), [run], check):
        pass
    return run


def make_plan(settings: DecodingSettings, try_out: TryOut, room: int) -> Generator[Progress, None, Plan]:
    """Try the candidates one by one and choose; yield the progress after each. Closing the generator cancels.

    Args:
        settings: of a drafting method, with a field ``auto``.
        try_out: decodes with the given settings and returns what it measured.
        room: tokens that fit behind the prompt, at least 1.
    """
    short = replace(settings, max_new_tokens=min(room, MEASURED_TOKENS))
    forests = [_filled(short, implied_by(settings)["forest"], 1, 0, 0), *candidates(short)]
    runs: list[list[MeasuredRun]] = [[] for _ in forests]
    total = 1 + RUNS * len(forests)
    end = total + 2 * DUELS
    try_out(forests[-1])  # a warm-up
    yield Progress(TRYING, 1, end)
    for done in range(1, total):
        seed, index = divmod(done - 1, len(forests))
        runs[index].append(try_out(replace(forests[index], seed=seed)))
        yield Progress(TRYING, done + 1, end)
    measured = [MeasuredForest.of(*pair, runs[0]) for pair in zip(forests, runs, strict=True)]
    plan, layers, seconds = choose_forest(settings, measured), [0, 0], [0.0, 0.0]
    if plan.values["draft_depth"] == 0:
        return plan
    rivals = (forests[0], replace(short, **plan.values))
    for done in range(2 * DUELS):
        number, index = divmod(done, 2)
        run = try_out(replace(rivals[index], seed=RUNS + number))
        layers[index] += run.layers
        seconds[index] += sum(taken for _, taken in run.seconds)
        yield Progress(TRYING, total + done + 1, end)
    is_faster = layers[1] * seconds[0] > WORTHWHILE * layers[0] * seconds[1]
    return plan if is_faster else _plan(settings, measured[0], 0)


def _deepest(settings: DecodingSettings) -> int:
    """Return the largest depth of a plan with this forest."""
    _, width, extra = _shape(settings)
    return min(DEEPEST, MEASURED_NODES // (width + extra))


def largest_tried(settings: DecodingSettings) -> Iterator[DecodingSettings]:
    """Yield the largest settings that a plan may have, one for each forest."""
    for one in candidates(settings):
        yield replace(one, draft_depth=_deepest(one)) if settings.draft_depth == AUTO else one


def candidates(settings: DecodingSettings) -> Iterator[DecodingSettings]:
    """Yield settings with every ``auto`` filled in, one for each forest to try; other fields stay as they are."""
    depth = MEASURED_DEPTH if settings.draft_depth == AUTO else settings.draft_depth
    shapes = dict[tuple[str, int, int], DecodingSettings]()
    for forest, width, extra in (shape for shape in SHAPES if shape[0] == implied_by(settings)["forest"]):
        width = width if settings.draft_width == AUTO else settings.draft_width
        extra = extra if settings.cover_width == AUTO else settings.cover_width
        one = _filled(settings, forest, width, extra, depth)
        if settings.draft_depth == AUTO:
            one = replace(one, draft_depth=min(depth, _deepest(one)))
        shapes.setdefault(_shape(one), one)
    yield from shapes.values()


def choose_forest(settings: DecodingSettings, measured: Sequence[MeasuredForest]) -> Plan:
    """Choose the candidate and depth with the most expected layers per second, or no drafting if that is faster.

    Args:
        settings: with a field ``auto``.
        measured: beam sampling, the first forest, and others.
    """
    best, best_depth, first = measured[0], 0, measured[1]
    for one in measured[1:]:
        depths = range(1, one.most + 1) if settings.draft_depth == AUTO else [one.deepest]
        sure = [depth for depth in depths if one.rate(depth) > one.rate(0) * (1.0 + one.noise(depth))]
        depth = max(sure, key=one.rate, default=0)
        wide = one.mean_width >= first.mean_width - NARROWER
        if depth and wide and one.rate(depth) > best.rate(best_depth) * WORTHWHILE:
            best, best_depth = one, depth
    return _plan(settings, best, best_depth)


def _plan(settings: DecodingSettings, best: MeasuredForest, best_depth: int) -> Plan:
    """Return the plan of a forest and a depth; 0 is no drafting."""
    forest, width, extra = _shape(best.settings)
    values: dict[str, Any] = {"forest": forest, "draft_width": width, "cover_width": extra}
    values |= {"max_width": settings.widest, "draft_depth": best_depth}
    if settings.draft_depth == AUTO:
        deepest = min(best_depth + HEADROOM, best.most) if best_depth else 0
        costs = tuple(best.cost(depth) for depth in range(deepest + 1))
        values |= {"draft_depth": deepest, "depth_costs": costs, "continuation": best.continuation}
    return Plan(_read(settings, values), _sentence(best, best_depth))


def _read(settings: DecodingSettings, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values that the method reads."""
    return {name: value for name, value in values.items() if settings.method in FIELDS[name].methods}


def _filled(settings: DecodingSettings, forest: str, width: int, extra: int, depth: int) -> DecodingSettings:
    values = {"forest": forest, "draft_width": width, "cover_width": extra, "draft_depth": depth, "depth_costs": None}
    return replace(settings, **_read(settings, values | {"max_width": settings.widest}))


def _shape(settings: DecodingSettings) -> tuple[str, int, int]:
    """Return what the method makes of the forest: its kind, draft width and extra candidates."""
    plan = resolve(settings)
    return plan.forest, plan.draft_width, plan.cover_width


def _sentence(best: MeasuredForest, depth: int) -> str:
    alone = f"{best.rate(0):.0f}"
    if depth == 0:
        return f"Drafting does not pay here: beam sampling makes {alone} layers/s, and no forest is clearly faster."
    forest, width, extra = _shape(best.settings)
    nodes = f"{width} drafts" if forest == "sampled" else f"{width} guesses"
    also = f" and {extra} extra candidates" if extra else ""
    return (
        f"A {forest} forest of {nodes}{also} a layer, {depth} layers deep: {best.rate(depth):.0f} layers/s "
        f"expected, while beam sampling makes {alone}. A layer lets verification go on {best.continuation:.0%} of the "
        f"time, and an iteration costs {best.cost(depth):.2f} x one of beam sampling."
    )
