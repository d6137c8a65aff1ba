"""The address of the page while its models are loaded, and how the page takes it over."""

import json
import subprocess
import sys
from pathlib import Path
from urllib.error import HTTPError
from urllib.request import urlopen

import pytest
from playwright.sync_api import expect
from ui.page import build_page
from ui.starting.door import open_door

from tests.axe import named, violations
from tests.ui.served import served
from tests.watched import Watched

ROOT = Path(__file__).resolve().parents[2]


def test_a_recorded_decode_is_there_before_any_library_is_loaded():
    """Catches an import that makes the first answer wait for Gradio or torch."""
    code = (
        "import sys; from urllib.request import urlopen; from ui.starting.door import open_door\n"
        "with open_door('127.0.0.1', 0) as door:\n"
        "    text = urlopen(f'http://127.0.0.1:{door.port}/').read().decode()\n"
        "assert 'dsbd-scene' in text\n"
        "print(sorted({'torch', 'gradio', 'transformers', 'plotly'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.splitlines()[-1] == "[]"


def test_whoever_asks_for_the_health_hears_that_the_page_starts(capsys):
    """Catches a server in front that sends visitors to a page without models."""
    with open_door("127.0.0.1", 0) as door:
        door.say("Loading the models")
        with pytest.raises(HTTPError) as refused:
            urlopen(f"http://127.0.0.1:{door.port}/gradio_api/dsbd/health")
    assert refused.value.code == 503
    state = json.loads(refused.value.read())
    assert (state["status"], state["doing"]) == ("starting", "Loading the models")
    assert "Loading the models …" in capsys.readouterr().out


@pytest.mark.usefixtures("recorded")
def test_a_run_that_is_pressed_meanwhile_begins_with_the_page(browser, engine):
    """Catches a visitor who must press Run again, or who has to reload the address by hand."""
    with open_door("127.0.0.1", 0) as door:
        visitor = Watched(browser.new_context().new_page())
        visitor.page.goto(f"http://127.0.0.1:{door.port}/")
        expect(visitor.page.locator(".dsbd-node:not([hidden])").first).to_be_visible()
        door.say("Loading the models")
        expect(visitor.page.locator("#starting")).to_contain_text("Loading the models")
        visitor.page.set_viewport_size({"width": 390, "height": 844})
        assert named(violations(visitor.page)) == []
        assert visitor.page.evaluate("document.documentElement.scrollWidth") <= 390
        visitor.page.fill("#prompt", "Once")
        visitor.page.click("#ask button")
        expect(visitor.page.locator("#starting")).to_contain_text("Your run begins")
        door.close()
        with served(build_page(engine), engine, server_port=door.port):
            expect(visitor.page.locator("#note")).to_contain_text("Decoded just now")
            expect(visitor.page.locator("#text .text-prompt")).to_have_text("Once")
            visitor.page.context.close()
