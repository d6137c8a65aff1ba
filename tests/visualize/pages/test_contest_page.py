"""The page of a bench or an evaluation: whole, offline, and plain about what is missing."""

import re
from dataclasses import replace

import pytest

import visualize
from dsbd.evaluation.make_tables import make_table
from tests.evaluation.made_up import made_up_table
from tests.visualize.homes import visit
from tests.watched import UPLOAD
from visualize.figures.evaluation import NOT_MEASURED
from visualize.pages.contest_page import contest_figures, contest_page

EVIL = "</script><script>alert(1)</script>"
TABLE = replace(made_up_table(), note=EVIL, conditions={"machine": {"processor": EVIL}})


@pytest.mark.parametrize(
    ("tables", "said"),
    [
        ({"sql": TABLE, "again": TABLE}, NOT_MEASURED),
        ({"empty": make_table([], task="empty", metric="m"), "sql": TABLE}, "8 questions in 2 clusters"),
    ],
    ids=["two tables", "a task without answers"],
)
def test_the_page_is_whole_and_offline(tables, said):
    """Catches a script of another address, one twice or not at all in a page, and a note that runs."""
    page = contest_page(tables)
    assert EVIL not in page
    assert len(re.findall(r"plotly\.js v\d", page)) == 1
    assert said in page
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(?!data:)', page)


@pytest.mark.slow
def test_the_page_opens_without_an_error(browser, tmp_path):
    visualize.export_contest({"sql": TABLE}, tmp_path / "page.html")
    with visit(browser, tmp_path / "page.html", viewport={"width": 420, "height": 900}) as seen:
        seen.page.wait_for_selector(".js-plotly-plot .main-svg")
        assert seen.page.locator(".js-plotly-plot").count() == sum(bool(one.data) for one in contest_figures(TABLE))
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
        assert seen.page.locator(UPLOAD).count() == 0
        seen.quiet()
