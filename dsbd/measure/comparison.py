"""Methods side by side on one prompt: interleaved, after a warm-up, quality beside speed."""

import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from typing import Any

from dsbd.errors import SettingsError
from dsbd.measure.bench.contenders import BASELINE, Contender, Contest, require_names
from dsbd.measure.bench.paired import Runs, speed_ratio
from dsbd.measure.bench.prepare import require_runnable, resolve_auto
from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.bench.schedule import measure, runs_of
from dsbd.measure.bench.summary import count_figures, known, quality_figures
from dsbd.models.pair import Pair
from dsbd.results import brief
from dsbd.settings import METHODS, DecodingSettings

MAX_RUNS = 100


@dataclass(frozen=True)
class Progress:
    """How far a comparison is; the last one has the result."""

    __repr__ = brief

    done: int
    total: int
    method: str
    result: dict[str, Any] | None = None


def compare(
    pair: Pair,
    prompt: str,
    settings: DecodingSettings,
    methods: Sequence[str],
    runs: int = 3,
    stop: Callable[[], bool] | None = None,
) -> Iterator[Progress]:
    """Run each method ``runs`` times in turn, with seeds seed, seed + 1, ...; closing the iterator stops it.

    Args:
        stop: asked inside the runs; once it returns True the comparison ends with a StoppedError.

    Yields:
        Progress after each run. The last one's ``result`` is plain data:
        ``{"methods": [{"method", "tokens_per_second" (median), "seconds": [...], "perplexity", ...}],
        "ratios": {method: tokens_per_second over beam_sampling's, or None where that was not run}}``.

    Raises:
        SettingsError: no method, an unknown or repeated one, or runs out of range.
        StoppedError: ``stop`` returned True.
    """
    require_comparable(methods, runs)
    return _compare(pair, prompt, settings, methods, runs, stop)


def _compare(
    pair: Pair,
    prompt: str,
    settings: DecodingSettings,
    methods: Sequence[str],
    runs: int,
    stop: Callable[[], bool] | None,
) -> Iterator[Progress]:
    contenders = tuple(Contender(name, name, replace(settings, method=name)) for name in methods)
    contest = Contest(contenders, (prompt,), runs)
    require_runnable(pair, contest)
    total, results = len(methods) + contest.total, ResultsFile()
    contest = resolve_auto(pair, contest, results)
    for done, step in enumerate(measure(pair, contest, results, stop=stop), 1):
        if done < total:
            yield Progress(done, total, step.contender.method)
    tables = runs_of(contest, results)
    rows = [_summary(method, tables[method]) for method in methods]
    ratios = {method: _ratio(method, tables) for method in methods}
    yield Progress(total, total, methods[-1], {"methods": rows, "ratios": ratios, "runs": runs})


def _summary(method: str, rounds: Runs) -> dict[str, Any]:
    """Return one method's figures: medians of speed, means of counts and quality, intervals over the seeds."""
    runs = known(rounds)
    return {
        "method": method,
        "tokens_per_second": statistics.median(run.tokens_per_second for run in runs),
        "tokens_per_second_runs": [run.tokens_per_second for run in runs],
        "seconds": [run.seconds for run in runs],
        "prefill_seconds": [run.prefill_seconds for run in runs],
        **asdict(quality_figures([[run] for run in runs])),  # one prompt: each seed stands for itself
        **asdict(count_figures(runs)),
        "kv_peak_bytes": max(run.kv_peak_bytes or 0 for run in runs),
        "text": runs[0].text,
    }


def _ratio(method: str, tables: Mapping[str, Runs]) -> float | None:
    """Return tokens per second over beam sampling's, the median over the rounds; None where that was not run."""
    if BASELINE not in tables:
        return None
    found = speed_ratio(tables[method], tables[BASELINE], BASELINE)
    return None if found is None else found.median


def require_comparable(methods: Sequence[str], runs: int) -> None:
    """Check methods and runs. Raises: SettingsError: no method, an unknown or repeated one, or runs out of range."""
    require_names("methods", methods, METHODS)
    if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= MAX_RUNS:
        raise SettingsError(f"runs is {runs!r}; allowed are whole numbers from 1 to {MAX_RUNS}")
