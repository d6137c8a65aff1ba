"""The summary of a bench as Markdown tables, for a terminal or a page of documentation."""

from collections.abc import Sequence

from dsbd.measure.bench.contenders import FOREIGN
from dsbd.measure.bench.paired import FEWEST_PROMPTS
from dsbd.measure.bench.records import BenchSummary, ContenderSummary
from dsbd.measure.intervals import FEWEST_FOR_A_MEDIAN

NONE = "–"


def bench_tables(summary: BenchSummary) -> str:
    """Return speed and quality, ratios, limits, memory and energy; a dash is explained below the tables."""
    rows = summary.contenders
    if not rows:
        return "nothing measured yet"
    parts = [_speed(rows), _ratios(summary), _limits(rows), _forwards(summary), _memory(rows), _energy(rows)]
    notes = [
        f"{NONE}: not measured, or this method has no such figure. Equal quality: {summary.quality_rule}.",
        "Intervals are at 95 %, over prompts; a mean has none from one prompt, a median from fewer than "
        f"{FEWEST_FOR_A_MEDIAN}, and no quality is called equal from fewer than {FEWEST_PROMPTS}.",
    ]
    notes += [f"{row.contender}: {row.auto_reason}" for row in rows if row.auto_reason]
    notes += [
        f"{row.contender}: {FOREIGN[row.method].package} in {FOREIGN[row.method].number_format}; its law is beam "
        "search, not beam sampling."
        for row in rows
        if row.method in FOREIGN
    ]
    notes += summary.control.notes() if summary.control is not None else []
    if not summary.complete:
        notes.append("Not complete: some runs are missing.")
    return "\n\n".join([part for part in parts if part] + notes)


def table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a Markdown table with aligned columns."""
    widths = [max(len(row[place]) for row in (heads, *rows)) for place in range(len(heads))]
    lines = [heads, ["-" * width for width in widths], *rows]
    return "\n".join(
        "| " + " | ".join(cell.ljust(width) for cell, width in zip(line, widths, strict=True)) + " |" for line in lines
    )


def cell(value: float | None, digits: int = 2) -> str:
    """Return a figure, or a dash."""
    return NONE if value is None else f"{value:.{digits}f}"


def mean_cell(value: float | None, half_width: float | None, digits: int = 2) -> str:
    """Return a mean with half of its interval."""
    return cell(value, digits) + (f" ± {half_width:.{digits}f}" if half_width is not None else "")


def median_cell(value: float, low: float | None, high: float | None, digits: int = 2) -> str:
    """Return a median with its interval."""
    if low is None or high is None:
        return cell(value, digits)
    return f"{value:.{digits}f} [{low:.{digits}f}, {high:.{digits}f}]"


def _mega(size: float | None) -> str:
    return cell(None if size is None else size / 1e6)


def _speed(rows: Sequence[ContenderSummary]) -> str:
    heads = ["contender", "ms/token", "tokens/s", "prefill ms", "layers/iteration", "acceptance", "mean width",
             "perplexity", "best log-weight/token", "equal quality"]  # fmt: skip
    verdicts = {True: "yes", False: "no", None: NONE}
    return table(heads, [
        [
            row.contender,
            median_cell(row.milliseconds_per_token, *(row.milliseconds_per_token_interval or (None, None))),
            cell(row.tokens_per_second, 1),
            cell(1000 * row.prefill_seconds, 1),
            cell(row.layers_per_iteration),
            cell(row.acceptance_rate),
            cell(row.mean_width),
            mean_cell(row.perplexity, row.perplexity_half_width),
            mean_cell(row.best_log_weight_per_token, row.best_log_weight_per_token_half_width),
            verdicts[row.quality.equal if row.quality else None],
        ]
        for row in rows
    ])  # fmt: skip


def _ratios(summary: BenchSummary) -> str:
    found = []
    for others in summary.ratios.values():
        for name, ratio in others.items():
            if ratio is not None:
                speed = median_cell(ratio.median, ratio.low, ratio.high)
                p = NONE if ratio.sign_test_p is None else f"{ratio.sign_test_p:.2g}"
                found.append([f"{name} / {ratio.baseline}", speed, f"{ratio.above_1} of {ratio.of}", p])
    return table(["ratio of tokens/s", "median [95 %]", "above 1 on", "sign test p"], found) if found else ""


def _limits(rows: Sequence[ContenderSummary]) -> str:
    heads = ["contender", "floor ms", "forward ms", "expected layers", "layers", "speed-up limit", "speed-up",
             "hardware", "algorithm", "total"]  # fmt: skip
    found = []
    for row in rows:
        limits = row.limits
        if limits is not None:
            figures = (limits.target_floor_milliseconds, limits.target_forward_milliseconds, limits.expected_layers,
                       limits.layers, limits.speed_up_limit, limits.speed_up, limits.hardware, limits.algorithm,
                       limits.total)  # fmt: skip
            found.append([row.contender, *(cell(figure) for figure in figures)])
    return table(heads, found) if found else ""


def _forwards(summary: BenchSummary) -> str:
    """Return each model's forwards, and the share of them that reading the weights alone would take."""
    if summary.forwards is None:
        return ""
    found = []
    for role, model in summary.forwards.by_role.items():
        floor = model.floor_milliseconds
        times = [f"{value:.2f} ({floor / value:.2f})" for value in model.milliseconds.values()]
        speed = cell(model.bandwidth_bytes_per_second / 1e9, 0)
        found.append([role, cell(model.weight_bytes / 1e6, 0), speed, cell(floor), *times])
    sizes = summary.forwards.target.milliseconds
    heads = ["model", "weights MB", "GB/s", "floor ms", *(f"T({size}) ms (floor/T)" for size in sizes)]
    return table(heads, found)


def _memory(rows: Sequence[ContenderSummary]) -> str:
    heads = ["contender", "KV MB", "× one sequence", "one sequence MB (computed)", "a cache per beam MB (computed)",
             "peak allocated MB"]  # fmt: skip
    found = []
    for row in rows:
        memory, other = row.memory, row.memory.computed
        found.append(
            [
                row.contender,
                _mega(memory.kv_peak_bytes),
                cell(memory.ratio_to_one_sequence),
                _mega(other.one_sequence_bytes if other else None),
                _mega(other.cache_per_beam_bytes if other else None),
                _mega(memory.peak_allocated_bytes),
            ]
        )
    return table(heads, found)


def _energy(rows: Sequence[ContenderSummary]) -> str:
    found = [
        [row.contender, device, one.state, cell(one.joules_per_token, 3), cell(one.above_idle_joules_per_token, 3)]
        for row in rows
        for device, one in (row.energy or {}).items()
        if one.joules_per_token is not None
    ]
    if not found:
        return "Energy: not measured."
    return table(["contender", "device", "how", "J/token", "J/token above idle"], found)
