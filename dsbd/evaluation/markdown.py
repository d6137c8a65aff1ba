"""The report of a bench or an evaluation as Markdown: the figures, the speed ratios, the differences of quality."""

from collections.abc import Callable, Iterator, Sequence

from dsbd.evaluation.report import Report
from dsbd.evaluation.statistics import FEWEST_FOR_A_MEDIAN, NO_DIFFERENCE, Difference, Interval, Mean
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
"""Of the table of figures; a column that no row has a figure for is left out."""
NOTES = """\
Intervals are at 95 %, over clusters of questions that share a database or a passage: Wilson's for a share of right
answers, Woodruff's for a ratio of speeds, else Student's t; for perplexity on its logarithms, so its mean is the
geometric one. A difference is taken question by question, seeds averaged first; without an interval it is the same on
every question.
Where the interval holds zero, the report says "{no_difference}": that is not "equal". p is
exact and two-sided, over the questions on which the two differ{mcnemar}; it ignores clusters, the interval does not."""


def report_tables(report: Report) -> str:
    """Return the figures and the speed ratios of all tasks, and below what the reader must know."""
    tables = list(report.tables.values())
    if not tables:
        return "nothing measured yet"
    rows = [(found, row) for found in tables for row in found.rows]
    columns = {head: [of(found, row) for found, row in rows] for head, of in COLUMNS.items()}
    shown = {head: cells for head, cells in columns.items() if set(cells) != {NONE}}
    parts = [table(list(shown), list(zip(*shown.values(), strict=True))), _ratios(tables), *_notes(report, tables)]
    return "\n\n".join(filter(None, parts))


def _ratios(tables: Sequence[ContestTable]) -> str:
    """Return every contender's speed over each baseline's."""
    lines = []
    for found in tables:
        for row in found.rows:
            for ratio in row.ratios.values():
                p = NONE if ratio.sign_test_p is None else f"{ratio.sign_test_p:.2g}"
                above = f"{ratio.above_1} of {ratio.of}"
                lines.append([found.task, f"{row.contender} / {ratio.baseline}", median_cell(ratio), above, p])
    return table(["task", "ratio of tokens/s", "median [95 %]", "above 1 on", "sign test p"], lines) if lines else ""


def _notes(report: Report, tables: Sequence[ContestTable]) -> Iterator[str]:
    if report.control is not None:
        yield from report.control.notes()
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
    if any(row.equal_quality is not None for found in tables for row in found.rows):
        yield f"Equal quality: {EQUAL_QUALITY}; never said from fewer than {FEWEST_PROMPTS} prompts."
    if all(row.joules_per_token is None for found in tables for row in found.rows):
        yield "Energy: not measured."
    if not report.complete:
        yield "Not complete: some decodes are missing. The same command with --resume continues."


def report_markdown(report: Report, figures: str) -> str:
    """Return the tables, and below the differences of each task; ``figures`` is the address of a page to link to."""
    parts = ["# Evaluation", f"[Figures]({figures})", report_tables(report)]
    for found in report.tables.values():
        compared = [row for row in found.rows if row.difference is not None]
        if compared:
            paired = found.seeds == 1 and any(row.right is not None for row in found.rows)
            mcnemar = ", with one seed the test of McNemar" if paired else ""
            notes = NOTES.format(no_difference=NO_DIFFERENCE, mcnemar=mcnemar)
            heads = ["contender", f"{found.metric} [95 %]", "verdict", "better on", "worse on", "p", "perplexity"]
            lines = [_difference(found, row, row.difference) for row in compared if row.difference is not None]
            parts += [f"## Differences to {found.baselines[0]}: {found.task}", table(heads, lines), notes]
    return "\n\n".join(parts) + "\n"


def _difference(found: ContestTable, row: ContenderRow, one: Difference) -> list[str]:
    ups, downs = (one.above, one.below) if found.higher_is_better else (one.below, one.above)
    p = NONE if one.p is None else f"{one.p:.2g}"
    other = row.perplexity_difference
    perplexity = mean_cell(None if other is None else other.of, 3, signed=True)
    value = of_metric(found, one.of, "points", signed=True)
    return [row.contender, value, verdict(found, one), str(ups), str(downs), p, perplexity]


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


def median_cell(found: Interval | None, digits: int = 2) -> str:
    """Return a median with its interval, or a dash."""
    return NONE if found is None else _interval(found.median, found.low, found.high, digits)


def mean_cell(found: Mean | None, digits: int, signed: bool = False) -> str:
    """Return a mean with its interval, or a dash."""
    return NONE if found is None else _interval(found.mean, found.low, found.high, digits, signed=signed)


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
