"""Stand-alone pages: what they carry, what they ask for, several viewers, and stepping by message."""

import re

import pytest

import visualize
from tests.visualize.homes import hostile_marks, visit
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of
from visualize.pages import page_file
from visualize.pages.compressed import packed
from visualize.pages.plotly_script import cdn_address
from visualize.pages.trace_page import html_page

TRACE = toy_trace()
SCENE = scene_of("toy")


STRANGER = """() => {
  const other = document.getElementById("b").contentWindow.document, script = other.createElement("script");
  script.textContent = "parent.frames[0].postMessage({dsbd: 'last'}, '*')";
  other.body.append(script);
}"""
"""A foreign frame beside the viewer that tries to step it."""


HOST = """<!doctype html><meta charset="utf-8"><iframe id="a" src="viewer.html" width="900" height="700"></iframe>
<iframe id="b" srcdoc="<p>a stranger"></iframe>
<script>window.told = []; addEventListener("message", ({data}) => told.push(data));
window.say = (message) => document.getElementById("a").contentWindow.postMessage(message, "*");</script>"""
KEYS = ("dsbd", "it", "step")


class Result:
    """Looks like the result of a decode."""

    def __init__(self, trace):
        self.trace = trace


def test_the_page_names_nothing_outside():
    """Catches token text that ends its element, and an address that the page would load from."""
    page = html_page(visualize.build_scene(nasty_trace()))
    assert "alert(1)</script>" not in page
    assert page.count("</script>") == page.count("<script")
    assert re.findall(r"(?:src|href)=\"([^\"]*)\"", page) == ["data:,", "plotly.min.js"]
    assert re.findall(r"https?://[^\"' )]+", page) == []


def test_plotly_beside_inside_or_by_wish_from_its_publisher(tmp_path):
    """Catches a default that needs a network, a file that is not written, and a script without its hash."""
    visualize.export_html(TRACE, tmp_path / "beside.html")
    assert (tmp_path / "plotly.min.js").stat().st_size > 1_000_000
    assert (tmp_path / "beside.html").stat().st_size < 120_000
    (tmp_path / "alone").mkdir()
    visualize.export_html(TRACE, tmp_path / "alone" / "inline.html", plotly="inline")
    assert [path.name for path in (tmp_path / "alone").iterdir()] == ["inline.html"]
    assert (tmp_path / "alone" / "inline.html").stat().st_size < 2_500_000
    cdn = html_page(SCENE, plotly="cdn")
    url, integrity = cdn_address()
    assert re.fullmatch(r"https://cdn\.plot\.ly/plotly-\d+\.\d+\.\d+\.min\.js", url)
    assert f'<script src="{url}" integrity="{integrity}" crossorigin="anonymous">' in cdn
    assert re.findall(r"https?://[^\"'; )]+", cdn) == ["https://cdn.plot.ly", url]
    recorded = html_page(scene_of("1-dynamic-width.json.gz"), plotly="cdn")
    assert len(recorded.encode()) <= 120_000  # 64 tokens


def test_a_scene_comes_from_a_trace_a_file_a_result_or_an_iteration(tmp_path):
    TRACE.save(tmp_path / "t.json")
    whole = visualize.scene(TRACE)
    assert visualize.scene(tmp_path / "t.json") == whole == visualize.scene(Result(TRACE)) == visualize.scene(whole)
    assert len(visualize.scene(TRACE.iterations[0]).iterations) == 1


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
        sentences = frame.eval_on_selector_all(".dsbd-sentence", "found => found.map((one) => one.textContent)")
        first, last = SCENE.iterations[0].steps[0].sentence, SCENE.iterations[0].steps[-1].sentence
        assert sentences == [first, last, first]
        assert seen.page.url.endswith("#iteration=2&step=3")
        assert hostile_marks(frame) == 0
        seen.quiet()


@pytest.mark.slow
def test_the_page_around_a_frame_steps_the_viewer(browser, tmp_path):
    """Catches a slide that cannot step or gets the wrong place, and messages that are taken from another sender."""
    visualize.export_html(TRACE, tmp_path / "viewer.html")
    (tmp_path / "host.html").write_text(HOST, encoding="utf-8")
    with visit(browser, tmp_path / "host.html") as seen:
        page, (viewer,) = seen.page, seen.drawn()

        def after(*message) -> dict:
            page.evaluate("message => { told.length = 0; say(message); }", dict(zip(KEYS, message, strict=False)))
            page.wait_for_function("() => told.length > 0")
            return page.evaluate("() => told[told.length - 1]")

        steps = len(SCENE.iterations[0].steps)
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
        assert viewer.inner_text(".dsbd-sentence") == before
        seen.quiet()


def test_a_viewer_that_was_hidden_draws_when_shown(browser, tmp_path):
    """Catches a drawing of no width on a slide that was not on screen when it loaded."""
    visualize.export_html(TRACE, tmp_path / "viewer.html")
    host = tmp_path / "host.html"
    host.write_text(
        "<!doctype html><div id=slide style='display:none'><iframe src=viewer.html width=900 height=700></iframe>",
        encoding="utf-8",
    )
    with visit(browser, host) as seen:
        seen.page.wait_for_timeout(500)
        seen.page.evaluate("() => { document.getElementById('slide').style.display = 'block'; }")
        (viewer,) = seen.drawn()
        seen.page.wait_for_timeout(200)
        assert viewer.evaluate("() => document.querySelector('.dsbd-forest').getBoundingClientRect().width") > 400
        seen.quiet()


@pytest.mark.parametrize("text", ["", "a", "ab", "abc", "abcd", "日本 \u2028 👩‍🚀 </script> & \" '", "x" * 100_000])
def test_a_packed_text_comes_back_and_is_inert(browser, tmp_path, text):
    """Catches padding that is taken for content, and letters that HTML or an attribute would change."""
    content = packed(text)
    assert not set(content) & set("&<>\"'\\\n")
    page = tmp_path / "packed.html"
    page.write_text(f"<!doctype html><p id=packed>{content}</p><script>{page_file('unpack.js')}</script>")
    with visit(browser, page) as seen:
        read = "() => dsbdUnpack(document.getElementById('packed').textContent)"
        assert seen.page.evaluate(read) == text
        seen.quiet()
