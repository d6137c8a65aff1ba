"""The gate before a plain answer: methods, kinds, hosts, headers; the body of a call; one file for each upload."""

import json
import logging
import os
from pathlib import Path

import httpx
import pytest
from gradio.utils import get_upload_folder
from starlette.exceptions import HTTPException
from starlette.responses import PlainTextResponse
from starlette.testclient import TestClient
from ui.host.limits import Limits
from ui.traffic.calls import MAX_BYTES, CallError, check_call
from ui.traffic.gate import Gate

UPLOAD = "/gradio_api/upload"
LESSON = "/gradio_api/dsbd/learn/lessons/x.html"
MIB = 1024 * 1024


def before(app=None, is_private=False, **limits) -> TestClient:
    app = app or PlainTextResponse("taken")
    return TestClient(Gate(app, limits=Limits(**limits), is_private=is_private))


def test_only_an_upload_counts_as_one():
    """Catches a stranger who uses up an address's hour with requests that bring nothing."""
    client = before(uploads_per_hour=1)
    for method in ("HEAD", "OPTIONS", "DELETE", "GET", "PUT"):
        assert client.request(method, UPLOAD, headers={"content-length": "0"}).status_code == 200
    assert client.post(UPLOAD + "/", content=b"x").status_code == 200
    assert client.post(UPLOAD, content=b"x").status_code == 429


@pytest.mark.parametrize("kinds", [["multipart/form-data; boundary=x", "application/json"], []])
def test_the_kind_that_counts_is_the_one_that_gradio_reads(kinds):
    """Catches a body that passes unread: of two headers the gate believed the second and Gradio the first."""
    headers = [("content-type", kind) for kind in kinds]
    assert before().post("/gradio_api/cancel", content=b"{}", headers=headers).status_code == 415


@pytest.mark.parametrize(
    "headers",
    [
        [("host", "evil.example:7860")],
        [("host", "localhost@evil.example")],
        [("host", "localhost"), ("host", "evil.example")],
        [("host", "localhost"), ("x-forwarded-host", "evil.example")],
    ],
)
def test_a_private_page_answers_to_the_names_of_this_machine_only(headers):
    """Catches a web page that has its own name lead to 127.0.0.1 and then reads and uses the page of this machine."""
    private = before(is_private=True)
    for path in ("/", UPLOAD, "/gradio_api/queue/data?session_hash=x"):
        refused = private.get(path, headers=headers)
        assert refused.status_code == 403
        assert "FORWARDED_ALLOW_IPS" in refused.json()["detail"]
        assert before().get(path, headers=headers[:1]).status_code == 200, "a public page answers"
    for host in ("localhost:7860", "LOCALHOST", "127.0.0.1", "[::1]:7860"):
        assert private.get("/", headers={"host": host}).status_code == 200


def policy_of(path: str, **limits) -> str:
    return before(**limits).get(path).headers["content-security-policy"]


def test_lessons_may_be_framed_from_anywhere_and_nothing_else():
    """Catches a text to paste that shows nothing where it is pasted, and one setting that changes the other."""
    assert "frame-ancestors" not in policy_of(LESSON), "under * browsers refuse a file"
    for path in ("/", "/gradio_api/dsbd/page.js"):
        policy = policy_of(path)
        assert "default-src 'self'" in policy
        assert "frame-ancestors 'self'" in policy
        assert "http" not in policy
    assert before().get("/").headers["x-content-type-options"] == "nosniff"
    limits = {"frame_ancestors": "https://school.example", "lesson_frame_ancestors": "self"}
    assert "frame-ancestors https://school.example" in policy_of("/", **limits)
    assert "frame-ancestors 'self'" in policy_of(LESSON, **limits)


def test_the_log_has_a_traceback_of_our_faults_only(caplog):
    """Catches a log that strangers fill: Gradio says that there is nothing, and raises the same once more."""

    def breaking(cause):
        async def broken(scope, receive, send):
            await send({"type": "http.response.start", "status": 200, "headers": []})
            raise RuntimeError("after the answer began") from cause

        return broken

    for cause, logged in ((HTTPException(404), 0), (None, 1)):
        caplog.clear()
        before(breaking(cause)).get("/gradio_api/queue/data?session_hash=x")
        assert len([one for one in caplog.records if one.levelno >= logging.ERROR]) == logged


