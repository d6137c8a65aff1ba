"""Resolves ``auto``: finds the forest that decodes fastest on this pair and device by trying a few.

Each candidate decodes the first tokens after the prompt. Two numbers are measured: how often a draft layer lets
verification go on, and the seconds of an iteration. They give the expected layers per second at every depth: the cost
of a depth that was not measured lies on the line between two that were. The best few are measured again, each at the
depth where it promises most, shallower or deeper than before. If no candidate beats beam sampling of the same width by
more than the noise of its measurements, nothing is drafted. Only this measuring reads a clock: the resolved settings
hold the costs, and a run with them makes the same choices.

Plans are kept in one JSON file, so that forests are tried once; damaged entries are ignored.

*Source:* Theorem 3.2 of the paper for the expected layers; docs/algorithm.md, *Depth and auto*.
"""

import hashlib
import json
import logging
import math
import statistics
from bisect import bisect_left
from collections.abc import Callable, Generator, Iterator, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any, NamedTuple
from weakref import WeakKeyDictionary

from dsbd.decoder import iterations
from dsbd.errors import SettingsError
from dsbd.law.verified import draft_layers_passed
from dsbd.methods import WORTHWHILE, expected_layers, resolve
from dsbd.models.pair import Pair, conditions
from dsbd.session import IterationEnd, Observer, RunStart, Tally
from dsbd.settings import AUTO, FIELDS, DecodingSettings
from dsbd.util import CACHE_SETTING, Check, cache_folder, never_stop, write_file

MEASURED_DEPTH = 6
"""Depth of the first measurements."""
MEASURED_TOKENS = 32
DEEPEST = 16
"""The largest depth of the last measurements."""
FINAL_TOKENS = 64
"""Tokens of a finalist's further measurements: the first words after a prompt are often the easiest to guess."""
FINALISTS = 3
"""Forests that are measured again after one measurement each. The first forest is always among them: the others must
beat it."""
FINALS = 2
"""Further measurements of each finalist, and of beam sampling."""
HEADROOM = 2
"""A decode may draft this much deeper than the best depth of the measurements, if its drafts are accepted
more often."""
NARROWER = 0.25
"""A candidate's mean width may be this much below the first one's: speed must not come from fewer beams."""
SAMPLED = ((6, 0), (4, 0), (4, 8), (6, 8), (6, 24))
"""Draft width and cover width of the sampled forests that are tried."""
LIKELY = (12, 24, 48)
"""Nodes per layer of the likely forests that are tried."""
MEASURED_NODES = MEASURED_DEPTH * max(LIKELY)
"""Nodes of the largest forest that is tried, at any depth."""
FILLED = {"draft_depth", "max_width", "depth_costs", "continuation"}
"""Fields that a plan may change although they are not ``auto``."""
FILE = "plans.json"
"""In the cache folder: every plan, by what it depends on."""


@dataclass(frozen=True)
class Plan:
    """What ``auto`` resolved to, and why."""

    values: dict[str, Any]
    """Fields of the settings."""
    sentence: str


class PlanProgress(NamedTuple):
    """How many of the measurements are done."""

    done: int
    total: int


class MeasuredRun(NamedTuple):
    """What one measuring decode found."""

    seconds: list[tuple[int, float]]
    """Draft depth and seconds of each iteration."""
    layers: int
    passed: int
    """Draft layers that let verification go on."""
    stopped: int
    """Draft layers that ended verification because they fell short of their width."""
    beams: int
    """Beams over all layers, duplicates counted."""


@dataclass(frozen=True)
class MeasuredForest:
    """A candidate and its measurements."""

    forest: str
    draft_width: int
    cover_width: int
    seconds: tuple[tuple[int, float], ...]
    """Each measured draft depth, the least first, and the seconds of an iteration of that depth: the lower quartile,
    because disturbances only make a measured time longer."""
    continuation: float
    """How often a draft layer let verification go on."""
    decided: int
    """Draft layers that this was seen on."""
    mean_width: float

    @property
    def deepest(self) -> int:
        """Return the largest measured draft depth."""
        return self.seconds[-1][0]

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
_known: WeakKeyDictionary[Pair, dict[DecodingSettings, Plan]] = WeakKeyDictionary()
_conditions: WeakKeyDictionary[Pair, dict[str, Any]] = WeakKeyDictionary()


def known_plan(pair: Pair, asked: DecodingSettings) -> Plan | None:
    """Return the plan for settings with a field ``auto``, from this process or from disk; None if there is none."""
    known, shared = _known.setdefault(pair, {}), _shared(asked)
    if shared not in known and (key := _key(pair, shared)) is not None and (found := _load(key, shared)) is not None:
        known[shared] = found
    return known.get(shared)


