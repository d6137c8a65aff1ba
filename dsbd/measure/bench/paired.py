"""Two contenders compared run by run on the same prompts and seeds: speed as ratios, quality as differences."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict

from dsbd.measure.bench.records import QualityVerdict, Run, SpeedRatio
from dsbd.measure.intervals import Estimate, estimate, median_interval, sign_test

FEWEST_PROMPTS = 8
"""With fewer prompts the interval is so wide, and so uncertain, that nearly everything would count as equal."""
RULE = (
    "no worse than the baseline within the interval: the 95 % interval of the difference, over the prompts, reaches "
    "zero or better, for perplexity and for the best log-weight per token"
)


def by_cluster(runs: Sequence[Run], figure: Callable[[Run], float]) -> list[list[float]]:
    """Return a figure of each run, by cluster: a plain prompt, or questions that are not independent."""
    groups: dict[str, list[float]] = {}
    for run in runs:
        groups.setdefault(run.cluster, []).append(figure(run))
    return list(groups.values())


def paired(runs: Sequence[Run], others: Sequence[Run], of: Callable[[Run, Run], float]) -> list[list[float]]:
    """Return a figure of each pair of runs on the same prompt and seed, by cluster."""
    theirs = {other.key[1:]: other for other in others}
    return by_cluster([run for run in runs if run.key[1:] in theirs], lambda run: of(run, theirs[run.key[1:]]))


def speed_ratios(runs: Sequence[Run], others: Sequence[Run]) -> list[list[float]]:
    """Return tokens per second over those of another contender on the same prompt and seed, by cluster."""
    return paired(runs, others, lambda ours, theirs: ours.tokens_per_second / theirs.tokens_per_second)


def speed_ratio(runs: Sequence[Run], others: Sequence[Run], baseline: str) -> SpeedRatio | None:
    """Return the median of the speed ratios, its interval and the sign test; None where no two runs match.

    Args:
        runs: of the contender.
        others: of the baseline.
        baseline: the baseline's name.
    """
    groups = speed_ratios(runs, others)
    values = [value for group in groups for value in group]
    if not values:
        return None
    return SpeedRatio(
        baseline=baseline,
        **asdict(median_interval(groups)),
        above_1=sum(value > 1 for value in values),
        of=len(values),
        sign_test_p=sign_test([math.fsum(map(math.log, group)) for group in groups]),
    )


def quality_verdict(runs: Sequence[Run], others: Sequence[Run]) -> QualityVerdict | None:
    """Return whether the texts are as good as the baseline's, by :data:`RULE`; None where no two runs match."""
    if not paired(runs, others, lambda ours, theirs: 0.0):
        return None
    perplexity = _difference(runs, others, lambda run: run.perplexity)
    weight = _difference(runs, others, lambda run: run.best_log_weight_per_token)
    equal = None
    if perplexity.half_width is not None and weight.half_width is not None:
        equal = perplexity.mean - perplexity.half_width <= 0 and weight.mean + weight.half_width >= 0
    return QualityVerdict(perplexity=perplexity, best_log_weight_per_token=weight, equal=equal)


def _difference(runs: Sequence[Run], others: Sequence[Run], figure: Callable[[Run], float]) -> Estimate:
    """Return the mean difference over the prompts."""
    groups = paired(runs, others, lambda ours, theirs: figure(ours) - figure(theirs))
    found = estimate(groups)
    return found if len(groups) >= FEWEST_PROMPTS else Estimate(found.mean, None)
