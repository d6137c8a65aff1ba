"""The report of ``eval --report DIR``: one Markdown file, and one page with its figures."""

from pathlib import Path

from dsbd.evaluation.markdown import report_markdown
from dsbd.evaluation.report import Report
from dsbd.measure.bench.json_lines import cannot_write, write_text

REPORT, FIGURES = "report.md", "figures.html"


def write_pages(report: Report, folder: str) -> None:
    """Write ``report.md`` and ``figures.html`` into a folder. Raises: SettingsError where that is impossible."""
    import visualize

    place = Path(folder)
    try:
        place.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(place, error) from None
    write_text(place / REPORT, report_markdown(report.tables, report.complete, FIGURES))
    visualize.export_evaluation(report.tables, place / FIGURES)
