"""The Learn tab: lessons and recordings as pages of this server, with no model, and the texts to embed them."""

import re

import httpx
import pytest

from ui import learn, learn_site


@pytest.fixture(autouse=True)
def places(recorded, monkeypatch):
    """The bundled lessons and the toy's recording."""
    learn_site.places.cache_clear()
    yield learn_site.places()
    learn_site.places.cache_clear()


def test_every_lesson_and_recording_can_be_chosen(places):
    lessons, recordings = learn.choices(lessons=True), learn.choices(lessons=False)
    assert len(lessons) == 5
    assert recordings == [("Toy story", "forests/toy-story.html")]
    assert lessons[0] == ("1 Beam sampling", "lessons/1-beam-sampling.html")


def test_a_lesson_stands_in_a_frame_with_its_links():
    shown = learn.stage("lessons/1-beam-sampling.html")
    assert 'src="gradio_api/dsbd/learn/lessons/1-beam-sampling.html"' in shown
    assert 'href="gradio_api/dsbd/learn/whole/1-beam-sampling.html" download' in shown
    assert "forest-toy-story.html" in learn.stage("forests/toy-story.html")


@pytest.mark.parametrize("page", ["../../etc/passwd", "<script>", None, 3, ["lessons"], {}])
def test_what_is_no_lesson_is_never_shown(page):
    assert learn.stage(page) == '<p class="said">There is no such lesson or recording.</p>'
    assert learn.snippet(page, "iframe", None) == ""


@pytest.mark.parametrize("kind", [kind for _, kind in learn.kinds()])
def test_a_snippet_names_the_page_where_it_is(kind):
    text = learn.snippet("lessons/1-beam-sampling.html", kind, "https://school.test/dsbd/?prompt=x#y")
    assert "https://school.test/dsbd/gradio_api/dsbd/learn/lessons/1-beam-sampling.html" in text
    assert "prompt=x" not in text


@pytest.mark.parametrize("address", [None, "", "javascript:alert(1)", "http://[", "http://a b/", "file:///etc"])
def test_an_address_that_is_none_is_replaced(address):
    text = learn.snippet("lessons/1-beam-sampling.html", "iframe", address)
    assert "https://example.org/gradio_api/dsbd/learn/" in text


def test_an_unknown_kind_gives_nothing():
    assert learn.snippet("lessons/1-beam-sampling.html", "pdf", None) == ""
    assert learn.snippet("lessons/1-beam-sampling.html", {}, None) == ""


@pytest.mark.slow
def test_the_pages_are_served_in_the_headers_of_this_server(address, recorded, monkeypatch):
    """Catches a route that hands out other files, and a page that its own headers forbid."""
    monkeypatch.setattr(learn_site, "asset_path", lambda name="": _assets(recorded, name))
    learn_site._home.cache_clear()
    with httpx.Client(base_url=f"{address}gradio_api/dsbd/learn/") as site:
        lesson = site.get("lessons/1-beam-sampling.html")
        assert lesson.status_code == 200
        assert "'self'" in re.search("frame-ancestors ([^;]*)", lesson.headers["content-security-policy"])[1]
        for file in ("../viewer/style.css", "../viewer/viewer.js", "../viewer/plotly.min.js"):
            assert file in lesson.text
            assert site.get(file.removeprefix("../")).status_code == 200
        whole = site.get("whole/1-beam-sampling.html")
        assert whole.headers["content-disposition"].startswith("attachment")
        assert 'src="http' not in whole.text
        assert site.get("forests/toy-story.json.gz").status_code == 200
        for wrong in ("whole/x.html", "lessons/none.html", "..%2f..%2fetc%2fpasswd", "%2e%2e/index.html", "lessons"):
            assert site.get(wrong).status_code in (404, 400)
    learn_site._home.cache_clear()


def _assets(recorded, name):
    from dsbd.assets import asset_path

    return asset_path(name) if name.startswith("lessons") else recorded / name
