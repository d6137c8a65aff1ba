"""The middleware: which requests pass, and that the real page refuses the same."""

import json
import re
import socket
from concurrent.futures import ThreadPoolExecutor
from copy import copy
from types import SimpleNamespace

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from tests.page.conftest import SHORT, PacedRunner, served, toy_pairs, wait_until
from visualize.page import middleware
from visualize.page.limits import Limits
from visualize.page.middleware import MAX_BYTES, MAX_DEPTH, MAX_MARKS, GuardMiddleware, forget_unheard
from visualize.page.page import TITLE

JSON = {"content-type": "application/json"}
CALL = "/gradio_api/call/decode"
LESSON = "/gradio_api/dsbd/learn/lessons/x.html"
FOREIGN = "http://foreign.example/page.html"
CLOSED = [
    f"/gradio_api/file={FOREIGN}", f"/gradio_api/file%3D{FOREIGN}", "/gradio_api/file%253Dhttp%253A%252F%252Fx.example",
    "/gradio_api/%66ile=/etc/passwd", "/gradio_api//file=/etc/passwd", "/gradio_api/file=/etc/passwd/",
    "/gradio_api/dsbd/../file=/etc/passwd", "/gradio_api/dsbd/%2e%2e/file=/etc/passwd", "/file=/etc/passwd",
    "//gradio_api/file=/etc/passwd", "/GRADIO_API/file=/etc/passwd", "/gradio_api/file/x", "/file/x",
    f"/gradio_api/proxy={FOREIGN}", f"/proxy={FOREIGN}", "/gradio_api/upload", "/gradio_api/upload/",
    "/gradio_api/upload_progress?upload_id=x", "/upload", "/monitoring", "/monitoring/summary", "/monitoring/x",
    "/gradio_api/dev/reload", "/gradio_api/deep_link?session_hash=x", "/gradio_api/runs", "/gradio_api/run/decode",
    "/gradio_api/api/decode", "/gradio_api/stream/x", "/gradio_api/process_recording", "/gradio_api/vibe-code/",
    "/gradio_api/custom_component/a/b/c/d", "/login", "/logout", "/pwa_icon", "/docs", "/openapi.json",
    "/%252563onfig", "/" + "%25" * 999,
    "/gradio_api/openapi.json", "/gradio_api/component_server", "/gradio_api/mcpx", "/gradio_api/infox",
    "/gradio_api/mcp/sse", "/gradio_api/mcp/messages", "/gradio_api/call/nope", "/gradio_api/call/v2/decode",
    "/gradio_api/call/v2/nope", "/gradio_api/heartbeat/" + "x" * 65, f"{CALL}/" + "x" * 65, "/assets/" + "x" * 5000,
]  # fmt: skip
OPEN_ONES = [
    "/", "/?prompt=Once", "/config", "/theme.css", "/favicon.ico", "/manifest.json", "/assets/index.js", "/health",
    "/static/img/logo.svg", "/gradio_api/info", "/gradio_api/app_id", "/gradio_api/startup-events",
    "/gradio_api/dsbd/page.js", LESSON, "/gradio_api/queue/data?session_hash=x", "/gradio_api/heartbeat/x1",
    f"{CALL}/event", "/gradio_api/mcp/", "/gradio_api/mcp", "/gradio_api/mcp/schema",
]  # fmt: skip
JOIN, CANCEL = "/gradio_api/queue/join", "/gradio_api/cancel"
JOINED = {"data": [], "fn_index": 1, "session_hash": "x", "trigger_id": None, "event_data": None}
CANCELLED = {"event_id": "x", "fn_index": 1, "session_hash": "x"}
CALLS = {
    CALL: {"data": []}, JOIN: JOINED, "/gradio_api/run/predict": JOINED, CANCEL: CANCELLED,
    "/gradio_api/reset": {"event_id": "x"}, "/gradio_api/mcp/": {},
}  # fmt: skip


def queue_of(ended: list[str], alive: list[str] = ()) -> SimpleNamespace:
    """What Gradio's queue keeps of sessions."""
    names = [*ended, *alive]
    return SimpleNamespace(
        pending_messages_per_session=dict.fromkeys(names), pending_event_ids_session={name: set() for name in names},
        event_ids_to_events={name: SimpleNamespace(session_hash=name) for name in alive},
    )  # fmt: skip


