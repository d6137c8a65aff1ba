"""The Play tab in a browser: the forest on the first screen, the form that follows, links, the keyboard, axe-core."""

import re
from urllib.parse import parse_qsl, urlsplit

import pytest
from playwright.sync_api import expect

from tests.axe import named, violations
from tests.toy_pair import toy_model
from tests.ui.visit import PATIENCE, Visit
from tests.watched import settle

pytestmark = pytest.mark.slow

SIZES = ((1280, 800), (1440, 900), (390, 844))
ARRANGEMENTS = (1280, 390)
"""The widths at which axe-core looks: the style sheets have one rule for all wide screens."""


def form_of(visit: Visit) -> tuple[str, str, str]:
    """Prompt, method and seed, as the form shows them."""
    where = ("#prompt textarea", "#method input", "#field-seed input")
    return tuple(visit.page.input_value(one) for one in where)


@pytest.mark.parametrize("scheme", ["light", "dark"])
def test_the_forest_is_on_the_first_screen_and_axe_finds_nothing(visits, scheme):
    """Catches a forest below the fold, a page that scrolls sideways, and a drawer that hides what it opens from."""
    visit = visits(color_scheme=scheme, reduced_motion="reduce")
    assert visit.page.get_attribute("#forest .dsbd", "data-theme") == scheme
    for width, height in SIZES:
        visit.page.set_viewport_size({"width": width, "height": height})
        settle(visit.page)
        assert visit.page.locator("svg.dsbd-forest").bounding_box()["y"] < height - 120
        assert visit.page.evaluate("document.documentElement.scrollWidth") <= width
        for is_open in (False, True):
            if is_open:
                visit.open_drawer()
            if width in ARRANGEMENTS:
                assert named(violations(visit.page, colours_only=scheme == "dark")) == [], (width, is_open)
        visit.close_drawer()
    visit.page.click(".theme-switch")
    visit.page.wait_for_selector(f"#forest .dsbd:not([data-theme={scheme}])")


def test_by_keyboard_alone(visit):
    """Catches a drawer or a run that only a mouse can reach."""
    visit.page.focus("#prompt textarea")
    visit.page.keyboard.press("Control+A")
    visit.page.keyboard.type("Once upon")
    visit.page.focus(".drawer-switch")
    visit.page.keyboard.press("Enter")
    assert visit.page.get_attribute(".drawer-switch", "aria-expanded") == "true"
    assert visit.page.evaluate("document.activeElement.className") == "drawer-close"
    visit.page.keyboard.press("Escape")
    assert not visit.page.is_visible("#drawer")
    assert "drawer-switch" in visit.page.evaluate("document.activeElement.className")
    visit.page.focus("#prompt textarea")
    visit.page.keyboard.press("Enter")
    visit.wait_for("#note", "Decoded just now")