def test_an_upload_brings_one_file(address):
    """Catches a thousand files that count as one: nobody else is answered while they are made, and none is deleted."""
    kept = set(Path(get_upload_folder()).iterdir())
    files = [("other", (f"{place}.json", b"%d" % place)) for place in range(900)]
    refused = httpx.post(f"{address}gradio_api/upload", files=files, timeout=60)
    assert refused.status_code == 400
    assert "brings one file" in refused.text
    assert [path for path in set(Path(get_upload_folder()).iterdir()) - kept if path.is_file()] == []


def test_a_file_is_taken_whose_boundary_lies_across_two_messages(address):
    """Catches a boundary that is counted twice, and a file that is refused for it."""
    head = b'z\r\nContent-Disposition: form-data; name="files"; filename="a"\r\n\r\n{}\r\n--x'
    parts = [b"--xy", head, b"yz", b"--\r\n"]
    headers = {"content-type": 'multipart/form-data; boundary="xyz"', "content-length": str(sum(map(len, parts)))}
    taken = httpx.post(f"{address}gradio_api/upload", content=iter(parts), headers=headers, timeout=60)
    assert taken.status_code == 200, taken.text


@pytest.fixture
def uploads(tmp_path, monkeypatch) -> Path:
    """The folder of uploads, beside a file that nobody uploaded."""
    folder, secret = tmp_path / "uploads", tmp_path / "secret.txt"
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(folder))
    (folder / "hash").mkdir(parents=True)
    (folder / "hash" / "mine.json").write_text("{}")
    secret.write_text("secret")
    os.symlink(secret, folder / "link.txt")
    assert get_upload_folder() == str(folder)
    return folder


def naming(path: str):
    """Calls that name this file, in every place where one can stand."""
    for more in ({"meta": {"_type": "gradio.FileData"}}, {"meta": 5, "url": "/x", "orig_name": "/x"}):
        file = {"path": path, **more}
        yield {"data": ["Once", {"settings": [[{"deep": file}]]}]}
        yield {"data": [], "event_data": {"file": [file]}}
        yield {"jsonrpc": "2.0", "params": {"name": "explain_node", "arguments": {"trace": file}}}
        yield {**file, "data": []}


FOREIGN = [
    "{}/../secret.txt", "{}/link.txt", "{}/hash", "/etc/passwd", "app.py", "", " HTTPS://127.0.0.1/x",
    "{}/hash/mine.json\0", "x" * 100_000,
]  # fmt: skip


def test_an_upload_is_taken_and_no_other_file_in_any_place(uploads):
    """Catches any file of the server taken as an upload: over MCP the server's own client opens what a call names."""
    for path in FOREIGN:
        for body in naming(path.format(uploads)):
            with pytest.raises(CallError, match="no uploaded file"):
                check_call(json.dumps(body).encode(), ())
    for body in naming(str(uploads / "hash" / "mine.json")):
        check_call(json.dumps(body).encode(), ())
    check_call(b'{"data": [{"path": 5}, {"path": null}, "/etc/passwd"]}', ())


@pytest.mark.parametrize(
    "many",
    [
        b",".join([b"[" * 20 + b"]" * 20] * 25_000),
        b"{" + b",".join(b'"%d":1' % number for number in range(80_000)) + b"}",
    ],
)
def test_many_values_are_refused_before_they_are_read(monkeypatch, many):
    """Catches one body of a MiB that holds everybody up while its values are made, looked through and copied."""
    monkeypatch.setattr("ui.traffic.calls.json", None)
    for body in (b'{"data": [' + many + b"]}", many):
        with pytest.raises(CallError, match="allowed are 30,000"):
            check_call(body, ())


def test_a_long_text_is_not_taken_for_many_values():
    """Catches a prompt that is refused for its commas, which the field itself would refuse for its length."""
    sentence = "Once upon a time, in a [small] village, there was a girl who liked, above all, long walks and her dog. "
    body = json.dumps({"data": [sentence * (MAX_BYTES // len(sentence) // 2)]}).encode()
    assert check_call(body, ()) is None
