"""Makes runs and summaries with given figures."""

from dataclasses import replace

from dsbd.measure.bench.records import ContenderSummary, ModelCosts, Run
from dsbd.settings import DecodingSettings


def made_up_run(speed: int, perplexity: float = 2.0, weight: float = -1.0, **changes) -> Run:
    """Make a run of one second and ``speed`` tokens."""
    figures = {
        "contender": "x", "task": "", "question": "1", "cluster": "1", "round": 0, "prompt": "p", "prompt_tokens": 1,
        "shortened": False, "seed": 0, "text": "", "ended": "limit", "seconds": 1.0,
        "prefill_seconds": 0.0, "layers": speed, "new_tokens": speed, "perplexity": perplexity,
        "best_log_weight": weight, "best_log_weight_per_token": weight, "target_calls": 1,
    }  # fmt: skip
    return Run(**(figures | changes))


def flat(rows) -> list[Run]:
    """Give runs that are listed by prompt and round their places; None is a run that was not made."""
    return [
        replace(run, question=f"{place}", cluster=f"{place}", round=round)
        for place, row in enumerate(rows)
        for round, run in enumerate(row)
        if run is not None
    ]


def made_up_summary(name: str, milliseconds: float, **changes) -> ContenderSummary:
    """Make a contender that takes so many milliseconds per token."""
    figures = {
        "contender": name, "method": name.split(" ")[0], "settings": DecodingSettings(), "runs": 1,
        "tokens_per_second": 1000 / milliseconds, "milliseconds_per_token": milliseconds,
        "milliseconds_per_token_interval": None, "total_tokens_per_second": 1000 / milliseconds,
        "text_tokens_per_second": 1000 / milliseconds, "decode_milliseconds_per_token": milliseconds,
        "prefill_seconds": 0.0, "perplexity": 2.0, "perplexity_half_width": 0.1, "best_log_weight": -7.0,
        "best_log_weight_half_width": None, "best_log_weight_per_token": -0.7,
        "best_log_weight_per_token_half_width": None, "prompt_tokens": 5.0, "layers": 30.0, "new_tokens": 30.0,
        "target_calls": 10.0, "draft_calls": None, "iterations": None, "layers_per_iteration": None,
        "acceptance_rate": None, "mean_width": None,
    }  # fmt: skip
    return ContenderSummary(**(figures | changes))


def made_up_costs(weight_bytes: int, milliseconds: float) -> ModelCosts:
    """Make the costs of a model whose forwards take the same time at every size, on a machine of 1 GB/s."""
    return ModelCosts(
        weight_bytes=weight_bytes, slot_bytes=0, bandwidth_bytes_per_second=1e9,
        milliseconds={1: milliseconds, 64: milliseconds},
    )  # fmt: skip
