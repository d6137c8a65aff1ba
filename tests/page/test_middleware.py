"""The middleware: which requests pass, and that the real page refuses the same."""

import json
import re
import socket

import httpx
import pytest
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from tests.page.conftest import served
from visualize.page.limits import Limits
from visualize.page.middleware import MAX_BYTES, MAX_DEPTH, MAX_MARKS, Gate
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
]  # fmt: skip
OPEN_ONES = [
    "/", "/?prompt=Once", "/config", "/theme.css", "/favicon.ico", "/manifest.json", "/assets/index.js", "/health",
    "/static/img/logo.svg", "/gradio_api/info", "/gradio_api/app_id", "/gradio_api/startup-events",
    "/gradio_api/dsbd/page.js", LESSON, "/gradio_api/queue/data?session_hash=x", "/gradio_api/heartbeat/x1",
    f"{CALL}/event", "/gradio_api/mcp/", "/gradio_api/mcp", "/gradio_api/mcp/schema",
]  # fmt: skip
CALLS = [CALL, "/gradio_api/queue/join", "/gradio_api/cancel", "/gradio_api/reset", "/gradio_api/mcp/"]


def gate(is_private=False, root_path="", **limits) -> TestClient:
    app = Gate(PlainTextResponse("taken"), Limits(**limits), is_private, root_path)
    return TestClient(app, base_url="http://127.0.0.1:7860")


@pytest.mark.parametrize("root", ["", "/dsbd"])
@pytest.mark.parametrize("method", ["GET", "HEAD", "POST", "OPTIONS", "PUT", "DELETE"])
def test_what_the_page_does_not_use_is_closed_before_a_name_is_resolved(method, root, monkeypatch):
    """Catches a page that fetches any address of the web for a stranger, and one more way to write the same path."""
    monkeypatch.setattr(socket, "getaddrinfo", None)
    one = gate(root_path=root)
    found = {path: one.request(method, root + path, headers=JSON).status_code for path in CLOSED}
    assert {path: status for path, status in found.items() if status != 404} == {}


@pytest.mark.parametrize("root", ["", "/dsbd", "https://school.example/dsbd/"])
def test_what_the_page_uses_is_open(root):
    one, below = gate(is_private=not root, root_path=root), "/dsbd" if root else ""
    assert [path for path in OPEN_ONES if one.get(below + path).status_code != 200] == []
    assert [path for path in CALLS if one.post(below + path, json={}).status_code != 200] == []
    assert one.get(below or "/").status_code == 200


DEEP = b"[" * (MAX_DEPTH + 1) + b"]" * (MAX_DEPTH + 1)
REQUESTS = {
    "own page": (200, {"origin": "http://127.0.0.1:7860", "sec-fetch-site": "same-origin"}, b"{}"),
    "other port": (403, {"origin": "http://localhost:9999"}, b"{}"),
    "file or sandboxed frame": (403, {"origin": "null"}, b"{}"),
    "other port that names itself": (
        403, {"origin": "http://localhost:9999", "x-forwarded-host": "localhost:9999"}, b"{}",
    ),
    "two origins": (403, [*{**JSON, "origin": "http://127.0.0.1:7860"}.items(), ("origin", "http://x.example")], b"{}"),
    "no origin, but from another site": (403, {"sec-fetch-site": "cross-site"}, b"{}"),
    "no origin, but from another port": (403, {"sec-fetch-site": "same-site"}, b"{}"),
    "a form": (415, {"content-type": "text/plain"}, b"{}"),
    "an upload": (415, {"content-type": "multipart/form-data; boundary=x"}, b"--x--"),
    "two kinds": (415, [("content-type", "text/plain"), *JSON.items()], b"{}"),
    "a long prompt": (200, {}, json.dumps({"data": ["Once, [and] again. " * 1500]}).encode()),
    "too large": (413, {}, b'"' + b"x" * MAX_BYTES + b'"'),
    "too deep": (413, {}, DEEP),
    "too many values": (413, {}, b"[" + b"1," * MAX_MARKS + b"1]"),
    "rebinding": (403, {"host": "evil.example:7860"}, b"{}"),
    "a name before this one": (403, {"host": "localhost@evil.example"}, b"{}"),
    "a server in front": (403, {"x-forwarded-host": "evil.example"}, b"{}"),
    "server of Gradio": (403, {"x-gradio-server": "http://evil.example"}, b"{}"),
    "local address": (200, {"host": "[::1]:7860"}, b"{}"),
}  # fmt: skip


