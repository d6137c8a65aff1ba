"""The page as a server, spoken to with raw HTTP: what it refuses and says, who waits, its health, and its addresses."""

import errno
import json
import re
from copy import copy
from dataclasses import replace
from pathlib import Path

import httpx
import pytest
from gradio_client import Client
from ui.engine import Engine
from ui.host.limits import Limits
from ui.page import build_page
from ui.parts import files
from ui.parts.files import FOLDER
from ui.serving import GRACE_SECONDS, launch_options

from dsbd.models.loading import BUNDLED
from dsbd.version import __version__
from tests.ui.served import LONG, PATIENCE_SECONDS, SlowPair, answer_of, call, heard, served, wait_until
from ui.traffic import run_log

ROOT = Path(__file__).resolve().parents[2]
PATH = "/below/here"
WIDE = {"draft_width": 256, "draft_depth": 32, "cover_width": 256, "max_width": 64, "max_new_tokens": 8}
RACE = ["stories", ["dsbd"], 1, 1, None]


@pytest.fixture(scope="module")
def slow():
    return SlowPair()


@pytest.fixture(scope="module")
def engine(slow):
    return Engine(slow.pair, Limits(max_waiting=2, uploads_per_hour=4, max_upload_bytes=20_000))


@pytest.fixture(scope="module")
def page(engine, recorded):
    return build_page(engine)


@pytest.fixture(scope="module")
def address(page, engine):
    """Where the page is served that believes to be below ``PATH``."""
    with served(page, engine, root_path=PATH) as address:
        yield address.rstrip("/")


def posted(address, path, body, kind="application/json", **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": kind, **headers}
    return httpx.post(f"{address}/gradio_api/{path}", content=content, headers=headers, timeout=PATIENCE_SECONDS)


def test_no_handler_passes_by_the_queue(address, page):
    """Catches /run, which outside Spaces serves a handler at once, whatever runs and waits."""
    queued = [function for function in page.fns.values() if function.queue]
    assert len(queued) > 5
    for function in queued:
        for way in ("run", "api"):
            body = {"data": [None] * len(function.inputs), "fn_index": function._id, "session_hash": "x"}
            answer = posted(address, f"{way}/{function.api_name or 'predict'}", body)
            assert answer.status_code == 404
            assert "join the queue" in answer.json()["detail"]


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("decode", ["Once", ["seed"]], "settings is a list"),
        ("decode", [7, {}], "prompt is a int"),
        ("decode", [], "0 values and needs 1 to 3 (prompt, settings, pair)"),
        ("decode", ["Once", {}, "page", 1], "4 values and needs 1 to 3"),
        ("decode", ["Once", WIDE], "nodes to score per iteration: "),
        ("evaluate", [*RACE, {"max_new_tokens": 257}], "max_new_tokens: 257 asked for, 256 allowed on this page"),
    ],
)
def test_malformed_calls_get_a_sentence(address, slow, name, data, said):
    """Catches ``{"error": null}``, a limit that one endpoint does not know, and a run that begins all the same."""
    before = slow.forwards
    kind, answer = answer_of(address, name, *data)
    assert kind == "error"
    assert said.lower() in answer["error"].lower()
    assert slow.forwards == before


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"data": ["\\ud800"]}', 400, "surrogate"),
        (b'{"data": [1e999]}', 400, "not finite"),
        (b'{"data": [' + b"9" * 5000 + b"]}", 400, "plain numbers"),
        (b'{"data": ' + b"[" * 40 + b"]" * 40 + b"}", 400, "deeper"),
        (b"\xff", 400, "no JSON"),
        (b'{"data": ["' + b"x" * 5_000_000, 413, "bytes"),
        (b'{"data": [], "fn_index": 9999, "session_hash": "x"}', 400, "no handler"),
        (b'{"data": [], "fn_index": 0, "session_hash": "' + b"x" * 101 + b'"}', 400, "session_hash"),
        (b'{"data": [{"path": "http://127.0.0.1/"}]}', 400, "name what an upload answered"),
    ],
)
def test_a_body_that_no_handler_could_read_is_refused_in_words(address, body, status, said):
    """Catches a plain 500 or a broken connection: Gradio quotes what it refuses, which cannot always be written."""
    refused = posted(address, "queue/join", body)
    assert refused.status_code == status
    assert said in refused.json()["detail"]


@pytest.mark.parametrize("path", ["call/nothing", "component_server"])
def test_names_that_are_not_here_are_said(address, path):
    """Catches a plain 500."""
    body = {"data": [], "unknown": 1, "component_id": 10**6, "session_hash": "x", "fn_name": "load"}
    refused = posted(address, path, body)
    assert refused.status_code == 404
    assert "/gradio_api/info" in refused.json()["detail"]


def test_wrong_headers_are_refused_before_a_run_begins(address):
    """Catches a run that is never answered: Gradio makes the address only after it has taken the call; and a plain 500
    where bytes that are no text are quoted."""
    for name in ("x-forwarded-host", "x-gradio-server", "host"):
        assert posted(address, "call/decode", {"data": ["Once", {}]}, **{name: "a b:99x"}).status_code == 400
    refused = posted(address, "call/decode", b"\xff\x00", "text/plain")
    assert refused.status_code == 415
    assert "application/json" in refused.json()["detail"]


def test_news_of_nobody_come_to_their_end(address, caplog):
    """Catches a connection that breaks in the middle of a sentence, and a log with a traceback for each."""
    for path in ("queue/data?session_hash=nobody", "call/decode/0123abc"):
        assert "404" in httpx.get(f"{address}/gradio_api/{path}", timeout=PATIENCE_SECONDS).text
    assert [one for one in caplog.records if one.exc_info] == []


