"""The page of an evaluation: whole, offline, and plain about what is missing."""

import json
import re
from dataclasses import replace

import pytest

import visualize
from dsbd.evaluation.make_tables import make_table
from tests.evaluation.made_up import made_up_table
from tests.visualize.homes import visit
from visualize.figures.evaluation import NOT_MEASURED
from visualize.pages.evaluation_page import MOST_ROWS, evaluation_figures, evaluation_page

EVIL = "</script><script>alert(1)</script>"
TABLE = replace(made_up_table(), note=EVIL)
SCRIPT = re.compile(r"plotly\.js v\d")


def test_the_page_is_whole_and_offline(tmp_path):
    """Catches a script of another address, a script twice in one page, and a task's note that runs."""
    page = evaluation_page({"sql": TABLE, "again": TABLE})
    assert EVIL not in page
    assert len(SCRIPT.findall(page)) == 1
    assert page.count(NOT_MEASURED) == 2
    assert not re.findall(r'<(?:script|link|img)[^>]+(?:src|href)="(?!data:)', page)
    visualize.export_evaluation({"sql": TABLE}, tmp_path / "evaluation.html", plotly="beside")
    assert (tmp_path / "plotly.min.js").stat().st_size > 1_000_000
    assert len((tmp_path / "evaluation.html").read_text(encoding="utf-8")) < 200_000


def test_a_task_without_answers_does_not_take_the_script_away():
    """Catches a page whose first task has no figure, and with it no script."""
    page = evaluation_page({"empty": make_table([], task="empty", metric="m"), "sql": TABLE})
    assert len(SCRIPT.findall(page)) == 1


def test_plain_data_makes_the_same_figures():
    plain = json.loads(json.dumps(TABLE.to_dict()))
    counts = [evaluation_page({"sql": one}, plotly="beside").count("plotly-graph-div") for one in (plain, TABLE)]
    assert counts == [4, 4]


def test_a_grid_has_no_figure_with_a_row_for_each_point():
    """Catches a figure of 165 rows."""
    many = replace(TABLE, rows=tuple(TABLE.rows[0] for _ in range(MOST_ROWS + 1)))
    assert len(evaluation_figures(many)) == len(evaluation_figures(TABLE)) - 1


@pytest.mark.slow
def test_the_page_opens_without_an_error(browser, tmp_path):
    visualize.export_evaluation({"sql": TABLE}, tmp_path / "evaluation.html")
    with visit(browser, tmp_path / "evaluation.html", viewport={"width": 900, "height": 900}) as seen:
        seen.page.wait_for_selector(".js-plotly-plot .main-svg")
        assert seen.page.locator(".js-plotly-plot").count() == 4
        assert seen.page.evaluate("document.documentElement.scrollWidth <= innerWidth + 1")
        seen.quiet()
