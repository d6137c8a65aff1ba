"""A live page decodes in a browser: the story pair, from a click to a trace that Python's audit accepts."""

import json

import pytest
from playwright.sync_api import expect

import dsbd
import visualize
from dsbd.tracing.trace import Trace
from dsbd.util import asset_path
from tests.axe import named, violations
from tests.visualize.homes import served, visit
from visualize.pages.live import FOLDER, LIST, live_files

RECORDED = asset_path("traces") / "1-dynamic-width.json.gz"
LESSON = asset_path("lessons") / "1-speculative-decoding.md"
DONE = "in this browser"


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Return a site with a live page, the lessons and the recording that the page opens with."""
    folder = tmp_path_factory.mktemp("live")
    (folder / "traces").mkdir()
    (folder / "traces" / RECORDED.name).write_bytes(RECORDED.read_bytes())
    visualize.export_site(folder / "traces", folder / "site", lessons=asset_path("lessons"), live=True)
    return folder / "site"


def typed(page, prompt: str, **settings) -> None:
    page.fill(".dsbd-live textarea", prompt)
    for label, value in settings.items():
        page.get_by_label(label.replace("_", " "), exact=True).fill(str(value))


@pytest.mark.slow
def test_a_live_page_decodes(browser, site):
    """Catches every break between the click and the trace; the form repeats the recording that is shown first."""
    with served(site) as address, visit(browser, f"{address}/live.html") as seen:
        page = seen.page
        said = page.locator(".dsbd-live-said")
        page.click(".dsbd-live-run")
        page.click(".dsbd-live-run")
        expect(said).to_have_text("Stopped.")
        page.click(".dsbd-live-run")
        expect(said).to_contain_text(DONE, timeout=120_000)
        expect(page.locator(".dsbd-strip-head")).to_contain_text("passes of the large model instead of")
        with page.expect_download() as saved:
            page.get_by_role("button", name="Save the trace").click()
        trace = Trace.load(saved.value.path())
        expect(page.locator(".dsbd-live-text")).to_contain_text(trace.result.text.strip())
        report = dsbd.verify_trace(trace)
        assert report.passed, report.failure
        assert trace.result.token_ids == Trace.load(RECORDED).result.token_ids
        assert trace.software["generator"].startswith("mt19937")

        typed(page, "   ")
        page.click(".dsbd-live-run")
        expect(said).to_contain_text("Type a few words first")
        typed(page, "A", Seed=-1)
        page.click(".dsbd-live-run")
        expect(said).to_contain_text("Seed is -1; allowed are whole numbers from 0 to")
        typed(page, "\u4e9c\u5516" * 1000, Seed=1)
        page.click(".dsbd-live-run")
        expect(said).to_contain_text("exceeds the context of 2,048 tokens; shorten the prompt or lower New tokens.")
        typed(page, "Once", New_tokens=1500, Seed=1)
        page.click(".dsbd-live-run")
        expect(said).to_contain_text("so far")
        page.click(".dsbd-live-run")
        expect(said).to_have_text("Stopped.")
        expect(page.get_by_role("button", name="Save the trace")).to_be_hidden()
        assert seen.errors == []


@pytest.mark.slow
def test_a_lesson_decodes_and_goes_back(browser, site):
    """Catches a card whose decode stays when the reader turns to the recorded one."""
    with served(site) as address:
        last = len(LESSON.read_text(encoding="utf-8").split("\n## "))
        with visit(browser, f"{address}/lessons/{LESSON.stem}.html#card={last}") as seen:
            page, head = seen.page, seen.page.locator(".dsbd-strip-head")
            recorded = head.text_content()
            page.click(".dsbd-live-run")
            expect(page.locator(".dsbd-live-said")).to_contain_text(DONE, timeout=120_000)
            assert head.text_content() != recorded
            page.click("button.previous")
            expect(head).to_have_text(recorded)
            assert seen.errors == []


@pytest.mark.slow
@pytest.mark.parametrize("theme", ["light", "dark"])
def test_axe_finds_nothing_on_a_live_page(browser, site, theme):
    with served(site) as address, visit(browser, f"{address}/live.html", color_scheme=theme) as seen:
        seen.page.get_by_text("More settings").click()
        assert named(violations(seen.page, ".dsbd-live")) == []


def test_a_file_opened_from_the_disk_says_what_it_needs(browser, site):
    with visit(browser, site / "live.html") as seen:
        expect(seen.page.locator(".dsbd-live-said")).to_contain_text("python -m http.server")
        expect(seen.page.locator(".dsbd-live-run")).to_be_disabled()


def test_a_bare_page_has_a_prompt_and_run(browser, site):
    """Catches a form that takes the slide from the forest."""
    with visit(browser, (site / "live.html").as_uri() + "?bare") as seen:
        expect(seen.page.locator(".dsbd-live textarea")).to_be_visible()
        expect(seen.page.locator(".dsbd-live-run")).to_be_visible()
        expect(
            seen.page.locator(".dsbd-live :is(input, select, details, .dsbd-live-run ~ button):visible")
        ).to_have_count(0)


@pytest.mark.slow
def test_a_closed_off_frame_says_so(browser, site):
    """Catches the browser's own words for a script that such a frame may not load."""
    (site / "closed.html").write_text('<iframe sandbox="allow-scripts" src="live.html"></iframe>')
    with served(site) as address, visit(browser, f"{address}/closed.html") as seen:
        frame = seen.page.frame_locator("iframe")
        frame.locator(".dsbd-live-run").click()
        expect(frame.locator(".dsbd-live-said")).to_contain_text("open the page in a tab of its own")


def test_an_exported_page_has_the_form(tmp_path):
    visualize.export_html(asset_path("traces") / "8-SQL-dynamic-width.json.gz", tmp_path / "page.html", live=True)
    page = (tmp_path / "page.html").read_text(encoding="utf-8")
    data = json.loads(page.partition('<div class="dsbd-live"><script type="application/json">')[2].partition("<")[0])
    assert (data["pair"], data["settings"]["method"]) == ("sql", "dsbd")
    listed = json.loads((tmp_path / FOLDER / LIST).read_text(encoding="utf-8"))["files"]
    assert all((tmp_path / FOLDER / path).stat().st_size == one["bytes"] for path, one in listed.items())
    assert set(live_files()) >= set(listed) | {"worker.js", "live.js"}
