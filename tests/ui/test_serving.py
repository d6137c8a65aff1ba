"""How the page is served: its endpoints, its health, its addresses below a path, and nothing from elsewhere."""

import json
import re
from copy import copy
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from gradio_client import Client

from dsbd.models.loading import BUNDLED
from dsbd.version import __version__
from tests.toy_pair import toy_pair_on
from tests.ui.served import PATIENCE_SECONDS, served
from ui.engine import Engine
from ui.page import build_page
from ui.parts import files
from ui.parts.files import FOLDER
from ui.serving import GRACE_SECONDS, launch_options
from ui.traffic import run_log

ROOT = Path(__file__).resolve().parents[2]
PATH = "/below/here"


@pytest.fixture(scope="module")
def engine():
    return Engine(toy_pair_on("eager"))


@pytest.fixture(scope="module")
def page(engine, recorded):
    return build_page(engine)


@pytest.fixture(scope="module")
def address(page, engine):
    """Where the page is served that believes to be below ``PATH``."""
    with served(page, engine, root_path=PATH) as address:
        yield address


def test_a_page_that_can_run_is_healthy(address):
    answer = httpx.get(f"{address}health", timeout=PATIENCE_SECONDS)
    assert answer.status_code == 200
    assert answer.json() == {
        "status": "ok",
        "pair": ["toy/target", "toy/draft"],
        "version": __version__,
        "running": 0,
        "waiting": 0,
    }
    (told,) = re.findall(r"```json\n(.*)\n```\n\n## Log", (ROOT / "docs" / "hosting.md").read_text(encoding="utf-8"))
    assert json.loads(told).keys() == answer.json().keys()
    assert json.loads(told)["pair"] == [f"{BUNDLED}/target", f"{BUNDLED}/draft"]
    assert answer.headers["cache-control"] == "no-store"
    assert httpx.get(f"{address}{FOLDER}/health", timeout=PATIENCE_SECONDS).json() == answer.json()


def test_a_shared_link_previews_as_this_page(address):
    """Catches Gradio's banner and its address where a link is shared; the first of each name is what is shown."""
    host = {"x-forwarded-host": "school.test", "x-forwarded-proto": "https"}
    page = httpx.get(address, headers=host, timeout=PATIENCE_SECONDS).text
    told = re.findall(r'<meta[^>]*(?:property|name)="((?:og|twitter):[\w:]+)"[^>]*?content="([^"]*)"', page)
    assert len(dict(told)) == len(told), "each is said once"
    found = dict(told)
    assert found["og:title"].startswith("DSBD")
    assert "large model checks" in found["og:description"]
    assert found["og:url"] == f"https://school.test{PATH}/"
    assert "radio" not in "".join(found.values()).replace(FOLDER, "")
    picture = httpx.get(address + found["og:image"].removeprefix(found["og:url"]), timeout=PATIENCE_SECONDS)
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")


def test_a_run_that_hangs_is_not_healthy(address, engine):
    """Catches a container that is kept although nobody will ever be served again."""
    with engine.visitors.run("a visitor", 1.0):
        assert httpx.get(f"{address}health", timeout=PATIENCE_SECONDS).json()["running"] == 1
    with engine.visitors.run("a visitor", -GRACE_SECONDS - 1):
        answer = httpx.get(f"{address}health", timeout=PATIENCE_SECONDS)
    assert answer.status_code == 503
    assert "does not end" in answer.json()["problem"]
    assert "visitor" not in answer.text


def test_a_queue_that_has_stopped_is_not_healthy(address, page, engine, monkeypatch):
    """Catches an answer that only says that the server answers, and one that names a folder of this machine."""
    queue = copy(page._queue)  # the page's own would end for good
    queue.stopped = True
    monkeypatch.setattr(page, "_queue", queue)
    target = replace(engine.pair.target, id="/home/somebody/models/mine")
    monkeypatch.setattr(engine, "pair", replace(engine.pair, target=target))
    answer = httpx.get(f"{address}health", timeout=PATIENCE_SECONDS)
    assert (answer.status_code, answer.json()["pair"]) == (503, ["mine", "toy/draft"])


def test_every_address_of_the_page_works_below_a_path(address):
    """Catches an address that begins with a slash: it leads out of the path, which the other server takes off."""
    other = {"x-forwarded-host": "school.example"}
    page = httpx.get(address, headers=other, timeout=PATIENCE_SECONDS)
    named = re.findall(r'(?:src|href)=\\?"([^"\\]+)', page.text)
    own = {name for name in named if name.startswith(FOLDER)}
    assert any("page.js" in name for name in own)
    for name in own:
        assert httpx.get(httpx.URL(address).join(name), timeout=PATIENCE_SECONDS).status_code == 200, name
    assert [name for name in named if name.startswith("/") and not name.startswith(PATH)] == []
    root = httpx.get(f"{address}config", headers=other, timeout=PATIENCE_SECONDS).json()["root"]
    assert root == f"http://school.example{PATH}"


def test_waiting_is_logged(address, capsys):
    run_log.set_up_log("info")
    try:
        answer = Client(address, verbose=False).predict("Once upon", {"max_new_tokens": 3}, api_name="/decode")
    finally:
        said = capsys.readouterr().err
        run_log.set_up_log("off")
    assert 1 <= len(answer["token_ids"]) <= 3
    (line,) = (json.loads(line) for line in said.splitlines() if '"call"' in line)
    assert line["waited"] >= 0
    assert (line["call"], line["outcome"]) == ("decode", "done")


def test_the_page_asks_no_one(page, engine):
    """Fonts, scripts and telemetry from elsewhere are what a page without network must not have."""
    options = launch_options(engine)
    everything = json.dumps(page.get_config_file(), default=str) + options["head"] + files.page_script()
    assert page.analytics_enabled is False
    assert str(files.viewer_assets()["plotly_js_path"]) not in everything, "a file of this machine"
    assert "fonts.googleapis" not in everything
    assert 'src="http' not in everything
    assert not [sheet for sheet in options["theme"]._stylesheets if "http" in sheet]