def measure_forests(
    pair: Pair, prompt_ids: list[int], asked: DecodingSettings, check: Check = never_stop
) -> Generator[PlanProgress, None, Plan]:
    """Make the plan for settings with a field ``auto``, or return the known one; closing the generator cancels.

    Args:
        pair: with a draft model.
        prompt_ids: ids of the prompt, with room for at least one new token.
        asked: settings of a drafting method.
        check: called before each forward of a model; what it raises ends the measuring.
    """
    known, room = known_plan(pair, asked), pair.room_after(len(prompt_ids))
    if known is not None:
        return known
    made = yield from make_plan(asked, lambda chosen: _try_out(pair, prompt_ids, chosen, check), room)
    if room >= MEASURED_TOKENS:  # shorter measurements say too little to be remembered
        _known[pair][_shared(asked)] = made
        if (key := _key(pair, _shared(asked))) is not None:
            _save(key, made)
    return made


def _shared(settings: DecodingSettings) -> DecodingSettings:
    """Return the settings with defaults in the fields that a plan does not depend on."""
    return replace(settings, seed=0, max_new_tokens=1, length_penalty=1.0)


def _key(pair: Pair, shared: DecodingSettings) -> str | None:
    """Return the key of a plan on disk: a digest of machine, versions, models and settings.

    None if the device cannot be read in this process, such as the GPU of Hugging Face ZeroGPU.
    """
    if pair not in _conditions:  # digests of large models take a while
        try:
            _conditions[pair] = conditions(pair)
        except RuntimeError:
            return None
    named = json.dumps([_conditions[pair], vars(shared)], sort_keys=True)
    return hashlib.sha256(named.encode()).hexdigest()[:32]


def _load(key: str, asked: DecodingSettings) -> Plan | None:
    """Return a plan that was kept, if the trials for these settings can have found it."""
    try:
        plan = Plan(**_kept()[key])
        filled = replace(asked, **plan.values)
        tried = {_shape(one): one.draft_depth for one in largest_tried(asked)}
        deepest: Any = tried.get(_shape(filled), 0)  # drafting nothing is always tried
        given = {name: value for name, value in vars(asked).items() if value != AUTO and name not in FILLED}
        usable = given.items() <= vars(filled).items() and filled.widest == asked.widest and plan.sentence.isprintable()
        values = {name: getattr(filled, name) for name in plan.values}
    except (KeyError, TypeError, AttributeError, SettingsError):  # missing, damaged or foreign
        return None
    return Plan(values, plan.sentence) if usable and filled.draft_depth <= deepest else None


def _save(key: str, plan: Plan) -> None:
    """Keep a plan. A folder that cannot be written is a warning, not an error."""
    try:
        path = cache_folder() / FILE
        path.parent.mkdir(parents=True, exist_ok=True)
        write_file(path, json.dumps(_kept() | {key: asdict(plan)}))
    except (OSError, RuntimeError) as error:
        logging.getLogger(__name__).warning(
            "plans of auto cannot be kept (%s), so the next run measures again; set %s to a folder",
            error,
            CACHE_SETTING,
        )


def _kept() -> dict[str, Any]:
    """Return the plans on disk; nothing where there are none, or none that can be read."""
    try:
        kept = json.loads((cache_folder() / FILE).read_bytes())
    except (OSError, RuntimeError, ValueError):  # too deep is a RuntimeError
        return {}
    return kept if isinstance(kept, dict) else {}


def _try_out(pair: Pair, prompt_ids: list[int], settings: DecodingSettings, check: Check) -> MeasuredRun:
    """Decode and return the counts."""
    watch = _Watch()
    for _ in iterations(RunStart(pair, "", prompt_ids, resolve(settings)), [watch], check):
        pass
    return MeasuredRun(watch.seconds, watch.tally.layers, watch.passed, watch.stopped, watch.tally.beams)


class _Watch(Observer):
    """Counts the seconds of the iterations, and the draft layers that let verification go on."""

    def __init__(self) -> None:
        self.seconds: list[tuple[int, float]] = []
        self.passed = self.stopped = 0
        self.tally = Tally()

    def on_iteration(self, iteration: IterationEnd) -> None:
        self.seconds.append((len(iteration.scored.forest.layers), sum(iteration.seconds.values())))
        self.tally.add(iteration.layers)
        passed, stopped = draft_layers_passed(iteration.layers)
        self.passed += passed
        self.stopped += stopped


