"""Files of questions: plain or packed, within limits, and errors that name the file and the line."""

import gzip

import pytest
from dsbd.tasks import files
from dsbd.tasks.files import csv_rows, json_lines, read_json

from dsbd.errors import TaskError


def test_packed_and_plain_files_read_the_same(tmp_path):
    (tmp_path / "a.json").write_bytes('﻿["é"]'.encode())
    (tmp_path / "a.json.gz").write_bytes(gzip.compress('["é"]'.encode()))
    assert read_json(tmp_path / "a.json") == read_json(tmp_path / "a.json.gz") == ["é"]


def test_lines_are_numbered_as_in_an_editor(tmp_path):
    """Catches numbers that forget empty lines, and a line that is cut at a separator inside a text."""
    (tmp_path / "a.jsonl").write_bytes('{"a": 1}\r\n\n{"a": "x\u2028y"}'.encode())
    assert list(json_lines(tmp_path / "a.jsonl")) == [(1, {"a": 1}), (3, {"a": "x\u2028y"})]


def test_rows_of_a_table_may_span_lines(tmp_path):
    (tmp_path / "a.csv").write_text('prompt,answer\n"two\nlines",yes\nplain,\n', encoding="utf-8")
    assert list(csv_rows(tmp_path / "a.csv")) == [
        (3, {"prompt": "two\nlines", "answer": "yes"}),
        (4, {"prompt": "plain"}),
    ]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", None, "there is no file .*; check the path"),
        ("a.json", b"\xff", "not UTF-8 at byte 0"),
        ("a.json", b"{", "is not JSON"),
        ("a.json", b"[" * 100_000, "is not JSON"),
        ("a.json.gz", gzip.compress(b"x" * 1000)[:-9], "cannot be read"),
        ("a.json.gz", gzip.compress(b" " * 200_101), "more than 200100 bytes"),
        ("a.jsonl", b"{}\n{", "line 2: no JSON"),
        ("a.jsonl", b"{}\n[1]", "line 2: a list; each line holds one object"),
        ("a.jsonl", b'{}\n"' + b"x" * 60 + b'"', "line 2: at most 3 lines of 50 characters"),
        ("a.csv", b"prompt\na,b\n", "line 2: more fields than the heading has"),
        ("a.csv", b'prompt\n"a\n', "line 2: unexpected end of data"),
        ("a.csv", b"prompt\n" + b"x" * 200_000, "line 2: field larger than field limit"),
        ("a.csv", b"prompt\n" + b"x\n" * 4, "line 4: at most 3 lines"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_the_line(name, content, message, tmp_path, monkeypatch):
    """Catches a traceback, and a packed file that fills the memory."""
    for limit, value in (("MAX_BYTES", 200_100), ("MAX_LINE", 50), ("MAX_LINES", 3)):
        monkeypatch.setattr(files, limit, value)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    read = {"a.jsonl": json_lines, "a.csv": csv_rows}.get(name, lambda path: [read_json(path)])
    with pytest.raises(TaskError, match=message):
        list(read(tmp_path / name))