def test_the_form_follows_and_a_link_restores_it(address, visits, visit, tmp_path):
    """Catches a form that says other settings than the decode above it, and a bad file or link that changes it."""
    opening = form_of(visit)
    visit.open_drawer()
    assert visit.page.is_visible("#field-draft_depth")
    visit.choose("method", "One text: Sampling")
    visit.page.wait_for_selector("#field-draft_depth", state="hidden")
    visit.set_field("max_new_tokens", "12")
    visit.page.fill("#field-seed input", "5")
    visit.run("Once <b>upon</b> & more")
    visit.wait_for("#note", "Decoded just now")
    visit.page.wait_for_function("document.querySelector('#shown input').value.startsWith('Your run 1: Sampling')")
    mine = form_of(visit)
    assert mine == ("Once <b>upon</b> & more", "One text: Sampling", "5")
    visit.open_share()
    visit.page.click("#share")
    visit.page.wait_for_function("location.search.includes('seed=5')")
    link = visit.page.url
    assert dict(parse_qsl(urlsplit(link).query))["prompt"] == mine[0]
    assert dict(parse_qsl(urlsplit(link).query))["pair"] == "toy/target + toy/draft"
    assert visit.page.input_value("#link textarea, #link input") == link
    run = visit.page.input_value("#shown input")
    visit.choose("shown", "Toy story")
    visit.wait_for("#note", "A recorded decode")
    assert form_of(visit) == opening
    visit.choose("shown", run)
    visit.wait_for("#note", "A run of this visit")
    assert form_of(visit) == mine
    bad = tmp_path / "bad.json"
    bad.write_text("{}")
    visit.page.locator("input[type=file]").first.set_input_files(bad)
    visit.wait_for("#said", "Not a trace")
    expect(visit.page.locator("#problem")).to_have_text("")
    assert form_of(visit) == mine
    visit.close_drawer()
    visit.page.click("#python button")
    visit.page.wait_for_function("document.querySelector('#lines textarea')?.value.includes('seed=5')")
    visit.page.click("#go-on")
    visit.page.wait_for_function("document.querySelector('#shown input').value.startsWith('Your run 2')")
    assert form_of(visit)[0].startswith(mine[0])
    assert form_of(visit)[1:] == ("One text: Sampling", "6")
    visit.page.wait_for_function("document.querySelector('#lines textarea')?.value.includes('seed=6')")

    restored = visits(link)
    restored.wait_for("#note", "Decoded just now")
    assert form_of(restored) == mine
    expect(restored.page.locator("#text .text-prompt")).to_have_text(mine[0])
    restored.page.goto(link.replace("seed=5", "seed=-5"))
    restored.wait_for("#problem", "Seed is -5; allowed are")
    assert form_of(restored) == opening
    restored.page.goto(link.replace("toy%2Fdraft", "another"))
    restored.wait_for("#problem", "which this page does not have; it has toy/target")
    assert form_of(restored) == opening
    restored.page.goto(f"{address}?pair=bundled%3Asql&seed=5")
    restored.wait_for("#note", "The link filled in the form. What is shown was made by toy/target")
    first = ("Q: How many old branches are there in each city?\nSQL:", "Several texts: DSBD", "5")
    assert form_of(restored) == first
    restored.open_drawer()
    restored.page.click("#models > button")
    assert restored.page.get_by_label("Questions to SQL (bundled)").is_checked()
    restored.page.get_by_label("toy/target").check()
    restored.wait_for("#note", "A recorded decode")
    assert form_of(restored) == opening


def test_another_pair_and_one_of_one_s_own(visit, toy_folders, tmp_path):
    """Catches a choice that changes the form and not the run, and a failure that takes the page's pair away."""
    expect = pytest.importorskip("playwright.sync_api").expect
    page = visit.page
    page.locator(".drawer-switch").first.click()
    page.click("#models > button")
    page.get_by_label("Questions to SQL (bundled)").check()
    expect(page.locator("#prompt textarea")).to_have_value(re.compile("^Q:"), timeout=PATIENCE)
    expect(page.get_by_role("button", name="Cities")).to_have_count(1)
    toy_model(1, 1).float().save_pretrained(tmp_path)  # without a tokenizer
    for target, words in (
        (str(tmp_path), "tokenizer.*goes on with the pair it had"),
        (toy_folders["target"], "Loaded"),
    ):
        page.locator("#own-target textarea, #own-target input").fill(target)
        page.locator("#own-draft textarea, #own-draft input").fill(toy_folders["draft"])
        page.click("#look")
        page.click("#load")
        visit.wait_for("#models-said", words)
        if words != "Loaded":
            assert page.get_by_label("Questions to SQL (bundled)").is_checked()
    page.get_by_label("Questions to SQL (bundled)").check()
    expect(page.locator("#prompt textarea")).to_have_value(re.compile("^Q:"), timeout=PATIENCE)
    page.click("#drawer .drawer-close")
    page.click("#run")
    expect(page.locator(".running-line")).to_contain_text("SELECT", timeout=PATIENCE)
