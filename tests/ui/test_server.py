"""The page as a server, spoken to with raw HTTP: what passes by the queue, who waits, what is refused, what it says."""

import errno
import json
import math

import httpx
import pytest
import torch

from tests.ui.served import LONG, PATIENCE_SECONDS, SlowPair, answer_of, call, heard, served, wait_until
from ui.engine import Engine
from ui.host.limits import Limits
from ui.page import build_page

WIDE = {"draft_width": 256, "draft_depth": 32, "cover_width": 256, "max_width": 64, "max_new_tokens": 8}
RACE = ["stories", ["dsbd"], 1, 1, None]


@pytest.fixture(scope="module")
def site(recorded):
    slow = SlowPair()
    engine = Engine(slow.pair, Limits(max_waiting=2, uploads_per_hour=4, max_upload_bytes=20_000))
    page = build_page(engine)
    with served(page, engine) as address:
        yield slow, engine, page, address.rstrip("/")
        slow.slow.clear()


@pytest.fixture
def address(site):
    yield site[3]
    site[0].slow.clear()


def posted(address, path, body, kind="application/json", **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": kind, **headers}
    return httpx.post(f"{address}/gradio_api/{path}", content=content, headers=headers, timeout=PATIENCE_SECONDS)


def test_no_handler_passes_by_the_queue(address, site):
    """Catches /run, which outside Spaces serves a handler at once, whatever runs and waits."""
    queued = [function for function in site[2].fns.values() if function.queue]
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
def test_malformed_calls_get_a_sentence(address, site, name, data, said):
    """Catches ``{"error": null}``, a limit that one endpoint does not know, and a run that begins all the same."""
    before = site[0].forwards
    kind, answer = answer_of(address, name, *data)
    assert kind == "error"
    assert said.lower() in answer["error"].lower()
    assert site[0].forwards == before


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"data": ["\\ud800"]}', 400, "surrogate"),
        (b'{"data": [-Infinity]}', 400, "-Infinity"),
        (b'{"data": [' + b"9" * 5000 + b"]}", 400, "digits"),
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


def test_a_full_queue_says_when_to_come_back(address, site):
    """Catches "failed on the server" where nothing had begun."""
    slow = site[0]
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


@pytest.mark.parametrize(
    ("fault", "said"),
    [(torch.cuda.OutOfMemoryError("no memory"), "memory"), (None, "NaN"), (RuntimeError("other"), "server")],
)
def test_each_fault_of_a_model_has_its_own_sentence(address, site, fault, said):
    """Catches one sentence for scores that are no numbers, too little memory and everything else."""

    def breaks(module, given, output):
        if fault is not None:
            raise fault
        output.logits.fill_(math.nan)

    hook = site[0].pair.target.model.register_forward_hook(breaks)
    try:
        kind, answer = answer_of(address, "decode", "Once", {"max_new_tokens": 2, "method": "greedy"})
    finally:
        hook.remove()
    assert kind == "error"
    assert said.lower() in answer["error"].lower()
    assert answer_of(address, "decode", "Once", {"max_new_tokens": 2})[0] == "complete"
