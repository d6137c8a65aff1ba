"""The page as a server, spoken to with raw HTTP: what passes by the queue, who waits, what is refused, what it says."""

import errno
import gzip
import json
import threading
import time
from contextlib import contextmanager

import httpx
import pytest

from tests.toy_pair import toy_pair_on
from tests.visualize.toy import toy_trace
from ui import Engine, build_page, launch_options
from ui.limits import Limits

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


@contextmanager
def served(limits: Limits, recorded):
    """A page of its own: its slow pair, its engine and its address."""
    slow = SlowPair()
    engine = Engine(slow.pair, limits)
    page = build_page(engine)
    _, address, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, **launch_options(engine))
    try:
        yield slow, engine, page, address.rstrip("/")
    finally:
        slow.slow.clear()
        page.close()


@pytest.fixture(scope="module")
def site(recorded):
    with served(Limits(max_waiting=2, uploads_per_hour=5, max_upload_bytes=20_000), recorded) as site:
        yield site


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
            answer = httpx.post(f"{address}/gradio_api/{way}/{function.api_name or 'predict'}", json=body)
            assert answer.status_code == 404
            assert "join the queue" in answer.json()["detail"]


def test_programs_call_through_the_queue(address):
    kind, data = answer_of(address, "decode", "Once upon", {"max_new_tokens": 4})
    assert kind == "complete"
    assert 1 <= len(data[0]["token_ids"]) <= 4


@pytest.mark.parametrize("name", ["decode", "compare"])
def test_a_run_ends_when_its_visitor_leaves(address, site, name):
    """Catches a run that goes on for nobody: the next visitor waits for all of it."""
    slow = site[0]
    slow.slow.set()
    given = ["Once upon", LONG] if name == "decode" else ["Once upon", ["sampling"], 2, LONG]
    left = call(address, name, *given)
    waiting = None
    with httpx.stream("GET", f"{address}/gradio_api/call/{name}/{left}", timeout=PATIENCE_SECONDS):
        before = slow.forwards
        wait_until(lambda: slow.forwards >= before + 2)
        waiting = call(address, "decode", "Once upon", {"max_new_tokens": 1, "method": "greedy"})
    hung_up, since = slow.forwards, time.monotonic()
    kind, _ = heard(address, "decode", waiting)
    assert kind == "complete"
    assert slow.forwards <= hung_up + 8, "the run of the visitor who left went on"
    assert time.monotonic() - since < 100 * SLOW_SECONDS


def test_a_run_ends_at_its_time_limit(recorded):
    with served(Limits(decode_seconds=1), recorded) as (slow, _, _, address):
        slow.slow.set()
        kind, data = answer_of(address, "decode", "Once upon", LONG)
        assert kind == "error"
        assert "DSBD_DECODE_SECONDS" in data["error"]
        assert slow.forwards < 50


@pytest.mark.parametrize(
    ("settings", "named"),
    [
        ({"max_new_tokens": 257}, "max_new_tokens"),
        ({"draft_width": 256, "draft_depth": 32, "cover_width": 256, "max_width": 64}, "nodes"),
        ({"num_beams": 64, "method": "beam_sampling", "max_new_tokens": 100}, "beams"),
        ({"draft_width": 9, "max_width": 64, "max_new_tokens": 100}, "beams"),
    ],
)
def test_both_endpoints_have_the_same_limits(address, site, settings, named):
    """Catches a limit that /compare does not know, and a run that begins before it is refused."""
    before = site[0].forwards
    method = settings.get("method", "dsbd")
    for name, given in (("decode", ["Once", settings]), ("compare", ["Once", [method], 1, settings])):
        kind, data = answer_of(address, name, *given)
        assert kind == "error"
        assert named in data["error"].lower()
        assert "allowed on this page" in data["error"]
    assert site[0].forwards == before


