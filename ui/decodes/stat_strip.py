"""The figures of a decode in one row."""

from typing import Any

from .recording import Recording

MISSING = "–"


def stat_strip(recording: Recording) -> str:
    """Return HTML of the row: the result's figures, or those of the iterations so far."""
    counted = recording.scene(last=0).statistics
    figures = {
        "tokens_per_second": counted.layers / counted.seconds if counted.seconds else None,
        "new_tokens": counted.layers,
        "target_calls": counted.iterations + 1,
        "layers_per_iteration": counted.layers_per_iteration,
        "acceptance_rate": counted.acceptance_rate,
        "mean_width": counted.mean_width,
    } | (recording.result.stats if recording.result is not None else {})
    items = (
        _item("Speed", figures["tokens_per_second"], 1, "tokens/s"),
        _item("Length", figures["new_tokens"], 0, "tokens"),
        _item("Large model's passes", figures["target_calls"], 0),
        _item("Tokens a pass", figures["layers_per_iteration"], 2),
        _item("Accepted", figures["acceptance_rate"], 0, "%", factor=100),
        _item("Mean width", figures["mean_width"], 2, "beams"),
        _item("KV cache, peak", figures.get("kv_peak_bytes"), 1, "MB", factor=1e-6),
    )
    return f'<dl class="stat-strip">{"".join(items)}</dl>'


def _item(word: str, value: Any, digits: int, unit: str = "", factor: float = 1) -> str:
    """One figure; a value that is not a number, as a file may hold, is shown as missing."""
    if not isinstance(value, (int, float)):
        return f"<div><dt>{word}</dt><dd>{MISSING}</dd></div>"
    small = f" <small>{unit}</small>" if unit else ""
    return f"<div><dt>{word}</dt><dd>{value * factor:,.{digits}f}{small}</dd></div>"
