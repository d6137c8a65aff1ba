"""The article: cards scroll past one viewer; its numbers are those of the trace; paper and noscript show it too."""

import re

import pytest
from playwright.sync_api import expect

import visualize
from dsbd.assets import asset_path
from tests.axe import serious
from tests.command_line import refused
from tests.visualize.homes import visit
from tests.visualize.toy import toy_trace
from visualize.pages.lesson import read_lesson
from visualize.scenes.source import scene_of

COVERED = """() => [...document.querySelectorAll("main article")].flatMap((card) => {
  const one = card.getBoundingClientRect(), other = document.querySelector(".dsbd-body").getBoundingClientRect();
  const [x, y] = [Math.max(one.left, other.left) + 20, Math.max(one.top, other.top) + 20];
  const isOver = x < Math.min(one.right, other.right) && y < Math.min(one.bottom, other.bottom);
  return isOver && card.contains(document.elementFromPoint(x, y)) ? [card.innerText] : [];
})"""
ARTICLE = read_lesson(asset_path("article/article.md"))
SCROLL = """([at, share]) => scrollBy(0,
    document.querySelectorAll('main article')[at].getBoundingClientRect().top - share * innerHeight)"""


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    folder = tmp_path_factory.mktemp("article")
    toy_trace().save(folder / "toy.json.gz")
    visualize.export_site(folder, folder / "site", article=ARTICLE.path)
    return folder / "site"


def test_its_numbers_are_those_of_the_trace():
    """Catches an article about a trace that was recorded again."""
    scene, text = scene_of(ARTICLE.trace, "en"), " ".join(card.text for card in ARTICLE.cards)
    passes, tokens = len(scene.iterations), scene.whole.bands[-1].last
    assert f"these {tokens} tokens take it **{tokens} passes**" in text
    assert f"take **{passes} passes** instead of {tokens}" in " ".join(text.split())
    width, won = (card.position for card in ARTICLE.cards if card.title in ("The width", "One pass"))
    assert "keep 3" in scene.iterations[width.it].steps[width.step].sentence
    assert "moved the text on by 5 tokens" in scene.iterations[won.it].steps[won.step].sentence


@pytest.mark.slow
@pytest.mark.parametrize(("width", "height", "scheme", "share"), [(1280, 800, "light", 0.2), (390, 844, "dark", 0.57)])
def test_the_forest_changes_as_one_scrolls(browser, site, width, height, scheme, share):
    """Catches a card that shows another place or covers the forest, and a page that scrolls sideways."""
    viewport = {"width": width, "height": height}
    with visit(browser, site / "article.html", viewport=viewport, color_scheme=scheme) as seen:
        page = seen.page
        page.wait_for_selector(".dsbd-forest .dsbd-node:not([hidden])", state="attached")
        expect(page.locator(".cut .dsbd-cut-field").first).to_be_attached()
        for at, card in enumerate(card for card in ARTICLE.cards if "lab" not in card.blocks):
            page.evaluate(SCROLL, [at, share])
            expect(page.locator(".dsbd-lanes")).to_be_visible(visible="lanes" in card.blocks)
            expect(page.locator(".dsbd-scroller")).to_be_visible(visible="lanes" not in card.blocks)
            if card.position:
                place = f"Forest of pass {card.position.it + 1}: "
                expect(page.locator(".dsbd-forest")).to_have_attribute("aria-label", re.compile(f"^{place}"))
            drawn = page.locator(".dsbd-lanes" if "lanes" in card.blocks else ".dsbd-scroller")
            expect(drawn).to_be_in_viewport(
                ratio=0.45 if "lanes" in card.blocks else 0.95
            )  # one of two lanes may be clipped
            assert page.evaluate(COVERED) == []
            expect(page.locator("main article").nth(at).locator(".text").first).to_be_in_viewport(ratio=1)
        assert page.evaluate("() => document.documentElement.scrollWidth <= innerWidth")
        seen.quiet()  # axe-core asks for the style sheet itself, which the page forbids
        assert serious(page) == []
        page.click("text=All decodes and lessons")
        expect(page.locator(".first a")).to_have_text(ARTICLE.title)


@pytest.mark.slow
def test_paper_and_a_browser_without_scripts_show_text_and_pictures(browser, site):
    with visit(browser, site / "article.html", java_script_enabled=False) as seen:
        require_readable(seen.page)
    with visit(browser, site / "article.html", reduced_motion="reduce") as seen:
        seen.page.wait_for_selector("html.live .dsbd-lanes")
        seen.page.emulate_media(media="print")
        require_readable(seen.page)


def require_readable(page) -> None:
    assert page.locator("article h2:visible").count() == len(ARTICLE.cards)
    assert page.locator("article .lanes:visible").count() == sum("lanes" in card.blocks for card in ARTICLE.cards)
    assert page.locator("article .still:visible").count() >= 5
    expect(page.locator(".forest")).to_be_hidden()
    expect(page.locator(".lab-instead")).to_be_visible()


@pytest.mark.parametrize("live", [False, True])
def test_the_live_page_is_linked_where_it_is(tmp_path, live):
    toy_trace().save(tmp_path / "toy.json.gz")
    visualize.export_site(tmp_path, tmp_path / "site", article=ARTICLE.path, live=live)
    assert ("live.html" in (tmp_path / "site" / "article.html").read_text(encoding="utf-8")) == live


def test_an_article_asks_nothing(tmp_path, capsys):
    toy_trace().save(tmp_path / "t.json")
    (tmp_path / "asks.md").write_text("---\ntitle: T\ntrace: t.json\n---\n## A\n\n- [x] one\n- [ ] two\n")
    flags = ["--traces", str(tmp_path), "--article", str(tmp_path / "asks.md"), "--output", str(tmp_path / "site")]
    assert "asks.md, line 5: an article asks nothing" in refused(capsys, "site", *flags)
