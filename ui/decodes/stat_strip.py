"""The figures of a decode in one row."""

from html import escape
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
    }
    return as_html(_in_words(figures | (recording.result.stats if recording.result is not None else {})))


def as_html(figures: dict[str, tuple[str, str]]) -> str:
    """Return HTML of ``{word: (figure, unit)}``."""
    items = "".join(_item(word, *figure) for word, figure in figures.items())
    return f'<dl class="stat-strip">{items}</dl>'


def _item(word: str, figure: str, unit: str) -> str:
    unit = f" <small>{escape(unit)}</small>" if unit and figure != MISSING else ""
    return f"<div><dt>{escape(word)}</dt><dd>{escape(figure)}{unit}</dd></div>"


def _in_words(stats: dict[str, Any]) -> dict[str, tuple[str, str]]:
    rate = stats.get("acceptance_rate")
    return {
        "Speed": (_number(stats.get("tokens_per_second"), 1), "tokens/s"),
        "Length": (_number(stats.get("new_tokens"), 0), "tokens"),
        "Large model's passes": (_number(stats.get("target_calls"), 0), ""),
        "Tokens a pass": (_number(stats.get("layers_per_iteration"), 2), ""),
        "Accepted": (_number(100 * rate if isinstance(rate, (int, float)) else None, 0), "%"),
        "Mean width": (_number(stats.get("mean_width"), 2), "beams"),
        "KV cache, peak": size(stats.get("kv_peak_bytes")),
    }


def _number(value: Any, digits: int) -> str:
    return f"{value:,.{digits}f}" if isinstance(value, (int, float)) else MISSING


def size(value: Any) -> tuple[str, str]:
    """Return bytes as figure and unit, in powers of 1024."""
    if not isinstance(value, (int, float)):
        return MISSING, ""
    amount = float(value)
    for unit in ("B", "KiB", "MiB"):
        if amount < 1024:
            return f"{amount:.3g}" if amount < 100 else f"{amount:.0f}", unit
        amount /= 1024
    return f"{amount:.3g}", "GiB"