@pytest.mark.parametrize(
    ("name", "data", "said"),
    [
        ("decode", ["Once", ["seed"]], "settings is a list"),
        ("decode", ["Once", "seed"], "settings is a str"),
        ("decode", ["Once", {"seed": None}], "seed is None"),
        ("decode", [7, {}], "prompt is a int"),
        ("compare", ["Once", 5, 1, {}], "methods is a int"),
        ("compare", ["Once", "dsbd", 1, {}], "methods is a str"),
        ("compare", ["Once", [["dsbd"]], 1, {}], "method is ['dsbd']"),
        ("compare", ["Once", ["dsbd"], "many", {}], "runs is 'many'"),
        ("compare", ["Once", ["dsbd"], 99, {}], "runs: 99 asked for"),
    ],
)
def test_malformed_calls_get_a_sentence(address, name, data, said):
    """Catches ``{"error": null}``."""
    kind, answer = answer_of(address, name, *data)
    assert kind == "error"
    assert said.lower() in answer["error"].lower()


def test_half_characters_and_huge_calls_are_refused_in_words(address):
    """Catches a plain 500: what cannot be written as UTF-8 cannot be quoted in an answer either."""
    head = {"content-type": "application/json"}
    half = httpx.post(f"{address}/gradio_api/queue/join", content=b'{"data": ["\\ud800"]}', headers=head)
    assert half.status_code == 400
    assert "surrogate" in half.json()["detail"]
    fox = json.dumps({"data": ["\U0001f98a", {"max_new_tokens": 1}]}).encode()
    whole = httpx.post(f"{address}/gradio_api/call/decode", content=fox, headers=head)
    assert heard(address, "decode", whole.json()["event_id"])[0] == "complete"
    huge = httpx.post(f"{address}/gradio_api/call/decode", content=b'{"data": ["' + b"x" * 2_000_000, headers=head)
    assert huge.status_code == 413


def test_a_full_queue_says_when_to_come_back(address, site):
    """Catches "broke off on the server" where nothing had begun."""
    slow = site[0]
    slow.slow.set()
    running = call(address, "decode", "Once upon", LONG)
    before = slow.forwards
    wait_until(lambda: slow.forwards > before)
    waiting = [call(address, "decode", "Once", {"max_new_tokens": 1}) for _ in range(2)]
    refused = httpx.post(f"{address}/gradio_api/call/decode", json={"data": ["Once", {}]})
    assert refused.status_code == 503
    assert int(refused.headers["retry-after"]) >= 5
    slow.slow.clear()
    for event in (running, *waiting):
        assert heard(address, "decode", event)[0] == "complete"


def upload(address, content, name="mine.json.gz"):
    return httpx.post(f"{address}/gradio_api/upload", files={"files": (name, content)}, timeout=PATIENCE_SECONDS)


def test_uploads_are_bounded(recorded):
    """Catches a visitor who fills the disk with small files."""
    with served(Limits(uploads_per_hour=3, max_upload_bytes=20_000), recorded) as (_, _, _, address):
        assert upload(address, b"x" * 30_000).status_code == 413
        assert upload(address, b"{}").status_code == 200
        assert upload(address, b"{}").status_code == 200
        refused = upload(address, b"{}")
        assert refused.status_code == 429
        assert "as many as this page takes" in refused.text


def test_a_full_disk_is_said(address, monkeypatch):
    """Catches a plain 500 where a file cannot be kept."""

    def full(*_, **__):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("gradio.route_utils.upload_fn", full)
    monkeypatch.setattr("gradio.routes.upload_fn", full)
    refused = upload(address, gzip.compress(toy_trace().dumps(), mtime=0))
    assert refused.status_code == 507
    assert "disk" in refused.text


@pytest.mark.parametrize("path", ["/", "/config", "/dsbd/page.js", "/gradio_api/info", "/nothing-here"])
def test_every_answer_has_its_headers(address, path):
    """Catches a page that may load from elsewhere, or be shown in any frame."""
    headers = httpx.get(address + path).headers
    policy = dict(rule.split(" ", 1) for rule in headers["content-security-policy"].split("; "))
    assert headers["x-content-type-options"] == "nosniff"
    assert policy["default-src"] == "'self'"
    assert policy["frame-ancestors"] == "'self'"
    assert "http" not in headers["content-security-policy"]


def test_embedding_is_a_choice(recorded):
    with served(Limits(frame_ancestors="https://school.example"), recorded) as (*_, address):
        assert "frame-ancestors https://school.example" in httpx.get(address).headers["content-security-policy"]
