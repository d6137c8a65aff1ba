"""Writes a bench as one stand-alone HTML page: figures, a table, conditions and settings; no network."""

import json
from dataclasses import asdict
from html import escape
from pathlib import Path

from dsbd.measure.bench.records import BenchSummary, bench_summary
from visualize.figures.bench import Summary, bench_figures
from visualize.pages.chart_document import Plotly, chart_document, charts, require_plotly
from visualize.pages.trace_page import write_page

TITLE = "DSBD bench"
COLUMNS = {
    "milliseconds_per_token": ("ms/token", 2),
    "tokens_per_second": ("tokens/s", 1),
    "layers_per_iteration": ("layers/iteration", 2),
    "acceptance_rate": ("acceptance", 2),
    "mean_width": ("mean width", 2),
    "perplexity": ("perplexity", 2),
    "best_log_weight_per_token": ("best log-weight/token", 2),
}

_BODY = """<main>
<h1>{title}</h1>
{notes}
<div class="wide">{table}</div>
{figures}
<details><summary>Conditions and settings</summary><pre>{conditions}</pre></details>
</main>"""


def export_bench(summary: Summary, path: str | Path, *, plotly: Plotly = "inline") -> None:
    """Write the figures of a bench as one HTML file.

    Args:
        summary: a record, or what ``python -m dsbd bench --json`` prints.
        path: the HTML file to write.
        plotly: ``inline`` puts Plotly into the file (about 5 MB); ``beside`` writes ``plotly.min.js`` next to it.

    Example:
        >>> visualize.export_bench(bench, "bench.html")

    Raises:
        TraceError: the file cannot be written.
        ValueError: ``plotly`` is neither of its two values, or the data is no summary of a bench.
    """
    write_page(path, bench_page(summary, plotly=plotly), plotly)


def bench_page(summary: Summary, *, plotly: Plotly = "inline") -> str:
    """Return the page as a string. Raises: ValueError for an unknown ``plotly``, or data that is no summary."""
    require_plotly(plotly)
    bench = bench_summary(summary)
    drawings = bench_figures(bench)
    figures = [figure for figure in drawings.values() if figure.data]
    absent = [name for name, figure in drawings.items() if not figure.data]
    settings = {row.contender: asdict(row.settings) for row in bench.contenders}
    facts = {"conditions": bench.conditions, "settings": settings}
    body = _BODY.format(
        title=TITLE,
        notes="".join(f"<p>{escape(note)}</p>" for note in _notes(bench, absent)),
        table=_table(bench),
        figures=charts(figures, plotly),
        conditions=escape(json.dumps(facts, indent=1, ensure_ascii=False)),
    )
    return chart_document(TITLE, body, plotly)


def _notes(bench: BenchSummary, absent: list[str]) -> list[str]:
    notes = [f"{bench.prompts} prompts × {bench.rounds} runs of each, interleaved after a warm-up."]
    notes += bench.control.notes() if bench.control is not None else []
    if not bench.complete:
        notes.append("Not complete: some runs are missing.")
    if absent:
        notes.append(f"Not measured: {', '.join(absent)}.")
    return [*notes, f"Equal quality: {bench.quality_rule}."]


def _table(bench: BenchSummary) -> str:
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for title, _ in COLUMNS.values())
    rows = []
    for row in bench.contenders:
        cells = "".join(f"<td>{_cell(getattr(row, name), digits)}</td>" for name, (_, digits) in COLUMNS.items())
        rows.append(f'<tr><th scope="row">{escape(row.contender)}</th>{cells}</tr>')
    return f'<table><thead><tr><th scope="col">contender</th>{heads}</tr></thead><tbody>{"".join(rows)}</tbody></table>'


def _cell(value: float | None, digits: int) -> str:
    return "<small>not measured</small>" if value is None else f"{value:.{digits}f}".replace("-", "−")
