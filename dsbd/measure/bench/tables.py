"""The summary of a bench as Markdown tables: to be read as they are, and to be kept in a page."""

from collections.abc import Sequence
from typing import Any

NONE = "–"


def bench_tables(summary: dict[str, Any]) -> str:
    """Speed and quality, ratios, limits, memory and energy. Null figures are dashes, explained below."""
    rows = summary["contenders"]
    if not rows:
        return "nothing measured yet"
    parts = [_speed(rows), _ratios(summary), _limits(rows), _forwards(summary), _memory(rows), _energy(rows)]
    notes = [f"{NONE}: not measured, or not there for this method. Equal quality: {summary['quality_rule']}."]
    notes += [f"{row['contender']}: {row['plan']}" for row in rows if row["plan"]]
    if not summary["complete"]:
        notes.append("Not complete: some runs are missing.")
    return "\n\n".join([part for part in parts if part] + notes)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """A Markdown table with aligned columns."""
    widths = [max(len(row[place]) for row in (heads, *rows)) for place in range(len(heads))]
    lines = [heads, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )


def number(value: float | None, digits: int = 2) -> str:
    """A figure, or a dash."""
    return NONE if value is None else f"{value:.{digits}f}"


def spread(value: float | None, half_width: float | None, digits: int = 2) -> str:
    """A mean with half its interval."""
    return number(value, digits) + (f" ± {half_width:.{digits}f}" if half_width is not None else "")


def within(value: float, interval: Sequence[float | None] | None, digits: int = 2) -> str:
    """A median with its interval."""
    if interval is None or interval[0] is None or interval[1] is None:
        return number(value, digits)
    return f"{value:.{digits}f} [{interval[0]:.{digits}f}, {interval[1]:.{digits}f}]"


def _speed(rows: Sequence[dict[str, Any]]) -> str:
    heads = ["contender", "ms/token", "tokens/s", "prefill ms", "layers/iteration", "acceptance", "mean width",
             "perplexity", "best log-weight/token", "equal quality"]  # fmt: skip
    verdicts = {True: "yes", False: "no", None: NONE}
    return table(heads, [
        [
            row["contender"],
            within(row["milliseconds_per_token"], row["milliseconds_per_token_interval"]),
            number(row["tokens_per_second"], 1),
            number(1000 * row["prefill_seconds"], 1),
            number(row["layers_per_iteration"]),
            number(row["acceptance_rate"]),
            number(row["mean_width"]),
            spread(row["perplexity"], row["perplexity_half_width"]),
            spread(row["best_log_weight_per_token"], row["best_log_weight_per_token_half_width"]),
            verdicts[row["quality"]["equal"] if row["quality"] else None],
        ]
        for row in rows
    ])  # fmt: skip


def _ratios(summary: dict[str, Any]) -> str:
    found = []
    for others in summary["ratios"].values():
        for name, ratio in others.items():
            if ratio is not None:
                speed = within(ratio["median"], [ratio["low"], ratio["high"]])
                p = NONE if ratio["sign_test_p"] is None else f"{ratio['sign_test_p']:.2g}"
                found.append([f"{name} / {ratio['baseline']}", speed, f"{ratio['above_1']} of {ratio['of']}", p])
    return table(["ratio of tokens/s", "median [95 %]", "above 1 on", "sign test p"], found) if found else ""


def _limits(rows: Sequence[dict[str, Any]]) -> str:
    heads = ["contender", "floor ms", "forward ms", "expected layers", "layers", "speed-up limit", "speed-up",
             "hardware", "algorithm", "total"]  # fmt: skip
    found = []
    for row in rows:
        limits = row["limits"]
        if limits is not None:
            names = ("target_floor_milliseconds", "target_forward_milliseconds", "expected_layers", "layers",
                     "speed_up_limit", "speed_up", "hardware", "algorithm", "total")  # fmt: skip
            found.append([row["contender"], *(number(limits[name]) for name in names)])
    return table(heads, found) if found else ""


def _forwards(summary: dict[str, Any]) -> str:
    """Each model's forwards, and the share of them that streaming the weights alone would take."""
    found = []
    for role, model in (summary["forwards"] or {}).items():
        if model is not None:
            floor = 1000 * model["weight_bytes"] / model["bandwidth_bytes_per_second"]
            cells = [f"{value:.2f} ({floor / value:.2f})" for value in model["milliseconds"].values()]
            speed = number(model["bandwidth_bytes_per_second"] / 1e9, 0)
            found.append([role, number(model["weight_bytes"] / 1e6, 0), speed, number(floor), *cells])
    if not found:
        return ""
    sizes = summary["forwards"]["target"]["milliseconds"]
    heads = ["model", "weights MB", "GB/s", "floor ms", *(f"T({size}) ms (floor/T)" for size in sizes)]
    return table(heads, found)


def _memory(rows: Sequence[dict[str, Any]]) -> str:
    heads = [
        "contender",
        "KV MB",
        "× one sequence",
        "one sequence MB (computed)",
        "a cache per beam MB (computed)",
        "peak allocated MB",
    ]
    found = []
    for row in rows:
        memory, computed = row["memory"], row["memory"]["computed"] or {}
        sizes = (memory["kv_peak_bytes"], computed.get("one_sequence_bytes"), computed.get("cache_per_beam_bytes"))
        cells = [number(None if size is None else size / 1e6) for size in (*sizes, memory["peak_allocated_bytes"])]
        found.append([row["contender"], cells[0], number(memory["ratio_to_one_sequence"]), *cells[1:]])
    return table(heads, found)


def _energy(rows: Sequence[dict[str, Any]]) -> str:
    found = []
    for row in rows:
        for device, taken in (row["energy"] or {}).items():
            if taken["joules_per_token"] is not None:
                joules = (taken["joules_per_token"], taken["above_idle_joules_per_token"])
                found.append([row["contender"], device, taken["state"], *(number(one, 3) for one in joules)])
    if not found:
        return "Energy: not measured."
    return table(["contender", "device", "how", "J/token", "J/token above idle"], found)
