"""The long run against the page, in small: it still finds what it calls, and writes what it saw."""

import json
import sys

import pytest

from benchmarks.reliability import __main__ as reliability
from benchmarks.reliability import trials, visitors


@pytest.mark.slow
def test_a_small_run_writes_what_it_saw(tmp_path, monkeypatch):
    """Catches a name of the page that moved, and an answer that is not counted; nobody starts the long run often."""
    monkeypatch.setattr(trials, "EVERY", 2)
    output = tmp_path / "seen.json"
    sizes = {"calls": 4, "bodies": 40, "uploads": 4, "clients": 2, "runs": 4, "alterations": 50, "folders": 3}
    flags = [text for name, size in sizes.items() for text in (f"--{name}", str(size))]
    monkeypatch.setattr(sys, "argv", ["reliability", *flags, "--output", str(output)])
    assert reliability.main() == 0
    found = json.loads(output.read_text())
    assert (sum(found["calls"].values()), sum(found["uploads"].values())) == (4, 4)
    assert sum(found["alterations"].values()) - found["alterations"].get("same", 0) == 50
    assert sum(found["bodies"].values()) == 40
    assert found["folders"] == {"refused": 3}
    assert found["clients"] == {"stayed, each with the answer of a run alone": 1, "left": 1}
    assert [run for run, mib in found["memory_mib"] if mib > 0] == [0, 2]


def test_answers_that_were_mixed_up_are_said(monkeypatch):
    """Catches a trial that says all is well whatever the visitors see."""
    monkeypatch.setattr(visitors, "visit", lambda *_: [1, 2, 3])
    with pytest.raises(AssertionError, match="'Visitor 0' got"):
        visitors.many_clients(1)
