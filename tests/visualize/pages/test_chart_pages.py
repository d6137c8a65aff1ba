"""The pages of a bench and of an evaluation: whole, offline, and plain about what is missing."""

import re
from dataclasses import replace

import pytest

import visualize
from dsbd.evaluation.make_tables import make_table
from tests.evaluation.made_up import made_up_table
from tests.visualize.figures.test_bench import EVIL, summary
from tests.visualize.homes import visit
from tests.watched import UPLOAD
from visualize.figures.evaluation import NOT_MEASURED
from visualize.pages.chart_pages import bench_page, evaluation_page

TABLE = replace(made_up_table(), note=EVIL)
EXPORTS = {
    "bench": lambda path, **how: visualize.export_bench(summary(), path, **how),
    "evaluation": lambda path, **how: visualize.export_evaluation({"sql": TABLE}, path, **how),
}
FIGURES = {"bench": 6, "evaluation": 3}


@pytest.mark.parametrize(
    ("page", "said"),
    [(bench_page(summary()), ["Not measured: energy.", "Not complete"]),
     (evaluation_page({"sql": TABLE, "again": TABLE}), [NOT_MEASURED]),
     (evaluation_page({"empty": make_table([], task="empty", metric="m"), "sql": TABLE}), [])],
    ids=["bench", "two tasks", "a task without answers"],
)  # fmt: skip
def test_the_page_is_whole_and_offline(page, said):
    """Catches a script of another address, one twice or not at all in a page, and a note that runs."""
    assert EVIL not in page
    assert len(re.findall(r"plotly\.js v\d", page)) == 1
    assert all(text in page for text in said)
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(?!data:)', page)


@pytest.mark.parametrize("name", EXPORTS)
def test_plotly_may_stand_beside_the_page(name, tmp_path):
    EXPORTS[name](tmp_path / "page.html", plotly="beside")
    assert (tmp_path / "plotly.min.js").stat().st_size > 1_000_000
    assert (tmp_path / "page.html").stat().st_size < 200_000


@pytest.mark.slow
@pytest.mark.parametrize("name", EXPORTS)
def test_the_page_opens_without_an_error(browser, tmp_path, name):
    EXPORTS[name](tmp_path / "page.html")
    with visit(browser, tmp_path / "page.html", viewport={"width": 420, "height": 900}) as seen:
        seen.page.wait_for_selector(".js-plotly-plot .main-svg")
        assert seen.page.locator(".js-plotly-plot").count() == FIGURES[name]
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
        assert seen.page.locator(UPLOAD).count() == 0
        seen.quiet()
