"""Methods side by side on one prompt: interleaved, after a warm-up, with the quality beside the speed."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dsbd.decoder import decode
from dsbd.errors import SettingsError
from dsbd.measure.quality import estimate, log_likelihood, perplexity
from dsbd.models.pair import Pair
from dsbd.results import DecodingResult
from dsbd.settings import METHODS, DecodingSettings

BASELINE = "beam_sampling"
WARM_UP_TOKENS = 8
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
    asked = {method: replace(settings, method=method) for method in methods}
    total = len(methods) * (runs + 1)
    results: dict[str, list[DecodingResult]] = {method: [] for method in methods}
    short = min(WARM_UP_TOKENS, settings.max_new_tokens)
    for done, method in enumerate(methods, 1):
        decode(pair, prompt, replace(asked[method], max_new_tokens=short))
        yield Progress(done, total, method)
    for run in range(runs):
        for place, method in enumerate(methods):
            seed = (settings.seed + run) % 2**63
            results[method].append(decode(pair, prompt, replace(asked[method], seed=seed)))
            done = len(methods) * (run + 1) + place + 1
            if done < total:
                yield Progress(done, total, method)
    prompt_ids = pair.encode(prompt)
    rows = [_summary(pair, prompt_ids, method, results[method]) for method in methods]
    yield Progress(total, total, methods[-1], {"methods": rows, "ratios": _ratios(rows), "runs": runs})


def _summary(pair: Pair, prompt_ids: Sequence[int], method: str, results: Sequence[DecodingResult]) -> dict[str, Any]:
    """One method's figures: medians of speed, means of counts and quality."""
    perplexities = [
        perplexity(log_likelihood(pair.target, prompt_ids, result.token_ids), len(result.token_ids))
        for result in results
    ]
    quality = estimate(perplexities)
    best = estimate([max(beam.log_weight for beam in result.beams) for result in results])
    stats = [result.stats for result in results]
    tried = [one.acceptance_rate for one in stats if one.acceptance_rate is not None]
    return {
        "method": method,
        "tokens_per_second": statistics.median(one.tokens_per_second for one in stats),
        "tokens_per_second_runs": [one.tokens_per_second for one in stats],
        "seconds": [one.seconds for one in stats],
        "prefill_seconds": [one.prefill_seconds for one in stats],
        "perplexity": quality.mean,
        "perplexity_half_width": quality.half_width,
        "best_log_weight": best.mean,
        "best_log_weight_half_width": best.half_width,
        "target_calls": statistics.fmean(one.target_calls for one in stats),
        "draft_calls": statistics.fmean(one.draft_calls for one in stats),
        "layers_per_iteration": statistics.fmean(one.layers_per_iteration for one in stats),
        "acceptance_rate": statistics.fmean(tried) if tried else None,
        "mean_width": statistics.fmean(one.mean_width for one in stats),
        "new_tokens": statistics.fmean(one.new_tokens for one in stats),
        "kv_peak_bytes": max(one.kv_peak_bytes for one in stats),
        "text": results[0].text,
    }


def _ratios(rows: Sequence[dict[str, Any]]) -> dict[str, float | None]:
    baseline = next((row["tokens_per_second"] for row in rows if row["method"] == BASELINE), None)
    return {row["method"]: row["tokens_per_second"] / baseline if baseline else None for row in rows}


def _require(methods: Sequence[str], runs: int) -> None:
    if not methods:
        raise SettingsError(f"methods is empty; choose from {', '.join(METHODS)}")
    for method in methods:
        if method not in METHODS:
            raise SettingsError(f"method is {method!r}; choose from {', '.join(METHODS)}")
    if len(set(methods)) < len(methods):
        raise SettingsError(f"methods are {', '.join(methods)}; name each once")
    if isinstance(runs, bool) or not isinstance(runs, int) or not 1 <= runs <= MAX_RUNS:
        raise SettingsError(f"runs is {runs!r}; allowed are whole numbers from 1 to {MAX_RUNS}")