def make_plan(asked: DecodingSettings, try_out: TryOut, room: int) -> Generator[PlanProgress, None, Plan]:
    """Try the candidates one by one and choose; yield the progress after each. Closing the generator cancels.

    Args:
        asked: settings of a drafting method with a field ``auto``.
        try_out: decodes with the given settings and returns what it measured.
        room: tokens that fit behind the prompt, at least 1.
    """
    short = replace(asked, max_new_tokens=min(room, MEASURED_TOKENS))
    settings = [_filled(short, "sampled", 1, 0, 0), *candidates(short)]
    total = 1 + len(settings) + FINALS * (1 + min(FINALISTS, len(settings) - 1))
    try_out(settings[-1])  # a warm-up
    yield PlanProgress(1, total)
    runs: list[list[MeasuredRun]] = []
    for one in settings:
        runs.append([try_out(replace(one, seed=0))])
        yield PlanProgress(1 + len(runs), total)
    first = [_measured(*pair) for pair in zip(settings, runs, strict=True)]
    places, done = _finalists([_rates(first[0], one, _depths(asked, one)) for one in first]), 1 + len(runs)
    for seed in range(1, 1 + FINALS):
        so_far = {place: _measured(settings[place], runs[place]) for place in places}
        for place in places:
            rates = _rates(so_far[0], so_far[place], _depths(asked, so_far[place]))
            again = _again(settings[place], so_far[place].deepest, rates, room)
            runs[place].append(try_out(replace(again, seed=seed)))
            done += 1
            yield PlanProgress(done, total)
    return choose_forest(asked, [_measured(settings[place], runs[place]) for place in places])


def _depths(asked: DecodingSettings, forest: MeasuredForest) -> range:
    """Return the depths at which a forest may be measured again."""
    if asked.draft_depth != AUTO:
        return range(forest.deepest, forest.deepest + 1)
    if forest.deepest < MEASURED_DEPTH:  # beam sampling, or the texts ended early
        return range(1, forest.deepest + 1)
    return range(1, _deepest(forest.draft_width + forest.cover_width) + 1)


