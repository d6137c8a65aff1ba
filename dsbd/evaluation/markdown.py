"""The report of a bench or an evaluation as Markdown: the figures, and comparisons with baselines."""

from collections.abc import Callable, Iterator, Sequence

from dsbd.evaluation.report import Report
from dsbd.evaluation.statistics import FEWEST_FOR_A_MEDIAN, Difference, Interval, Mean
from dsbd.evaluation.tables import EQUAL_QUALITY, FEWEST_PROMPTS, PROMPTS, ContenderRow, ContestTable
from dsbd.measure.bench.contenders import FOREIGN

NONE = "–"
VERDICTS = {True: "yes", False: "no", None: NONE}
Cell = Callable[[ContestTable, ContenderRow], str]
COLUMNS: dict[str, Cell] = {
    "task": lambda found, row: found.task,
    "contender": lambda found, row: row.contender,
    "kept": lambda found, row: "one sequence" if row.one_sequence else "all beams",
    "metric": lambda found, row: NONE if found.metric == "perplexity" else found.metric,
    "value [95 %]": lambda found, row: NONE if found.metric == "perplexity" else of_metric(found, row.quality),
    "ms/token [95 %]": lambda found, row: median_cell(row.milliseconds_per_token),
    "tokens/s [95 %]": lambda found, row: mean_cell(row.tokens_per_second, 1),
    "prefill ms": lambda found, row: cell(scaled(row.prefill_seconds, 1e3), 1),
    "layers/iteration": lambda found, row: cell(row.layers_per_iteration),
    "acceptance": lambda found, row: cell(row.acceptance_rate),
    "mean width": lambda found, row: cell(row.mean_width),
    "perplexity [95 %]": lambda found, row: mean_cell(row.perplexity, 3),
    "best log-weight/token [95 %]": lambda found, row: mean_cell(row.best_log_weight_per_token, 3),
    "equal quality": lambda found, row: VERDICTS[row.equal_quality],
    "KV MB": lambda found, row: cell(scaled(row.kv_peak_bytes, 1e-6)),
    "peak allocated MB": lambda found, row: cell(scaled(row.peak_allocated_bytes, 1e-6)),
    "J/token [95 %]": lambda found, row: mean_cell(row.joules_per_token, 3),
}
"""Of the table of figures."""
COMPARED = ("task", "compared", "ratio of tokens/s [95 %]", "above 1 on", "sign test p", "difference [95 %]", "verdict",
            "better on", "worse on", "exact p")  # fmt: skip
"""Heads of the table of comparisons."""


def report_tables(report: Report) -> str:
    """Return the figures of all tasks, what they are compared with, and below what the reader must know."""
    tables = list(report.tables.values())
    if not tables:
        return "nothing measured yet"
    rows = [(found, row) for found in tables for row in found.rows]
    figures = _table(list(COLUMNS), [[of(found, row) for of in COLUMNS.values()] for found, row in rows])
    compared = _table(COMPARED, [_comparison(found, row, name) for found, row in rows for name in row.ratios])
    return "\n\n".join(filter(None, [figures, compared, *_notes(report, tables)]))


def _table(heads: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Return a table without the columns in which nothing was measured."""
    shown = [place for place in range(len(heads)) if any(row[place] != NONE for row in rows)]
    return table([heads[place] for place in shown], [[row[place] for place in shown] for row in rows]) if rows else ""


def _comparison(found: ContestTable, row: ContenderRow, name: str) -> list[str]:
    """Return what one contender is beside a baseline; quality is compared with the first baseline only."""
    ratio, one = row.ratios[name], row.difference if name == found.baselines[0] else None
    speed = [median_cell(ratio), f"{ratio.above_1} of {ratio.of}", p_cell(ratio.sign_test_p)]
    quality = [NONE] * 5
    if one is not None:
        ups, downs = (one.above, one.below) if found.higher_is_better else (one.below, one.above)
        value = of_metric(found, one.of, "points", signed=True)
        quality = [value, verdict(found, one), str(ups), str(downs), p_cell(one.p)]
    return [found.task, f"{row.contender} / {ratio.baseline}", *speed, *quality]


def _notes(report: Report, tables: Sequence[ContestTable]) -> Iterator[str]:
    for found in tables:
        asked = PROMPTS if found.task == PROMPTS else "questions"
        clusters = f" in {found.clusters} clusters" if found.clusters < found.questions else ""
        yield f"{found.task}: {found.questions} {asked}{clusters}, {found.seeds} seeds of each."
        if found.note:
            yield f"{found.task}: {found.note}."
        for row in found.rows:
            if row.auto_reason:
                yield f"{row.contender}: {row.auto_reason}"
    for name in dict.fromkeys(row.method for found in tables for row in found.rows if row.method in FOREIGN):
        package, number_format = FOREIGN[name]
        yield f"{name}: {package} in {number_format}; its law is beam search, not beam sampling."
    yield (
        f"{NONE}: not measured, or this method has no such figure. Intervals are over prompts, or clusters of "
        "questions: Wilson's for a share of right answers, Woodruff's for a median, else Student's t. A mean has none "
        f"from one prompt, a median none from fewer than {FEWEST_FOR_A_MEDIAN}."
    )
    if any(row.difference for found in tables for row in found.rows):
        yield (
            "A difference is taken question by question, seeds averaged first; without an interval it is the same on "
            'every question. Where the interval holds zero no difference is seen, which is not "equal". The exact p is '
            "over the questions on which the two differ (with one seed and right or wrong answers McNemar's); it "
            "ignores clusters, the interval does not."
        )
    if any(row.equal_quality is not None for found in tables for row in found.rows):
        yield f"Equal quality: {EQUAL_QUALITY}; never said from fewer than {FEWEST_PROMPTS} prompts."
    if all(row.joules_per_token is None for found in tables for row in found.rows):
        yield "Energy: not measured."
    if not report.complete:
        yield "Not complete: some decodes are missing. The same command with --resume continues."


def verdict(found: ContestTable, one: Difference) -> str:
    """Return ``better``, ``worse``, "no difference seen" or "not measured"."""
    if one.verdict not in ("higher", "lower"):
        return one.verdict
    return "better" if (one.verdict == "higher") is found.higher_is_better else "worse"


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


def scaled(value: float | None, factor: float) -> float | None:
    """Return a figure in another unit."""
    return None if value is None else factor * value


def median_cell(found: Interval | None) -> str:
    """Return a median with its interval, or a dash."""
    return NONE if found is None else _interval(found.median, found.low, found.high, 2)


def mean_cell(found: Mean | None, digits: int, signed: bool = False) -> str:
    """Return a mean with its interval, or a dash."""
    return NONE if found is None else _interval(found.mean, found.low, found.high, digits, signed=signed)


def p_cell(p: float | None) -> str:
    """Return a p-value, or a dash."""
    return NONE if p is None else f"{p:.2g}"


def of_metric(found: ContestTable, value: Mean | None, unit: str = "%", signed: bool = False) -> str:
    """Return a mean of the table's metric: a share in per cent, or a perplexity."""
    if value is None or found.metric == "perplexity":
        return mean_cell(value, 3, signed)
    return _interval(100 * value.mean, scaled(value.low, 100), scaled(value.high, 100), 1, f" {unit}", signed)


def _interval(
    value: float, low: float | None, high: float | None, digits: int, unit: str = "", signed: bool = False
) -> str:
    form = f"{'+' if signed else ''}.{digits}f"
    shown = f"{value:{form}}{unit}"
    return shown if low is None or high is None or low == high else f"{shown} [{low:{form}}, {high:{form}}]"
