"""The row of a long prompt's segments, and what the chosen one recalls."""

import pytest
from playwright.sync_api import expect

import visualize
from tests.axe import serious
from tests.visualize.homes import hostile_marks, viewer
from tests.visualize.remembered import SENSORY, remembered

SAID = ".dsbd-memory-said"

ASIDE = """() => {
  const middle = (cell, part) => {
    const {left, right} = cell.querySelector(`.dsbd-memory-${part}`).getBoundingClientRect();
    return (left + right) / 2;
  };
  const cells = [...document.querySelectorAll(".dsbd-memory-cell:has(.dsbd-memory-bar:not([hidden]))")];
  return Math.max(...cells.map((cell) => Math.abs(middle(cell, "bar") - middle(cell, "box"))));
}"""


@pytest.fixture(scope="module")
def written(tmp_path_factory):
    """Write the page of a trace whose prompt was read into a memory."""
    path = tmp_path_factory.mktemp("memory") / "memory.html"
    visualize.export_html(remembered(), path)
    return path


def cell(page, number: int):
    return page.locator(".dsbd-memory-cell").nth(number - 1)


def bars(page) -> list[float]:
    """Return the height of each bar that is shown, as a share of its room."""
    return page.locator(".dsbd-memory-bar:not([hidden])").evaluate_all(
        "found => found.map((bar) => parseFloat(bar.style.height) / 100)"
    )


def test_the_last_segment_is_chosen_and_says_what_it_recalls(browser, written):
    with viewer(browser, written) as seen:
        page = seen.page
        assert page.inner_text(".dsbd-memory > b") == "A long prompt, read in 10 segments"
        assert cell(page, 10).get_attribute("aria-checked") == "true"
        assert page.inner_text(SAID) == "Segment 10 recalls segment 1 (41\u202f%) and segment 2 (22\u202f%) most."
        recorded = remembered().prompt.memory.segments[-1].weights
        assert bars(page) == pytest.approx(recorded, abs=1e-5)
        assert page.evaluate(ASIDE) <= 1, "each bar stands on its box, also that of the short first segment"
        expect(page.locator(".dsbd-memory-large .dsbd-memory-share")).to_have_text(["41%", "22%"])
        expect(page.locator(".dsbd-memory-box .dsbd-memory-sensory")).to_have_count(2)
        legend = page.inner_text(".dsbd-memory-legend")
        assert "in the window" in legend
        assert f"{SENSORY} tokens of segment 9 again" in legend
        assert "p(next token | memory), not p(next token | whole prompt)" in page.inner_text(".dsbd-memory")
        seen.quiet()


def test_a_click_and_the_arrows_choose_a_segment_and_the_forest_stays(browser, written):
    """Catches an arrow that also turns the step, and a number that belongs to the segment chosen before."""
    with viewer(browser, written, "#iteration=2&step=3") as seen:
        page = seen.page
        before = seen.sentence
        cell(page, 3).click()
        assert page.inner_text(SAID).startswith("Segment 3 recalls segment 1 (65\u202f%) and segment 2 (35\u202f%)")
        assert len(bars(page)) == 2
        page.keyboard.press("ArrowLeft")
        assert page.inner_text(SAID) == "Segment 2 recalls segment 1 (100\u202f%)."
        page.keyboard.press("Home")
        assert page.inner_text(SAID) == "Segment 1 is the first one: there is nothing to recall yet."
        assert bars(page) == []
        page.keyboard.press("ArrowLeft")
        assert cell(page, 1).evaluate("one => one === document.activeElement")
        assert cell(page, 1).get_attribute("aria-label") == "Segment 1: 5 tokens"
        page.keyboard.press("End")
        label = cell(page, 9).get_attribute("aria-label")
        assert label == "Segment 9: 224 tokens, 0\u202f% of what segment 10 recalls"
        assert cell(page, 7).get_attribute("aria-label").endswith("<\u20601\u202f% of what segment 10 recalls")
        assert page.locator(".dsbd-memory-cell[tabindex='0']").count() == 1
        assert seen.sentence == before


def test_the_text_of_a_segment_unfolds_as_text(browser, written):
    with viewer(browser, written) as seen:
        page = seen.page
        cell(page, 2).click()
        fold = page.locator(".dsbd-memory-fold")
        text = page.locator(".dsbd-memory-text")
        assert text.inner_text().startswith("2. </script><img src=x onerror=alert(1)>")
        assert len(text.inner_text()) == 301
        fold.click()
        assert (fold.inner_text(), fold.get_attribute("aria-expanded")) == ("Show less", "true")
        assert len(text.inner_text()) > 600
        cell(page, 3).click()
        assert (fold.inner_text(), fold.get_attribute("aria-expanded")) == ("Show all", "false")
        assert hostile_marks(page) == 0
        seen.quiet()


@pytest.mark.slow
@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_axe_finds_nothing_serious(browser, written, scheme):
    with viewer(browser, written, color_scheme=scheme) as seen:
        page = seen.page
        page.wait_for_selector(f".dsbd[data-theme={scheme}]")
        for number in (10, 4):
            cell(page, number).click()
            assert serious(page, ".dsbd-memory", colours_only=scheme == "dark") == []
