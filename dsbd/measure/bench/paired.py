"""Two contenders against each other on the same prompts and seeds: speed as ratios, quality as differences."""

from collections.abc import Callable, Sequence
from typing import Any

from dsbd.measure.bench.records import Run
from dsbd.measure.intervals import Estimate, estimate, median_interval, sign_test

Runs = Sequence[Sequence[Run | None]]
"""Of one contender: prompts x turns, None where not measured yet."""
FEWEST_PROMPTS = 8
"""With fewer the interval is so wide, and so rough, that nearly everything would pass for equal."""
RULE = (
    "no worse than the baseline within the interval: the 95 % interval of the difference, over the prompts, reaches "
    "zero or better, for perplexity and for the best log-weight per token"
)


def speed_ratio(runs: Runs, baseline: Runs) -> dict[str, Any] | None:
    """Tokens per second over the baseline's on the same prompt and turn; None where nothing compares.

    Returns:
        ``median`` with its bootstrap interval ``low``, ``high``; ``above_1`` of ``of`` runs; ``sign_test_p``.
    """
    groups = _paired(runs, baseline, lambda ours, theirs: ours.tokens_per_second / theirs.tokens_per_second)
    values = [value for group in groups for value in group]
    if not values:
        return None
    return {
        **median_interval(groups)._asdict(),
        "above_1": sum(value > 1 for value in values),
        "of": len(values),
        "sign_test_p": sign_test([value - 1 for value in values]),
    }


def quality_verdict(runs: Runs, baseline: Runs) -> dict[str, Any] | None:
    """Whether the texts are as good as the baseline's, by :data:`RULE`; None where nothing compares.

    Returns:
        ``perplexity`` and ``best_log_weight_per_token``: mean difference to the baseline and half its interval;
        ``equal``: True, False, or None with too few prompts to tell.
    """
    perplexity = _difference(runs, baseline, lambda run: run.perplexity)
    weight = _difference(runs, baseline, lambda run: run.best_log_weight_per_token)
    if perplexity is None or weight is None:
        return None
    equal = None
    if perplexity.half_width is not None and weight.half_width is not None:
        equal = perplexity.mean - perplexity.half_width <= 0 and weight.mean + weight.half_width >= 0
    return {"perplexity": perplexity._asdict(), "best_log_weight_per_token": weight._asdict(), "equal": equal}


def _difference(runs: Runs, baseline: Runs, figure: Callable[[Run], float]) -> Estimate | None:
    """Mean difference over prompts, the turns of a prompt averaged first."""
    groups = _paired(runs, baseline, lambda ours, theirs: figure(ours) - figure(theirs))
    means = [sum(group) / len(group) for group in groups if group]
    if not means:
        return None
    found = estimate(means)
    return found if len(means) >= FEWEST_PROMPTS else Estimate(found.mean, None)


def _paired(runs: Runs, baseline: Runs, of: Callable[[Run, Run], float]) -> list[list[float]]:
    """A figure of each pair of runs on the same prompt and turn, by prompt; prompts without a pair are left out."""
    groups = [
        [
            of(ours, theirs)
            for ours, theirs in zip(turns, others, strict=True)
            if ours is not None and theirs is not None
        ]
        for turns, others in zip(runs, baseline, strict=True)
    ]
    return [group for group in groups if group]