@pytest.mark.parametrize("case", REQUESTS)
def test_who_may_call_a_private_page(case):
    """Catches a web page that uses the page of the machine that it is read on."""
    status, headers, body = REQUESTS[case]
    headers = headers if isinstance(headers, list) else JSON | headers
    answer = gate(is_private=True).post(CALL, content=body, headers=headers)
    assert answer.status_code == status
    assert status == 200 or answer.json()["detail"].endswith((".", "it."))
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_page_behind_a_server_answers_to_its_names_there():
    forwarded = {"host": "127.0.0.1:7860", "x-forwarded-host": "school.example", "origin": "https://school.example"}
    assert gate().post(CALL, content=b"{}", headers=JSON | forwarded).status_code == 200
    assert gate().get("/", headers={"host": "anything.example"}).status_code == 200


def test_lessons_may_be_framed_from_anywhere_and_nothing_else():
    """Catches a text to paste that shows nothing where it is pasted, and one setting that changes the other."""

    def policy(path, **limits):
        return gate(**limits).get(path).headers["content-security-policy"]

    assert "frame-ancestors" not in policy(LESSON), "under * browsers refuse a file"
    for path in ("/", "/gradio_api/dsbd/page.js"):
        assert "default-src 'self'" in policy(path)
        assert "frame-ancestors 'self'" in policy(path)
        assert "http" not in policy(path)
    limits = {"frame_ancestors": "https://school.example", "lesson_frame_ancestors": "self"}
    assert "frame-ancestors https://school.example" in policy("/", **limits)
    assert "frame-ancestors 'self'" in policy(LESSON, **limits)


@pytest.mark.slow
@pytest.mark.parametrize("root", ["", "/dsbd"])
def test_the_real_page_is_closed_alike(toys, root, monkeypatch):
    """Catches a way that Gradio's router knows and the table above does not."""
    monkeypatch.setenv("GRADIO_ROOT_PATH", root)
    with served(toys, root_path=root) as address:
        local = "http://127.0.0.1:" + address.split(":")[2].split("/")[0]
        for path in CLOSED:
            for method in ("GET", "POST", "HEAD"):
                answer = httpx.request(method, local + root + path, headers=JSON, content=b"{}")
                assert answer.status_code == 404, (method, path)
        for path in ("/", "/config", "/health", "/gradio_api/info", "/gradio_api/dsbd/page.js", "/theme.css"):
            assert httpx.get(local + root + path, timeout=60).status_code == 200, path
        assert httpx.get(local + root + "/gradio_api/dsbd/traces/..%2f..%2fREADME.json.gz").status_code == 404
        assert httpx.get(local + root + "/gradio_api/dsbd/learn/../../../app.py").status_code == 404
        page = httpx.get(local + root + "/", headers={"x-forwarded-host": "127.0.0.1"}).text
        tags = re.findall(r'<meta (?:property|name)="((?:og|twitter):\w+)" content="([^"]*)"', page)
        assert len(dict(tags)) == len(tags) == 6, "a preview reads the first of each"
        told = dict(tags)
        assert (told["og:title"], told["og:url"]) == (TITLE, f"http://127.0.0.1{root}/")
        assert "<title>DSBD" in page
        image = told["og:image"].removeprefix("http://127.0.0.1")
        assert httpx.get(local + image).headers["content-type"] == "image/png"
        refused = httpx.post(local + root + CALL, json={"data": ["Once"]}, headers={"origin": "http://localhost:9999"})
        assert refused.status_code == 403