def guard(is_private=False, root_path="", **limits) -> TestClient:
    app = GuardMiddleware(PlainTextResponse("taken"), Limits(**limits), is_private, root_path)
    functions = {0: SimpleNamespace(fn=None), 1: SimpleNamespace(fn=print)}
    blocks = SimpleNamespace(_queue=queue_of(["x", "event"]), fns=functions)
    page = SimpleNamespace(get_blocks=lambda: blocks)

    async def in_page(scope, receive, send):
        await app(scope | {"app": page}, receive, send)

    return TestClient(in_page, base_url="http://127.0.0.1:7860")


@pytest.mark.parametrize("root", ["", "/dsbd"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE"])
def test_what_the_page_does_not_use_is_closed_before_a_name_is_resolved(method, root, monkeypatch):
    """Catches a page that fetches any address of the web for a stranger, and one more way to write the same path."""
    monkeypatch.setattr(socket, "getaddrinfo", None)
    one = guard(root_path=root)
    statuses = {path: one.request(method, root + path, headers=JSON).status_code for path in CLOSED}
    assert {path: status for path, status in statuses.items() if status != 404} == {}


@pytest.mark.parametrize("root", ["", "/dsbd", "https://school.example/dsbd/"])
def test_what_the_page_uses_is_open(root):
    one, below = guard(is_private=not root, root_path=root), "/dsbd" if root else ""
    assert [path for path in OPEN_ONES if one.get(below + path).status_code != 200] == []
    assert [path for path, body in CALLS.items() if one.post(below + path, json=body).status_code != 200] == []
    assert one.get(below or "/").status_code == 200


BODY = b'{"data": []}'
DEEP = b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)
REQUESTS = {
    "own page": (200, {"origin": "http://127.0.0.1:7860", "sec-fetch-site": "same-origin"}, BODY),
    "other port": (403, {"origin": "http://localhost:9999"}, BODY),
    "file or sandboxed frame": (403, {"origin": "null"}, BODY),
    "other port that names itself": (
        403, {"origin": "http://localhost:9999", "x-forwarded-host": "localhost:9999"}, BODY,
    ),
    "origins that are no addresses": (403, {"origin": "http://[::1"}, BODY),
    "an origin with a bracket": (403, {"origin": "http://127.0.0.1:7860]"}, BODY),
    "a caller that has left": (410, {"x-dsbd-caller": "x"}, BODY),
    "two origins": (403, [*{**JSON, "origin": "http://127.0.0.1:7860"}.items(), ("origin", "http://x.example")], BODY),
    "no origin, but from another site": (403, {"sec-fetch-site": "cross-site"}, BODY),
    "no origin, but from another port": (403, {"sec-fetch-site": "same-site"}, BODY),
    "a form": (415, {"content-type": "text/plain"}, BODY),
    "an upload": (415, {"content-type": "multipart/form-data; boundary=x"}, b"--x--"),
    "two kinds": (415, [("content-type", "text/plain"), *JSON.items()], BODY),
    "a long prompt": (200, {}, json.dumps({"data": ["Once, [and] again. " * 1500]}).encode()),
    "too large": (413, {}, b'"' + b"x" * MAX_BYTES + b'"'),
    "too deep": (413, {}, DEEP),
    "too many values": (413, {}, b"[" + b"1," * MAX_MARKS + b"1]"),
    "rebinding": (403, {"host": "evil.example:7860"}, BODY),
    "a name before this one": (403, {"host": "localhost@evil.example"}, BODY),
    "a server in front": (403, {"x-forwarded-host": "evil.example"}, BODY),
    "server of Gradio": (403, {"x-gradio-server": "http://evil.example"}, BODY),
    "local address": (200, {"host": "[::1]:7860"}, BODY),
}  # fmt: skip


@pytest.mark.parametrize("case", REQUESTS)
def test_who_may_call_a_private_page(case):
    """Catches a web page that uses the page of the machine that it is read on."""
    status, headers, body = REQUESTS[case]
    headers = headers if isinstance(headers, list) else JSON | headers
    answer = guard(is_private=True).post(CALL, content=body, headers=headers)
    assert answer.status_code == status
    assert status == 200 or answer.json()["detail"].endswith((".", "it."))
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_call_is_read_before_gradio_sees_it():
    """Catches a name that is kept for ever or stops the queue, and a traceback for what is not there."""
    one, long = guard(), "x" * 65
    wrong = {
        JOIN: [{"session_hash": name} for name in (long, "", None, 5, {}, "a b", "\u00e9")]
        + [{"trigger_id": value} for value in (long, -1, 2**31, 1.5, [])]
        + [{"fn_index": value} for value in (None, "1", 1e30, -1, 10**400)]
        + [{"event_id": long}, {"data": None}, {"data": {}}, {"batched": True}, {"oauth_token": "x"}],
        CANCEL: [{"event_id": long}, {"session_hash": long}, {"fn_index": "x"}],
    }
    for path, changes in wrong.items():
        for changed in changes:
            answer = one.post(path, json=CALLS[path] | changed)
            assert (answer.status_code, answer.json()["detail"][:14]) == (422, "A call is JSON"), changed
        for name in CALLS[path]:
            left = {one: value for one, value in CALLS[path].items() if one != name}
            assert one.post(path, json=left).status_code == (200 if name in ("trigger_id", "event_data") else 422), name
    for path in CALLS:
        for body in (b"", b"{", b"\xff\xfe", b"9" * 5000, b'{"data": ["\\ud800"'):
            assert one.post(path, content=body, headers=JSON).status_code == 422, (path, body[:20])
    for number in (0, 2):
        assert one.post(JOIN, json=JOINED | {"fn_index": number}).status_code == 404, "in the browser only, or nowhere"
    for path in ("queue/data", "queue/data?session_hash=", "queue/data?session_hash=unknown", "call/decode/unknown"):
        assert one.get(f"/gradio_api/{path}").status_code == 404, path


def test_sessions_that_nobody_listens_to_are_dropped():
    """Catches names that are kept for ever, and the answer of a run that goes on."""
    queue = queue_of(["a", "b", "c", "d"], ["old", "new"])
    forget_unheard(queue, 3)
    assert [*queue.pending_messages_per_session] == [*queue.pending_event_ids_session] == ["b", "c", "d", "old", "new"]


def test_a_page_behind_a_server_answers_to_its_names_there():
    forwarded = {"host": "127.0.0.1:7860", "x-forwarded-host": "school.example", "origin": "https://school.example"}
    assert guard().post(CALL, content=BODY, headers=JSON | forwarded).status_code == 200
    assert guard().get("/", headers={"host": "anything.example"}).status_code == 200


def test_lessons_may_be_framed_from_anywhere_and_nothing_else():
    """Catches a text to paste that shows nothing where it is pasted, and one setting that changes the other."""

    def policy(path, **limits):
        return guard(**limits).get(path).headers["content-security-policy"]

    assert "frame-ancestors" not in policy(LESSON), "under * browsers refuse a file"
    for path in ("/", "/gradio_api/dsbd/page.js"):
        assert "default-src 'self'" in policy(path)
        assert "frame-ancestors 'self'" in policy(path)
        assert "http" not in policy(path)
    limits = {"frame_ancestors": "https://school.example", "lesson_frame_ancestors": "self"}
    assert "frame-ancestors https://school.example" in policy("/", **limits)
    assert "frame-ancestors 'self'" in policy(LESSON, **limits)


@pytest.mark.slow
def test_no_stranger_stops_the_real_page_or_fills_its_memory(monkeypatch, capfd):
    """Catches a wrong value that a handler fails on, a queue that stops for good, and sessions that are kept."""
    queues = []
    monkeypatch.setattr(
        middleware, "forget_unheard", lambda queue, most: queues.append(queue) or forget_unheard(queue, most)
    )
    with served(PacedRunner(toy_pairs("toy"), Limits(max_visitors=3))) as address:
        page = httpx.Client(base_url=f"{address}/gradio_api", timeout=60)
        functions = httpx.get(f"{address}/config").json()["dependencies"]
        for one in functions:
            for value in (None, [], {}, 1e308, "x"):
                for values in ([value] * len(one["inputs"]), [value] * (len(one["inputs"]) + 1), []):
                    call = {"data": values, "fn_index": one["id"], "session_hash": "x"}
                    answer = page.post("/run/predict", json=call)
                    assert answer.status_code in (200, 404, 422), (one["id"], values, answer.text)
                    assert answer.status_code == 200 or answer.json().get("error") or answer.json()["detail"]
        (decode,) = [one["id"] for one in functions if one["api_name"] == "decode"]
        refused = {"data": ["Once", {"method": "none"}, ""], "fn_index": decode}
        for number in range(40):
            while page.post("/queue/join", json=refused | {"session_hash": f"s{number}"}).status_code == 503:
                pass  # sixteen wait already
        wait_until(lambda: not queues[-1].event_ids_to_events)
        page.post("/reset", json={"event_id": "x"})
        assert len(queues[-1].pending_messages_per_session) == len(queues[-1].pending_event_ids_session) == 3
        assert httpx.get(f"{address}/health").json()["status"] == "ok"
    assert "Traceback" not in "".join(capfd.readouterr())


@pytest.mark.slow
def test_a_tool_ends_with_its_caller():
    """Catches a run that goes on for an MCP caller who hung up, and one that waits and runs later all the same."""
    runner = PacedRunner(toy_pairs("toy"), Limits(mcp=True))
    runner.pace = 0.2
    headers = JSON | {"accept": "application/json, text/event-stream"}

    def call(tokens: int, **meta):
        arguments = {"prompt": "Once", "settings": SHORT | {"max_new_tokens": tokens}}
        tool = {"name": "decode", "arguments": arguments, "_meta": meta}
        body = {"jsonrpc": "2.0", "id": 1, "method": "tools/call", "params": tool}
        return httpx.stream("POST", f"{address}/gradio_api/mcp/", json=body, headers=headers, timeout=60)

    def whole(tokens: int) -> bytes:
        with call(tokens) as answer:
            return answer.read()

    def state() -> tuple[int, int]:
        health = httpx.get(f"{address}/health", timeout=60).json()
        return health["running"], health["waiting"]

    def hang_up(after: tuple[int, int], **meta) -> None:
        with call(100, **meta):
            wait_until(lambda: state() == after)

    with served(runner) as address:
        assert [tool["name"] for tool in httpx.get(f"{address}/gradio_api/mcp/schema").json()] == ["decode"]
        for meta in ({}, {"progressToken": "x"}):
            hang_up((1, 0), **meta)
            steps = runner.steps
            wait_until(lambda: state() == (0, 0))
            assert runner.steps - steps <= 3, "it ended within an iteration"
        with ThreadPoolExecutor(1) as pool:
            first = pool.submit(whole, 40)
            wait_until(lambda: state() == (1, 0))
            hang_up((1, 1))
            wait_until(lambda: state() == (1, 0))
            assert b"token_ids" in first.result(), "the run of somebody else goes on"
        steps = runner.steps
        assert b"token_ids" in whole(1)
        assert runner.steps == steps + 1, "what waited does not run later"


@pytest.mark.slow
@pytest.mark.parametrize("root", ["", "/dsbd"])
def test_the_real_page_is_closed_alike(toys, root, monkeypatch):
    """Catches a way that Gradio's router knows and the table above does not."""
    monkeypatch.setenv("GRADIO_ROOT_PATH", root)
    with served(copy(toys), root_path=root) as address:
        local = "http://127.0.0.1:" + address.split(":")[2].split("/")[0]
        for path in CLOSED:
            for method in ("GET", "POST", "HEAD"):
                answer = httpx.request(method, local + root + path, headers=JSON, content=BODY)
                assert answer.status_code == 404, (method, path)
        for path in ("/", "/config", "/health", "/gradio_api/info", "/gradio_api/dsbd/page.js", "/theme.css"):
            assert httpx.get(local + root + path, timeout=60).status_code == 200, path
        assert httpx.get(local + root + "/gradio_api/dsbd/traces/..%2f..%2fREADME.json.gz").status_code == 404
        assert httpx.get(local + root + "/gradio_api/dsbd/learn/../../../app.py").status_code == 404
        page = httpx.get(local + root + "/", headers={"x-forwarded-host": "127.0.0.1"}).text
        tags = re.findall(r'<meta (?:property|name)="((?:og|twitter):\w+)" content="([^"]*)"', page)
        assert len(dict(tags)) == len(tags) == 6, "a preview reads the first of each"
        preview = dict(tags)
        assert (preview["og:title"], preview["og:url"]) == (TITLE, f"http://127.0.0.1{root}/")
        assert "<title>DSBD" in page
        image = preview["og:image"].removeprefix("http://127.0.0.1")
        assert httpx.get(local + image).headers["content-type"] == "image/png"
        refused = httpx.post(local + root + CALL, json={"data": ["Once"]}, headers={"origin": "http://localhost:9999"})
        assert refused.status_code == 403
