"""The page as a server, spoken to with raw HTTP: what passes by the queue, who waits, what is refused, what it says."""

import errno
import json
import math
import threading
import time

import httpx
import pytest
import torch

from tests.toy_pair import toy_pair_on
from tests.ui.served import served
from ui.engine import Engine
from ui.host.limits import Limits
from ui.page import build_page

PATIENCE_SECONDS = 60
SLOW_SECONDS = 0.25
LONG = {"method": "sampling", "max_new_tokens": 100}


class SlowPair:
    """A pair whose target takes its time while ``slow`` is set, and counts its forwards."""

    def __init__(self):
        self.pair = toy_pair_on("eager")
        self.slow = threading.Event()
        self.forwards = 0
        self.pair.target.model.register_forward_pre_hook(self._before)

    def _before(self, *_):
        self.forwards += 1
        if self.slow.is_set():
            time.sleep(SLOW_SECONDS)


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


def call(address, name, *data) -> str:
    """Ask for a run. Returns: its event."""
    answer = httpx.post(f"{address}/gradio_api/call/{name}", json={"data": data}, timeout=PATIENCE_SECONDS)
    answer.raise_for_status()
    return answer.json()["event_id"]


def heard(address, name, event):
    """The last event and its data."""
    lines = httpx.get(f"{address}/gradio_api/call/{name}/{event}", timeout=PATIENCE_SECONDS).text.strip().splitlines()
    return lines[-2].removeprefix("event: "), json.loads(lines[-1].removeprefix("data: "))


def answer_of(address, name, *data):
    return heard(address, name, call(address, name, *data))


def wait_until(true):
    end = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


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
    ("settings", "named"),
    [
        ({"max_new_tokens": 257}, "max_new_tokens"),
        ({"max_new_tokens": 99_999}, "max_new_tokens: 99,999 asked for, 256 allowed"),
        ({"draft_width": 256, "draft_depth": 32, "cover_width": 256, "max_width": 64}, "nodes"),
        ({"num_beams": 64, "method": "beam_sampling", "max_new_tokens": 100}, "beams"),
        ({"draft_width": 9, "max_width": 64, "max_new_tokens": 100}, "beams"),
    ],
)
def test_endpoints_have_the_same_limits(address, site, settings, named):
    """Catches a limit that one of them does not know, and a run that begins before it is refused."""
    before = site[0].forwards
    method = settings.get("method", "dsbd")
    for name, given in (("decode", ["Once", settings]), ("evaluate", ["stories", [method], 1, 1, None, settings])):
        kind, data = answer_of(address, name, *given)
        assert kind == "error"
        assert named in data["error"].lower()
        assert "allowed on this page" in data["error"]
    assert site[0].forwards == before


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("decode", ["Once", ["seed"]], "settings is a list"),
        ("decode", ["Once", {"seed": None}], "seed is None"),
        ("decode", [7, {}], "prompt is a int"),
        ("decode", ["Once", {"continuation": 10**400}], "continuation is 1000"),
        ("decode", [], "0 values and needs 1 to 3 (prompt, settings, pair)"),
        ("decode", ["Once", {}, "page", 1], "4 values and needs 1 to 3"),
    ],
)
def test_malformed_calls_get_a_sentence(address, name, data, said):
    """Catches ``{"error": null}``."""
    kind, answer = answer_of(address, name, *data)
    assert kind == "error"
    assert said.lower() in answer["error"].lower()


def posted(address, path, body, kind="application/json", **headers):
    content = body if isinstance(body, bytes) else json.dumps(body).encode()
    headers = {"content-type": kind, **headers}
    return httpx.post(f"{address}/gradio_api/{path}", content=content, headers=headers, timeout=PATIENCE_SECONDS)


@pytest.mark.parametrize(
    ("body", "status", "said"),
    [
        (b'{"data": ["\\ud800"]}', 400, "surrogate"),
        (b'{"data": ["\xed\xa0\x80"]}', 400, "surrogate"),
        (b'{"data": [-Infinity]}', 400, "-Infinity"),
        (b'{"data": [1e999]}', 400, "too large"),
        (b'{"data": [' + b"9" * 5000 + b"]}", 400, "digits"),
        (b"[" * 20_000, 400, "deeper"),
        (b'{"data": ' + b"[" * 40 + b"]" * 40 + b"}", 400, "deeper"),
        (b"\xff", 400, "no JSON"),
        (b"[]", 400, "no JSON object"),
        (b'{"data": ["' + b"x" * 5_000_000, 413, "bytes"),
        (b'{"data": [], "fn_index": 9999, "session_hash": "x"}', 400, "no handler"),
        (b'{"data": [], "fn_index": true, "session_hash": "x"}', 400, "no handler"),
        (b'{"data": [], "fn_index": 0, "session_hash": "' + b"x" * 101 + b'"}', 400, "session_hash"),
        (b'{"data": [{"path": "http://127.0.0.1/"}]}', 400, "name what an upload answered"),
    ],
)
@pytest.mark.parametrize("path", ["queue/join", "call/decode", "cancel"])
def test_a_body_that_no_handler_could_read_is_refused_in_words(address, path, body, status, said):
    """Catches a plain 500 or a broken connection: Gradio quotes what it refuses, which cannot always be written."""
    refused = posted(address, path, body)
    assert refused.status_code == status
    assert said in refused.json()["detail"]


@pytest.mark.parametrize("path", ["call/nothing", "call/v2/nothing", "call/v2/decode", "component_server"])
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
    assert int(refused.headers["retry-after"]) >= 5
    slow.slow.clear()
    for event in (running, *waiting):
        assert heard(address, "decode", event)[0] == "complete"


def upload(address, content):
    return httpx.post(f"{address}/gradio_api/upload", files={"files": ("mine.json.gz", content)}, timeout=60)


def test_uploads_are_bounded(address, monkeypatch):
    """Catches a visitor who fills the disk with small files, and a plain 500 where a file cannot be kept."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    assert upload(address, b"x" * 30_000).status_code == 413
    assert upload(address, b"{}").status_code == 200
    assert upload(address, b"{}").status_code == 200
    with monkeypatch.context() as patch:
        patch.setattr("gradio.routes.upload_fn", full)
        patch.setattr("gradio.route_utils.upload_fn", full)
        refused = upload(address, b"{}")
        assert refused.status_code == 507
        assert "disk" in refused.text
    refused = upload(address, b"x" * 15_000_000)
    assert refused.status_code == 429, "it was sent to its end, so that its sender reads the answer"
    assert "as many as this page takes" in refused.text


@pytest.mark.parametrize("path", ["/", "/config", "/gradio_api/dsbd/page.js", "/gradio_api/info", "/nothing-here"])
def test_every_answer_has_its_headers(address, path):
    """Catches a page that may load from elsewhere, or be shown in any frame."""
    headers = httpx.get(address + path, timeout=PATIENCE_SECONDS).headers
    policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert headers["x-content-type-options"] == "nosniff"
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'self'"
    assert "http" not in headers["content-security-policy"]


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
