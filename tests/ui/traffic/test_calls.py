"""What the body of a call may hold: the files that it names, and how many values."""

import json
import os
from pathlib import Path

import pytest
from gradio.utils import get_upload_folder

from ui.traffic.calls import MAX_BYTES, CallError, check_call

META = {"_type": "gradio.FileData"}


@pytest.fixture
def uploads(tmp_path, monkeypatch) -> Path:
    """The folder of uploads, beside a file that nobody uploaded."""
    monkeypatch.setenv("GRADIO_TEMP_DIR", str(tmp_path / "uploads"))
    (tmp_path / "uploads" / "hash").mkdir(parents=True)
    (tmp_path / "uploads" / "hash" / "mine.json").write_text("{}")
    (tmp_path / "secret.txt").write_text("secret")
    assert get_upload_folder() == str(tmp_path / "uploads")
    return tmp_path / "uploads"


def bodies(path: str):
    """A call that names this file, in every place where one can stand."""
    for more in ({"meta": META}, {}, {"meta": 5, "url": "/x", "orig_name": "/x"}):
        file = {"path": path, **more}
        yield {"data": [file]}
        yield {"data": ["Once", {"settings": [[{"deep": file}]]}]}
        yield {"trace": file}
        yield {"data": [], "event_data": {"file": [file]}}
        yield {"jsonrpc": "2.0", "params": {"name": "explain_node", "arguments": {"trace": file}}}
        yield {**file, "data": []}


@pytest.mark.parametrize(
    "path",
    [
        "{}/../secret.txt",
        "{}/hash/../../secret.txt",
        "{}/hash",
        "{}",
        "{}/hash/none.json",
        "/etc/passwd",
        "app.py",
        "",
        "~/.ssh/id_rsa",
        "file:///etc/passwd",
        "http://127.0.0.1/",
        " HTTPS://127.0.0.1/x",
        "data:text/plain,x",
        "{}/hash/mine.json\0",
        "x" * 100_000,
    ],
)
def test_a_file_that_nobody_uploaded_is_refused_in_every_place(uploads, path):
    """Catches any file of the server taken as an upload: over MCP the server's own client opens what a call names."""
    for body in bodies(path.format(uploads)):
        with pytest.raises(CallError, match="no uploaded file"):
            check_call(json.dumps(body).encode(), ())


def test_a_link_out_of_the_folder_is_no_upload(uploads):
    os.symlink(uploads.parent / "secret.txt", uploads / "link.txt")
    with pytest.raises(CallError, match="no uploaded file"):
        check_call(json.dumps({"data": [{"path": str(uploads / "link.txt")}]}).encode(), ())


def test_an_upload_is_taken(uploads):
    for body in bodies(str(uploads / "hash" / "mine.json")):
        check_call(json.dumps(body).encode(), ())
    check_call(b'{"data": [{"path": 5}, {"path": null}, "/etc/passwd"]}', ())


@pytest.mark.parametrize(
    "many",
    [
        b",".join([b"[]"] * 340_000),
        b",".join([b"[" * 20 + b"]" * 20] * 25_000),
        b",".join([b"{}"] * 340_000),
        b",".join([b"1"] * 500_000),
        b'{"' + b'":[{"'.join([b"a"] * 100_000),
        b"[" * 500_000,
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
