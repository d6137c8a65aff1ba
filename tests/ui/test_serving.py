"""How the page is served: its health address, and all of its addresses below a path of another server."""

import json
import re
import socket
import threading
import time
from contextlib import contextmanager
from copy import copy
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
import uvicorn
from gradio_client import Client
from starlette.applications import Starlette
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import StreamingResponse
from starlette.routing import Route

from dsbd.models.loading import BUNDLED
from dsbd.version import __version__
from tests.toy_pair import toy_pair_on
from tests.ui.served import served
from ui import Engine, build_page
from ui.health import GRACE_SECONDS
from ui.parts.files import FOLDER
from ui.traffic import run_log

ROOT = Path(__file__).resolve().parents[2]
PATH = "/below/here"
PATIENCE_SECONDS = 60


@contextmanager
def proxied(address: str, path: str):
    """Serve ``address`` below a path of another server, which takes the path off, as nginx does. Yields its address."""
    client = httpx.AsyncClient(base_url=address, timeout=PATIENCE_SECONDS)

    async def pass_on(request: Request) -> StreamingResponse:
        headers = [(name, value) for name, value in request.headers.raw if name != b"host"]
        host = (b"x-forwarded-host", request.headers["host"].encode())
        asked = client.build_request(
            request.method,
            httpx.URL(path=request.url.path.removeprefix(path), query=request.url.query.encode()),
            headers=[*headers, host],
            content=await request.body(),
        )
        answer = await client.send(asked, stream=True)
        return StreamingResponse(
            answer.aiter_raw(), answer.status_code, dict(answer.headers), background=BackgroundTask(answer.aclose)
        )

    methods = ["GET", "POST", "HEAD"]
    app = Starlette(routes=[Route(path + "/{rest:path}", pass_on, methods=methods)])
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    server = uvicorn.Server(
        uvicorn.Config(app, host="127.0.0.1", port=port, log_level="warning", timeout_graceful_shutdown=1)
    )
    thread = threading.Thread(target=server.run, daemon=True)
    thread.start()
    while not server.started:
        time.sleep(0.02)
    try:
        yield f"http://127.0.0.1:{port}{path}/"
    finally:
        server.should_exit = True
        thread.join(10)


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


@pytest.fixture(scope="module")
def below(address):
    with proxied(address, PATH) as below:
        yield below


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


def test_a_run_that_hangs_is_not_healthy(address, engine):
    """Catches a container that is kept although nobody will ever be served again."""
    with engine.visitors.run("a visitor", 1.0):
        assert httpx.get(f"{address}health", timeout=PATIENCE_SECONDS).json()["running"] == 1
    with engine.visitors.run("a visitor", -GRACE_SECONDS - 1):
        answer = httpx.get(f"{address}health", timeout=PATIENCE_SECONDS)
    assert answer.status_code == 503
    assert "does not end" in answer.json()["problem"]
    assert "visitor" not in answer.text


def test_a_queue_that_has_stopped_is_not_healthy(address, page, monkeypatch):
    """Catches an answer that only says that the server answers."""
    queue = copy(page._queue)  # the page's own would end for good
    queue.stopped = True
    monkeypatch.setattr(page, "_queue", queue)
    assert httpx.get(f"{address}health", timeout=PATIENCE_SECONDS).status_code == 503


def test_a_model_of_this_machine_is_named_without_its_folder(address, engine, monkeypatch):
    target = replace(engine.pair.target, id="/home/somebody/models/mine")
    monkeypatch.setattr(engine, "pair", replace(engine.pair, target=target))
    assert httpx.get(f"{address}health", timeout=PATIENCE_SECONDS).json()["pair"] == ["mine", "toy/draft"]


def test_every_address_of_the_page_works_below_a_path(below):
    """Catches an address that begins with a slash: it leads out of the path."""
    page = httpx.get(below, timeout=PATIENCE_SECONDS)
    assert page.status_code == 200
    named = re.findall(r'(?:src|href)=\\?"([^"\\]+)', page.text)
    own = {name for name in named if name.startswith(FOLDER)}
    assert any("page.js" in name for name in own)
    for name in own:
        assert httpx.get(httpx.URL(below).join(name), timeout=PATIENCE_SECONDS).status_code == 200, name
    assert [name for name in named if name.startswith("/") and not name.startswith(PATH)] == []
    assert httpx.get(f"{below}health", timeout=PATIENCE_SECONDS).json()["status"] == "ok"
    assert httpx.get(f"{below}config", timeout=PATIENCE_SECONDS).json()["root"] == below.rstrip("/")


def test_programs_call_below_a_path_and_waiting_is_logged(below, capsys):
    run_log.set_up_log("info")
    try:
        client = Client(below, verbose=False)
        answer = client.predict("Once upon", {"max_new_tokens": 3}, api_name="/decode")
    finally:
        said = capsys.readouterr().err
        run_log.set_up_log("off")
    assert 1 <= len(answer["token_ids"]) <= 3
    (line,) = (json.loads(line) for line in said.splitlines() if '"call"' in line)
    assert line["waited"] >= 0
    assert (line["call"], line["outcome"]) == ("decode", "done")
