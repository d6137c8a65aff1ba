"""Evaluate, Learn and About in a browser, each on its main path; axe-core on every tab, light and dark."""

import json
import re
import zipfile

import pytest

from tests.axe import named, violations
from tests.ui.visit import Visit

pytestmark = pytest.mark.slow

QUESTIONS = [{"prompt": f"Q{place}", "references": ["no", "yes"]} for place in range(3)]
HERE = re.compile(r"(http://(127\.0\.0\.1|localhost):|data:|blob:)")


@pytest.fixture
def visit(browser, address, engine):
    visit = Visit(browser, address)
    yield visit
    engine.release()
    visit.leave()
    assert visit.errors == []
    assert [url for url in visit.asked if not HERE.match(url)] == []


def open_tab(visit: Visit, name: str) -> None:
    visit.page.get_by_role("tab", name=name).click()


def require_clean(visit: Visit) -> None:
    """axe-core finds nothing, light and dark; the theme is then as it was."""
    for is_other_theme in (False, True):
        assert named(violations(visit.page, colours_only=is_other_theme)) == []
        visit.page.click(".theme-switch")


def test_evaluate_starts_stops_goes_on_and_hands_out_its_results(visit, engine, tmp_path):
    """Catches an evaluation that begins again after Stop, that says nothing on its way, or whose file is not whole."""
    page, questions = visit.page, tmp_path / "mine.jsonl"
    questions.write_text("".join(json.dumps(one) + "\n" for one in QUESTIONS), encoding="utf-8")
    open_tab(visit, "Evaluate")
    visit.choose_of("evaluate-task", "Your own file")
    with page.expect_file_chooser() as chooser:
        page.click("#evaluate-upload")
    chooser.value.set_files(questions)
    visit.wait_for("#evaluate-found", "3 questions, with right answers")
    page.locator(".tabitem:visible").get_by_text("More settings").click()
    for name, value in (("questions", "3"), ("tokens", "4")):
        page.fill(f"#evaluate-{name} input[type=number]", value)
        page.keyboard.press("Tab")
    engine.hold(at=3)
    page.click("#evaluate-run")
    visit.wait_for("#evaluate-note", r"2 of 9 decodes\. .+ …")
    assert page.locator("#evaluate-note progress[max='9']").count() == 1
    assert engine.held.wait(60), "the third decode is done, and not shown yet"
    page.click("#evaluate-stop")
    visit.wait_for("#evaluate-note", r"Stopped\. The table holds what was decoded so far\. Press Evaluate again")
    engine.release()
    page.click("#evaluate-run")
    visit.wait_for("#evaluate-note", r"Done\. Every figure")
    first, second = engine.began_at[-2:]
    assert first == 0
    assert second == 3, "what was decoded before Stop is not decoded again"
    rows = page.locator("#evaluate-table tbody tr")
    assert {row.split("\t")[0].strip() for row in rows.all_inner_texts()} == {
        "Beam sampling",
        "DSBD, same law as beam sampling",
        "DSBD, dynamic width",
    }
    page.locator("#evaluate-charts .main-svg").first.wait_for()
    with page.expect_download() as download:
        page.click("#evaluate-file")
    download.value.save_as(tmp_path / "results.zip")
    with zipfile.ZipFile(tmp_path / "results.zip") as archive:
        assert {"evaluation.json", "predictions.jsonl", "report.md"} <= set(archive.namelist())
        assert len(archive.read("predictions.jsonl").splitlines()) == 9
    require_clean(visit)


@pytest.mark.usefixtures("places")
def test_learn_shows_lessons_recordings_and_the_text_to_embed_them(visit):
    """Catches a lesson whose frame stays empty, and a text to paste that is about another page."""
    page = visit.page
    open_tab(visit, "Learn")
    frame = page.frame_locator(".learn-frame")
    frame.locator("svg.dsbd-forest").first.wait_for()
    page.locator("#learn-lessons label").nth(1).click()
    page.wait_for_function("document.querySelector('.learn-frame').src.includes('/lessons/2-')")
    frame.locator("svg.dsbd-forest").first.wait_for()
    assert frame.locator("h1").count() == 1
    page.get_by_role("button", name="Embed this").click()
    page.wait_for_function("document.querySelector('#learn-snippet textarea').value.includes('/lessons/2-')")
    visit.choose_of("learn-recordings", "Toy story")
    page.wait_for_function("document.querySelector('#learn-snippet textarea').value.includes('/forests/toy-story')")
    frame.locator("svg.dsbd-forest").first.wait_for()
    assert page.locator("#learn-lessons input:checked").count() == 0
    with page.expect_download() as download:
        page.get_by_role("link", name="Download as one HTML file").click()
    assert download.value.suggested_filename.endswith(".html")
    require_clean(visit)


def test_about_says_what_runs_here(visit):
    """Catches a fold that stays closed, and a limit or a model that is not named."""
    page = visit.page
    open_tab(visit, "About")
    about = page.locator(".about")
    about.locator(".about-picture svg:visible").first.wait_for()
    for summary in about.locator("details > summary").all():
        summary.click()
    words = about.inner_text()
    for word in ("toy/target", "toy/draft", "DSBD_MAX_NODES", "Model card", "recovered", "Apache-2.0"):
        assert word in words
    assert "Dynamic-Width Speculative Beam Decoding" in page.input_value("#citation textarea")
    require_clean(visit)


def test_race_is_clean_before_its_first_race(visit):
    open_tab(visit, "Race")
    visit.page.locator("#race-stage .race-empty").wait_for()
    require_clean(visit)