def test_no_file_of_this_machine_is_read_and_what_is_for_developers_is_closed(address):
    """Catches an address that writes to the disk at every call, or tells how often others call."""
    files = "/etc/passwd", "../../etc/passwd", "http://127.0.0.1:1/"
    for path in (*(f"file={file}" for file in files), "file/etc/passwd", "proxy=http://x"):
        answer = httpx.get(f"{address}/gradio_api/{path}", timeout=PATIENCE_SECONDS)
        assert answer.status_code in (400, 403, 404)
        assert "root:" not in answer.text
    for path in ("/gradio_api/deep_link?session_hash=x", "/gradio_api/dev/reload", "/monitoring"):
        assert httpx.get(address + path, timeout=PATIENCE_SECONDS).status_code == 404


def test_a_full_queue_says_when_to_come_back(address, slow):
    """Catches "failed on the server" where nothing had begun."""
    slow.slow.set()
    running = call(address, "decode", "Once upon", LONG)
    before = slow.forwards
    wait_until(lambda: slow.forwards > before)
    waiting = [call(address, "decode", "Once", {"max_new_tokens": 1}) for _ in range(2)]
    refused = httpx.post(f"{address}/gradio_api/call/decode", json={"data": ["Once", {}]}, timeout=PATIENCE_SECONDS)
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) > 0
    slow.slow.clear()
    for event in (running, *waiting):
        assert heard(address, "decode", event)[0] == "complete"


def test_uploads_are_bounded(address, monkeypatch):
    """Catches a visitor who fills the disk with small files, and a plain 500 where a file cannot be kept."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    def upload(content):
        return httpx.post(f"{address}/gradio_api/upload", files={"files": ("mine.json.gz", content)}, timeout=60)

    assert [upload(content).status_code for content in (b"x" * 30_000, b"{}", b"{}")] == [413, 200, 200]
    with monkeypatch.context() as patch:
        patch.setattr("gradio.routes.upload_fn", full)
        patch.setattr("gradio.route_utils.upload_fn", full)
        refused = upload(b"{}")
        assert refused.status_code == 507
        assert "disk" in refused.text
    refused = upload(b"x" * 15_000_000)
    assert refused.status_code == 429, "it was sent to its end, so that its sender reads the answer"
    assert "as many as this page takes" in refused.text


def test_a_fault_of_a_model_is_a_sentence_and_the_page_goes_on(address, slow):
    """Catches ``{"error": null}``, and a page that needs a restart."""

    def breaks(*_):
        raise RuntimeError("other")

    hook = slow.pair.target.model.register_forward_hook(breaks)
    try:
        kind, answer = answer_of(address, "decode", "Once", {"max_new_tokens": 2, "method": "greedy"})
    finally:
        hook.remove()
    assert (kind, answer["error"]) == ("error", "The call failed: internal server error.")
    assert answer_of(address, "decode", "Once", {"max_new_tokens": 2})[0] == "complete"


def test_a_page_that_can_run_is_healthy(address):
    answer = httpx.get(f"{address}/health", timeout=PATIENCE_SECONDS)
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
    assert httpx.get(f"{address}/{FOLDER}/health", timeout=PATIENCE_SECONDS).json() == answer.json()


def test_a_shared_link_previews_as_this_page(address):
    """Catches Gradio's banner and its address where a link is shared; the first of each name is what is shown."""
    host = {"x-forwarded-host": "school.test", "x-forwarded-proto": "https"}
    page = httpx.get(f"{address}/", headers=host, timeout=PATIENCE_SECONDS).text
    told = re.findall(r'<meta[^>]*(?:property|name)="((?:og|twitter):[\w:]+)"[^>]*?content="([^"]*)"', page)
    assert len(dict(told)) == len(told), "each is said once"
    found = dict(told)
    assert found["og:title"].startswith("DSBD")
    assert "large model checks" in found["og:description"]
    assert found["og:url"] == f"https://school.test{PATH}/"
    assert "radio" not in "".join(found.values()).replace(FOLDER, "")
    picture = httpx.get(f"{address}/" + found["og:image"].removeprefix(found["og:url"]), timeout=PATIENCE_SECONDS)
    assert (picture.status_code, picture.headers["content-type"]) == (200, "image/png")


def test_a_run_that_hangs_is_not_healthy(address, engine):
    """Catches a container that is kept although nobody will ever be served again."""
    with engine.visitors.run("a visitor", 1.0):
        assert httpx.get(f"{address}/health", timeout=PATIENCE_SECONDS).json()["running"] == 1
    with engine.visitors.run("a visitor", -GRACE_SECONDS - 1):
        answer = httpx.get(f"{address}/health", timeout=PATIENCE_SECONDS)
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
    answer = httpx.get(f"{address}/health", timeout=PATIENCE_SECONDS)
    assert (answer.status_code, answer.json()["pair"]) == (503, ["mine", "toy/draft"])


def test_every_address_of_the_page_works_below_a_path(address):
    """Catches an address that begins with a slash: it leads out of the path, which the other server takes off."""
    other = {"x-forwarded-host": "school.example"}
    page = httpx.get(f"{address}/", headers=other, timeout=PATIENCE_SECONDS)
    named = re.findall(r'(?:src|href)=\\?"([^"\\]+)', page.text)
    own = {name for name in named if name.startswith(FOLDER)}
    assert any("page.js" in name for name in own)
    for name in own:
        assert httpx.get(httpx.URL(f"{address}/").join(name), timeout=PATIENCE_SECONDS).status_code == 200, name
    assert [name for name in named if name.startswith("/") and not name.startswith(PATH)] == []
    root = httpx.get(f"{address}/config", headers=other, timeout=PATIENCE_SECONDS).json()["root"]
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
