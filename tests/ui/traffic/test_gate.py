"""The gate on its own, before a plain answer: methods, kinds of bodies, hosts, and what the log says of a fault."""

import logging
from pathlib import Path

import httpx
import pytest
from gradio.utils import get_upload_folder
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient

from ui.host.limits import Limits
from ui.traffic.gate import Gate

UPLOAD = "/gradio_api/upload"


def before(app, is_private=False, **limits) -> TestClient:
    return TestClient(Gate(app, visitors=None, limits=Limits(**limits), is_private=is_private))


@pytest.mark.parametrize("method", ["HEAD", "OPTIONS", "DELETE", "TRACE", "GET", "PUT", "PATCH"])
def test_only_an_upload_counts_as_one(method):
    """Catches a stranger who uses up an address's hour with requests that bring nothing."""
    client = before(PlainTextResponse("taken"), uploads_per_hour=1)
    for address in (UPLOAD, UPLOAD + "/"):
        assert client.request(method, address, headers={"content-length": "0"}).status_code == 200
    assert client.post(UPLOAD, content=b"x").status_code == 200
    assert client.post(UPLOAD, content=b"x").status_code == 429


@pytest.mark.parametrize("kinds", [["multipart/form-data; boundary=x", "application/json"], ["text/plain"], [""], []])
def test_the_kind_that_counts_is_the_one_that_gradio_reads(kinds):
    """Catches a body that goes on unread, because of two headers the gate believed the second and Gradio the first."""
    headers = [("content-type", kind) for kind in kinds]
    assert before(PlainTextResponse("x")).post("/gradio_api/cancel", content=b"{}", headers=headers).status_code == 415


@pytest.mark.parametrize("host", ["localhost:7860", "LOCALHOST", "127.0.0.1", "[::1]:7860"])
def test_a_private_page_answers_to_the_names_of_this_machine(host):
    assert before(PlainTextResponse("x"), is_private=True).get("/", headers={"host": host}).status_code == 200


@pytest.mark.parametrize(
    "headers",
    [
        [("host", "evil.example:7860")],
        [("host", "localhost.evil.example")],
        [("host", "127.0.0.1.evil.example")],
        [("host", "localhost@evil.example")],
        [("host", "evil.example"), ("host", "localhost")],
        [("host", "localhost"), ("host", "evil.example")],
        [("host", "localhost"), ("x-forwarded-host", "evil.example")],
        [("host", "localhost"), ("x-gradio-server", "http://evil.example/")],
    ],
)
@pytest.mark.parametrize("path", ["/", "/config", "/health", UPLOAD, "/gradio_api/queue/data?session_hash=x"])
def test_a_private_page_refuses_every_other_name(headers, path):
    """Catches a web page that has its own name lead to 127.0.0.1 and then reads and uses the page of this machine."""
    refused = before(PlainTextResponse("x"), is_private=True).get(path, headers=headers)
    assert refused.status_code == 403
    assert "FORWARDED_ALLOW_IPS" in refused.json()["detail"]
    assert before(PlainTextResponse("x")).get(path, headers=headers[:1]).status_code == 200, "a public page answers"


def test_news_of_nobody_leave_no_traceback(caplog):
    """Catches a log that strangers fill: Gradio says that there is nothing, and raises the same once more."""

    async def nobody(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("response already started") from HTTPException(404)

    async def broken(scope, receive, send):
        await send({"type": "http.response.start", "status": 200, "headers": []})
        raise RuntimeError("a fault of ours")

    async def missing(scope, receive, send):
        raise KeyError("no such component")

    for app, logged in ((nobody, 0), (missing, 0), (broken, 1)):
        caplog.clear()
        before(app).get("/gradio_api/queue/data?session_hash=x")
        assert len([one for one in caplog.records if one.levelno >= logging.ERROR]) == logged


@pytest.mark.parametrize("field", ["files", "other"])
@pytest.mark.parametrize("count", [2, 900])
def test_an_upload_brings_one_file(address, field, count):
    """Catches a thousand files that count as one: nobody else is answered while they are made, and none is deleted."""
    kept = set(Path(get_upload_folder()).iterdir())
    files = [(field, (f"{place}.json", b"%d" % place)) for place in range(count)]
    refused = httpx.post(f"{address}gradio_api/upload", files=files, timeout=60)
    assert (refused.status_code, refused.text) == (400, "An upload brings one file; send each on its own.")
    made = set(Path(get_upload_folder()).iterdir()) - kept
    assert [path for path in made if path.is_file()] == []


def test_a_file_is_taken_whose_boundary_lies_across_two_messages(address):
    """Catches a boundary that is counted twice, and a file that is refused for it."""
    head = b'z\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n{}\r\n--x'
    parts = [b"--xy", head, b"yz", b"--\r\n"]
    headers = {"content-type": 'multipart/form-data; boundary="xyz"', "content-length": str(sum(map(len, parts)))}
    taken = httpx.post(f"{address}gradio_api/upload", content=iter(parts), headers=headers, timeout=60)
    assert taken.status_code == 200, taken.text