def _deepest(nodes: int) -> int:
    """Return the largest depth at which a forest of so many nodes a layer is tried."""
    return min(DEEPEST, MEASURED_NODES // nodes)


def _finalists(rates: Sequence[dict[int, float]]) -> list[int]:
    """Return the places of beam sampling, the first forest, and the other forests with the highest expected speed."""
    others = sorted(range(2, len(rates)), key=lambda place: -max(rates[place].values(), default=0.0))
    return [0, 1, *others[: FINALISTS - 1]]


def _again(settings: DecodingSettings, deepest: int, rates: dict[int, float], room: int) -> DecodingSettings:
    """Return the settings of a further measurement: at the most promising depth so far, or somewhat deeper."""
    if not rates:  # beam sampling, or no room to draft
        return settings
    best = max(rates, key=lambda depth: rates[depth])
    depth = best if best <= deepest else min(best + HEADROOM, max(rates))
    return replace(settings, draft_depth=depth, max_new_tokens=min(room, FINAL_TOKENS))


def largest_tried(asked: DecodingSettings) -> Iterator[DecodingSettings]:
    """Yield the largest settings that :func:`make_plan` may try, one for each forest."""
    for one in candidates(asked):
        _, width, cover = _shape(one)
        yield replace(one, draft_depth=_deepest(width + cover)) if asked.draft_depth == AUTO else one


def candidates(asked: DecodingSettings) -> Iterator[DecodingSettings]:
    """Yield settings with every ``auto`` filled in, one for each forest to try; given fields stay as they are."""
    depth = MEASURED_DEPTH if asked.draft_depth == AUTO else asked.draft_depth
    shapes: list[tuple[str, int, int]] = []
    if asked.forest in ("sampled", AUTO) and asked.method != "speculative_beam_search":
        shapes += [("sampled", width, cover) for width, cover in SAMPLED]
    if asked.forest in ("likely", AUTO) or asked.method == "speculative_beam_search":
        shapes += [("likely", width, 0) for width in LIKELY]
    seen = set()
    for forest, width, cover in shapes:
        given_width = width if asked.draft_width == AUTO else asked.draft_width
        given_cover = 0 if forest == "likely" else cover if asked.cover_width == AUTO else asked.cover_width
        one = _filled(asked, forest, given_width, given_cover, depth)
        if (shape := _shape(one)) not in seen:
            seen.add(shape)
            yield one


def choose_forest(asked: DecodingSettings, measured: Sequence[MeasuredForest]) -> Plan:
    """Choose the candidate and depth with the most expected layers per second, or no drafting if that is faster."""
    baseline, tried = measured[0], measured[1:]
    alone = 1.0 / _seconds(baseline, baseline, 0)
    best, best_depth, best_rate = baseline, 0, alone
    for candidate in tried:
        bar = best_rate * WORTHWHILE
        if candidate.mean_width < tried[0].mean_width - NARROWER:
            continue
        depths = range(1 if asked.draft_depth == AUTO else candidate.deepest, candidate.deepest + 1)
        for depth, rate in _rates(baseline, candidate, depths).items():
            surely = rate > alone * (1.0 + candidate.noise(depth))
            if surely and rate > (best_rate if best is candidate else bar):
                best, best_depth, best_rate = candidate, depth, rate
    values: dict[str, Any] = {name: getattr(best, name) for name in ("forest", "draft_width", "cover_width")}
    if asked.draft_depth == AUTO:
        deepest = min(best_depth + HEADROOM, best.deepest) if best_depth else 0
        costs = tuple(_seconds(baseline, best, depth) / _seconds(baseline, best, 0) for depth in range(deepest + 1))
        values |= {"draft_depth": deepest, "depth_costs": costs, "continuation": best.continuation}
    else:
        values["draft_depth"] = best_depth
    values["max_width"] = asked.widest
    return Plan(_read(asked, values), _sentence(baseline, best, best_depth, best_rate))


def _read(asked: DecodingSettings, values: dict[str, Any]) -> dict[str, Any]:
    """Return the values that the method reads."""
    return {name: value for name, value in values.items() if asked.method in FIELDS[name].methods}


def _filled(asked: DecodingSettings, forest: str, width: int, cover: int, depth: int) -> DecodingSettings:
    values = {"forest": forest, "draft_width": width, "cover_width": cover, "draft_depth": depth, "depth_costs": None}
    return replace(asked, **_read(asked, values | {"max_width": asked.widest}))


def _shape(settings: DecodingSettings) -> tuple[str, int, int]:
    """Return what the method makes of the forest: its kind, draft width and cover width."""
    plan = resolve(settings)
    return plan.forest, plan.draft_width, plan.cover_width


def _measured(settings: DecodingSettings, runs: Sequence[MeasuredRun]) -> MeasuredForest:
    passed, stopped = sum(one.passed for one in runs), sum(one.stopped for one in runs)
    times: dict[int, list[float]] = {}
    for one in runs:
        deepest = max(depth for depth, _ in one.seconds)  # near the end of a decode the drafts are less deep
        times.setdefault(deepest, []).extend(seconds for depth, seconds in one.seconds if depth == deepest)
    return MeasuredForest(
        *_shape(settings),
        tuple((depth, _lower_quartile(times[depth])) for depth in sorted(times)),
        (passed + 1) / (passed + stopped + 2),  # few layers were seen: keep the rate away from 0 and 1
        passed + stopped,
        sum(one.beams for one in runs) / sum(one.layers for one in runs),
    )


def _lower_quartile(values: Sequence[float]) -> float:
    return statistics.quantiles(values, n=4)[0] if len(values) > 1 else values[0]


def _rates(baseline: MeasuredForest, candidate: MeasuredForest, depths: range) -> dict[int, float]:
    """Return the expected layers per second at each of the depths."""
    return {
        depth: expected_layers(candidate.continuation, depth) / _seconds(baseline, candidate, depth) for depth in depths
    }


def _seconds(baseline: MeasuredForest, candidate: MeasuredForest, depth: int) -> float:
    """Return the seconds of an iteration of a depth, on the lines between the measured depths, 0 among them.

    A deeper one lies on the line through 0 and the deepest.
    """
    (_, alone), points = baseline.seconds[0], candidate.seconds
    if depth == 0:
        return alone
    place = bisect_left([measured for measured, _ in points], depth)
    if place == len(points):
        (low, before), (high, after) = (0, alone), points[-1]
    else:
        (low, before), (high, after) = points[place - 1] if place else (0, alone), points[place]
    return before + (after - before) * (depth - low) / (high - low)


def _sentence(baseline: MeasuredForest, best: MeasuredForest, depth: int, rate: float) -> str:
    alone = 1.0 / _seconds(baseline, baseline, 0)
    if depth == 0:
        return f"Drafting does not pay here: beam sampling makes {alone:.0f} layers/s, and no forest is clearly faster."
    nodes = f"{best.draft_width} drafts" if best.forest == "sampled" else f"the {best.draft_width} likeliest nodes"
    cover = f" and {best.cover_width} cover nodes" if best.cover_width else ""
    return (
        f"A {best.forest} forest of {nodes}{cover} a layer, {depth} layers deep: {rate:.0f} layers/s expected, while "
        f"beam sampling makes {alone:.0f}. A layer lets verification go on {best.continuation:.0%} of the time "
        f"and an iteration costs {_seconds(baseline, best, depth) * alone:.2f} x one of beam sampling."
    )
