"""Files of questions: plain or packed, within limits, and errors that name the file and the line."""

import gzip

import pytest

from dsbd.errors import TaskError
from dsbd.tasks import files
from dsbd.tasks.files import csv_rows, json_lines, read_json


def test_packed_and_plain_files_read_the_same(tmp_path):
    (tmp_path / "a.json").write_bytes('﻿["é"]'.encode())
    (tmp_path / "a.json.gz").write_bytes(gzip.compress('["é"]'.encode()))
    assert read_json(tmp_path / "a.json") == read_json(tmp_path / "a.json.gz") == ["é"]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", None, "there is no file .*; check the path"),
        ("a.json", b"\xff", "not UTF-8 at byte 0"),
        ("a.json", b"{", "is not JSON"),
        ("a.json", b"[" * 100_000, "is not JSON"),
        ("a.json.gz", gzip.compress(b"x" * 1000)[:-9], "cannot be read"),
        ("a.json.gz", gzip.compress(b" " * 101), "more than 100 bytes"),
    ],
)
def test_a_damaged_file_is_an_error(name, content, message, tmp_path, monkeypatch):
    """Catches a traceback, and a packed file that fills the memory."""
    if "bytes" in message:
        monkeypatch.setattr(files, "MAX_BYTES", 100)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    with pytest.raises(TaskError, match=message):
        read_json(tmp_path / name)


def test_lines_are_numbered_as_in_an_editor(tmp_path):
    """Catches numbers that forget empty lines, and a line that is cut at a separator inside a text."""
    (tmp_path / "a.jsonl").write_bytes('{"a": 1}\r\n\n{"a": "x\u2028y"}'.encode())
    assert list(json_lines(tmp_path / "a.jsonl")) == [(1, {"a": 1}), (3, {"a": "x\u2028y"})]


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: no JSON"),
        ("[1]", "line 2: a list; each line holds one object"),
        ('"' + "x" * 60 + '"', "line 2: at most 3 lines of 50 characters"),
    ],
)
def test_a_bad_line_is_named(line, message, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_LINE", 50)
    monkeypatch.setattr(files, "MAX_LINES", 3)
    (tmp_path / "a.jsonl").write_text("{}\n" + line, encoding="utf-8")
    with pytest.raises(TaskError, match=message):
        list(json_lines(tmp_path / "a.jsonl"))


def test_rows_of_a_table_may_span_lines(tmp_path):
    (tmp_path / "a.csv").write_text('prompt,answer\n"two\nlines",yes\nplain,\n', encoding="utf-8")
    assert list(csv_rows(tmp_path / "a.csv")) == [
        (3, {"prompt": "two\nlines", "answer": "yes"}),
        (4, {"prompt": "plain"}),
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("prompt\na,b\n", "line 2: more fields than the heading has"),
        ('prompt\n"a\n', "line 2: unexpected end of data"),
        ("prompt\n" + "x" * 200_000, "line 2: field larger than field limit"),
        ("prompt\n" + "x\n" * 4, "line 4: at most 3 lines"),
    ],
)
def test_a_bad_row_is_named(text, message, tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MAX_LINES", 3)
    (tmp_path / "a.csv").write_text(text, encoding="utf-8")
    with pytest.raises(TaskError, match=message):
        list(csv_rows(tmp_path / "a.csv"))
