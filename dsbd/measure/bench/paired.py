"""Two contenders compared run by run on the same prompts and seeds: speed as ratios, quality as differences."""

import math
from collections.abc import Callable, Sequence
from dataclasses import asdict

from dsbd.measure.bench.records import QualityVerdict, Run, SpeedRatio
from dsbd.measure.intervals import Estimate, estimate, median_interval, sign_test

Runs = Sequence[Sequence[Run | None]]
"""The runs of one contender: prompts x rounds, None where not measured yet."""
FEWEST_PROMPTS = 8
"""With fewer prompts the interval is so wide, and so uncertain, that nearly everything would count as equal."""
RULE = (
    "no worse than the baseline within the interval: the 95 % interval of the difference, over the prompts, reaches "
    "zero or better, for perplexity and for the best log-weight per token"
)


def speed_ratio(runs: Runs, others: Runs, baseline: str) -> SpeedRatio | None:
    """Return tokens per second over the baseline's on the same prompt and seed; None where no two runs match.

    Args:
        runs: of the contender.
        others: of the baseline.
        baseline: the baseline's name.
    """
    groups = _paired(runs, others, lambda ours, theirs: ours.tokens_per_second / theirs.tokens_per_second)
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


def quality_verdict(runs: Runs, others: Runs) -> QualityVerdict | None:
    """Return whether the texts are as good as the baseline's, by :data:`RULE`; None where no two runs match."""
    perplexity = _difference(runs, others, lambda run: run.perplexity)
    weight = _difference(runs, others, lambda run: run.best_log_weight_per_token)
    if perplexity is None or weight is None:
        return None
    equal = None
    if perplexity.half_width is not None and weight.half_width is not None:
        equal = perplexity.mean - perplexity.half_width <= 0 and weight.mean + weight.half_width >= 0
    return QualityVerdict(perplexity=perplexity, best_log_weight_per_token=weight, equal=equal)


def _difference(runs: Runs, others: Runs, figure: Callable[[Run], float]) -> Estimate | None:
    """Return the mean difference over the prompts."""
    groups = _paired(runs, others, lambda ours, theirs: figure(ours) - figure(theirs))
    if not groups:
        return None
    found = estimate(groups)
    return found if len(groups) >= FEWEST_PROMPTS else Estimate(found.mean, None)


def _paired(runs: Runs, others: Runs, of: Callable[[Run, Run], float]) -> list[list[float]]:
    """Return a figure of each pair of runs on the same prompt and round, by prompt, without prompts that have none."""
    groups = [
        [of(ours, theirs) for ours, theirs in zip(mine, other, strict=True) if ours is not None and theirs is not None]
        for mine, other in zip(runs, others, strict=True)
    ]
    return [group for group in groups if group]
