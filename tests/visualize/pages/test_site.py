"""The static site is complete, works from a folder or any file server, and loads nothing from elsewhere."""

import json
import re

import pytest
from playwright.sync_api import expect

import visualize
from dsbd.tracing.trace import Trace
from tests.command_line import run
from tests.visualize.homes import served, visit
from tests.visualize.nasty import nasty_trace
from tests.visualize.toy import toy_trace

TRACE = toy_trace()


@pytest.fixture(scope="module")
def site(tmp_path_factory):
    """Write a site of two traces, one of them with hostile tokens and a hostile file name."""
    folder = tmp_path_factory.mktemp("traces")
    TRACE.save(folder / "1-toy fox.json.gz")
    (folder / "<b>&'Nasty'.json").write_text(json.dumps(nasty_trace().to_dict()))
    (folder / "notes.txt").write_text("not a trace")
    output = folder / "site"
    pages = visualize.export_site(folder, output, title="<i>Forests</i>")
    assert pages == ["index.html", "forests/1-toy-fox.html", "forests/b-nasty.html"]
    html = "".join(file.read_text(encoding="utf-8") for file in output.rglob("*.html"))
    assert not re.search(r'(?:src|href)="https?://', html)
    assert "&lt;iframe src=&quot;b-nasty.html&quot; title=&quot;&amp;lt;b&amp;gt;" in html
    assert "<b>" not in html
    return output


def test_the_index_leads_to_every_viewer(browser, site):
    """Catches dead links, titles that are markup, and a page that needs a server."""
    with visit(browser, site / "index.html") as seen:
        page = seen.page
        expect(page.locator("h1")).to_have_text("<i>Forests</i>")
        assert page.inner_text(".about").startswith("A small model guesses, a large model checks")
        assert page.locator(".cards h3").all_inner_texts() == ["Toy fox", "<b>&'Nasty'"]
        assert page.evaluate("() => [...document.images].every((one) => one.complete && one.naturalWidth > 200)")
        page.click("text=Toy fox")
        (frame,) = seen.drawn()
        expect(frame.locator(".dsbd-sentence")).to_have_text(visualize.scene(TRACE).iterations[0].steps[0].sentence)
        with page.expect_download() as download:
            page.click("text=Download the trace")
        assert Trace.load(download.value.path()) == TRACE
        page.click("text=All decodes and lessons")
        page.wait_for_selector(".cards")
        seen.quiet()


@pytest.mark.slow
@pytest.mark.parametrize("sandbox", ["", 'sandbox="allow-scripts"'])
def test_a_served_page_in_a_frame_is_the_viewer_alone(browser, site, sandbox):
    """Catches links and titles inside an embedded frame, and a policy that a sandboxed frame cannot meet."""
    host = site / "host.html"
    frame = f"<iframe {sandbox} src='forests/1-toy-fox.html' width=1000 height=800></iframe>"
    host.write_text(f"<!doctype html><link rel=icon href='data:,'>{frame}")
    with served(site) as address, visit(browser, address + "host.html") as seen:
        (frame,) = seen.drawn()
        assert not frame.is_visible(".around")
        assert [url for url in seen.outside if not url.startswith(address)] == []
        assert seen.errors == []


def test_the_command_writes_the_site(tmp_path, capsys):
    TRACE.save(tmp_path / "a.json")
    flags = ["--traces", str(tmp_path), "--output", str(tmp_path / "out" / "deep"), "--json"]
    code, out, _ = run(capsys, "site", *flags)
    assert (code, json.loads(out)["pages"]) == (0, ["index.html", "article.html", "forests/a.html"])
