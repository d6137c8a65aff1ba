"""Stand-alone pages: what they carry, what they ask for, several viewers, and stepping by message."""

import re
from types import SimpleNamespace

import pytest
from playwright.sync_api import expect

import visualize
from tests.visualize.homes import hostile_marks, visit
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of
from visualize.pages import page_file
from visualize.pages.compressed import packed
from visualize.pages.trace_page import html_page

TRACE = toy_trace()
SCENE = scene_of("toy")
HOST = """<!doctype html><meta charset="utf-8">
<div id="slide" style="display:none"><iframe id="a" src="viewer.html" width="900" height="700"></iframe></div>
<iframe id="b" srcdoc="<p>a stranger"></iframe>
<script>window.told = []; addEventListener("message", ({data}) => told.push(data));
window.say = (message) => document.getElementById("a").contentWindow.postMessage(message, "*");</script>"""
STRANGER = """() => {
  const other = document.getElementById("b").contentWindow.document, script = other.createElement("script");
  script.textContent = "parent.frames[0].postMessage({dsbd: 'last'}, '*')";
  other.body.append(script);
}"""
"""A foreign frame beside the viewer that tries to step it."""


def test_the_page_names_nothing_outside():
    """Catches token text that ends its element, and an address that the page would load from."""
    page = html_page(scene_of("nasty"))
    assert "alert(1)</script>" not in page
    assert page.count("</script>") == page.count("<script")
    assert re.findall(r"(?:src|href)=\"([^\"]*)\"", page) == ["data:,", "plotly.min.js"]
    assert re.findall(r"https?://[^\"' )]+", page) == []


def test_plotly_is_beside_or_inside(tmp_path):
    """Catches a file that is not written, and a page that has grown."""
    visualize.export_html(TRACE, tmp_path / "beside.html")
    assert (tmp_path / "plotly.min.js").stat().st_size > 1_000_000
    assert (tmp_path / "beside.html").stat().st_size < 150_500
    (tmp_path / "alone").mkdir()
    visualize.export_html(TRACE, tmp_path / "alone" / "inline.html", plotly="inline")
    (inline,) = (tmp_path / "alone").iterdir()
    assert inline.stat().st_size < 2_500_000


def test_a_scene_comes_from_a_trace_a_file_or_a_result(tmp_path):
    TRACE.save(tmp_path / "t.json")
    for source in (tmp_path / "t.json", str(tmp_path / "t.json"), SimpleNamespace(trace=TRACE), SCENE):
        assert visualize.scene(source) == SCENE


@pytest.mark.slow
@pytest.mark.parametrize("plotly", ["beside", "inline"])
def test_several_viewers_share_a_page_and_one_plotly(browser, tmp_path, plotly):
    """Catches viewers that overwrite each other's place in the address, and hostile tokens that run."""
    path = tmp_path / "several.html"
    visualize.export_html([TRACE, nasty_trace(), TRACE], path, plotly=plotly)
    with visit(browser, path, "#iteration=2&step=3") as seen:
        (frame,) = seen.drawn()
        frame.wait_for_function("() => document.querySelectorAll('.dsbd-forest').length === 3")
        frame.evaluate("() => document.querySelectorAll('.dsbd')[1].focus()")
        seen.page.keyboard.press("End")
        first, last = SCENE.iterations[0].steps[0].sentence, SCENE.iterations[0].steps[-1].sentence
        assert frame.locator(".dsbd-sentence").all_inner_texts() == [first, last, first]
        assert seen.page.url.endswith("#iteration=2&step=3")
        assert hostile_marks(frame) == 0
        seen.quiet()


@pytest.mark.slow
def test_the_page_around_a_frame_shows_and_steps_the_viewer(browser, tmp_path):
    """Catches a drawing of no width on a slide that was hidden when it loaded, a slide that cannot step or gets the
    wrong place, and messages that are taken from another sender."""
    visualize.export_html(TRACE, tmp_path / "viewer.html")
    (tmp_path / "host.html").write_text(HOST, encoding="utf-8")
    with visit(browser, tmp_path / "host.html") as seen:
        page, steps = seen.page, len(SCENE.iterations[0].steps)
        page.wait_for_timeout(500)
        page.evaluate("() => { document.getElementById('slide').style.display = 'block'; }")
        (viewer,) = seen.drawn()
        page.wait_for_timeout(200)
        assert viewer.evaluate("() => document.querySelector('.dsbd-forest').getBoundingClientRect().width") > 400

        def after(*message) -> dict:
            asked = dict(zip(("dsbd", "it", "step"), message, strict=False))
            page.evaluate("message => { told.length = 0; say(message); }", asked)
            page.wait_for_function("() => told.length > 0")
            return page.evaluate("() => told[told.length - 1]")

        begin = {"dsbd": "place", "it": 0, "step": 0, "iterations": len(SCENE.iterations), "first": True, "last": False}
        assert after("hello") == begin
        assert after("next") == {**begin, "step": 1, "first": False}
        assert after("goto", 0, steps - 1)["step"] == steps - 1
        assert after("next")["it"] == 1
        assert after("previous") == {**begin, "step": steps - 1, "first": False}
        assert [after(asked)["last"] for asked in ("last", "next")] == [True, True]
        assert [after(asked) for asked in ("first", "previous")] == [begin, begin]
        before = viewer.inner_text(".dsbd-sentence")
        for junk in ({"dsbd": "goto", "it": "<b>", "step": -4}, {"dsbd": "eval"}, {"dsbd": 3}, "dsbd", None, 7):
            page.evaluate("message => say(message)", junk)
        page.evaluate(STRANGER)
        page.wait_for_timeout(200)
        expect(viewer.locator(".dsbd-sentence")).to_have_text(before)
        seen.quiet()


def test_packed_texts_come_back_and_are_inert(browser, tmp_path):
    """Catches padding that is taken for content, and letters that HTML or an attribute would change."""
    texts = ["", "a", "ab", "abc", "abcd", "日本 \u2028 👩‍🚀 </script> & \" '", "x" * 100_000]
    contents = [packed(text) for text in texts]
    assert not set("".join(contents)) & set("&<>\"'\\\n")
    page = tmp_path / "packed.html"
    page.write_text(f"<!doctype html><script>{page_file('unpack.js')}</script>")
    with visit(browser, page) as seen:
        assert seen.page.evaluate("packed => Promise.all(packed.map(dsbdUnpack))", contents) == texts
        seen.quiet()
