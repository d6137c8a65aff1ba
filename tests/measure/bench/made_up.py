"""Makes runs with given figures."""

from dsbd.measure.bench.records import Run


def made_up_run(speed: int, perplexity: float = 2.0, weight: float = -1.0, **changes) -> Run:
    """Make a run of one second and ``speed`` tokens."""
    figures = {
        "contender": "x", "task": "", "question": "1", "cluster": "1", "round": 0, "prompt": "p", "prompt_tokens": 1,
        "shortened": False, "seed": 0, "text": "", "ended": "limit", "seconds": 1.0,
        "prefill_seconds": 0.0, "layers": speed, "new_tokens": speed, "perplexity": perplexity,
        "best_log_weight": weight, "best_log_weight_per_token": weight, "target_calls": 1,
    }  # fmt: skip
    return Run(**(figures | changes))
