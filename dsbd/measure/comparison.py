"""Methods side by side on one prompt: interleaved, after a warm-up, with the quality beside the speed."""

import statistics
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dsbd.errors import SettingsError
from dsbd.measure.bench.contenders import BASELINE, BenchPlan, Contender, require_names
from dsbd.measure.bench.paired import Runs, speed_ratio
from dsbd.measure.bench.prepare import require_runnable, settle
from dsbd.measure.bench.results_file import Journal
from dsbd.measure.bench.schedule import measure, runs_of
from dsbd.measure.bench.summary import count_figures, known, quality_figures
from dsbd.models.pair import Pair
from dsbd.settings import METHODS, DecodingSettings

MAX_RUNS = 100


@dataclass(frozen=True)
class Progress:
    """Where a comparison stands; the last one carries the result."""

    done: int
    total: int
    method: str
    result: dict[str, Any] | None = None


def compare(
    pair: Pair, prompt: str, settings: DecodingSettings, methods: Sequence[str], runs: int = 3
) -> Iterator[Progress]:
    """Run each method ``runs`` times in turn, with seeds seed, seed + 1, ...; closing it cancels.

    Yields:
        Progress after each run. The last one's ``result`` is plain data:
        ``{"methods": [{"method", "tokens_per_second" (median), "seconds": [...], "perplexity", ...}],
        "ratios": {method: tokens_per_second over beam_sampling's, or None where that was not run}}``.

    Raises:
        SettingsError: no method, an unknown or repeated one, or runs out of range.
    """
    _require(methods, runs)
    return _compare(pair, prompt, settings, methods, runs)


def _compare(
    pair: Pair, prompt: str, settings: DecodingSettings, methods: Sequence[str], runs: int
) -> Iterator[Progress]:
    plan = BenchPlan(tuple(Contender(name, name, replace(settings, method=name)) for name in methods), (prompt,), runs)
    require_runnable(pair, plan)
    total, journal = len(methods) + plan.total, Journal()
    plan = settle(pair, plan, journal)
    for done, step in enumerate(measure(pair, plan, journal), 1):
        if done < total:
            yield Progress(done, total, step.contender.method)
    tables = runs_of(plan, journal)
    rows = [_summary(method, tables[method]) for method in methods]
    ratios = {method: _ratio(method, tables) for method in methods}
    yield Progress(total, total, methods[-1], {"methods": rows, "ratios": ratios, "runs": runs})


def _summary(method: str, turns: Runs) -> dict[str, Any]:
    """One method's figures: medians of speed, means of counts and quality."""
    runs = known(turns)
    return {
        "method": method,
        "tokens_per_second": statistics.median(run.tokens_per_second for run in runs),
        "tokens_per_second_runs": [run.tokens_per_second for run in runs],
        "seconds": [run.seconds for run in runs],
        "prefill_seconds": [run.prefill_seconds for run in runs],
        **quality_figures(runs),
        **count_figures(runs),
        "kv_peak_bytes": max(run.kv_peak_bytes or 0 for run in runs),
        "text": runs[0].text,
    }


def _ratio(method: str, tables: Mapping[str, Runs]) -> float | None:
    """Tokens per second over beam sampling's, the median over the turns; None where that was not run."""
    if BASELINE not in tables:
        return None
    found = speed_ratio(tables[method], tables[BASELINE])
    return None if found is None else float(found["median"])


def _require(methods: Sequence[str], runs: int) -> None:
    require_names("methods", methods, METHODS)
    if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= MAX_RUNS:
        raise SettingsError(f"runs is {runs!r}; allowed are whole numbers from 1 to {MAX_RUNS}")
