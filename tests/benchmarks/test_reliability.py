"""The long run against the page, in small: it still finds what it calls, and writes what it saw."""

import json
import sys

import pytest

from benchmarks.reliability import __main__ as reliability
from benchmarks.reliability import trials, visitors
from ui.traffic.visitors import Visitors


@pytest.mark.slow
def test_a_small_run_writes_what_it_saw(tmp_path, monkeypatch):
    """Catches a name of the page that moved, and an answer that is not counted; nobody starts the long run often."""
    monkeypatch.setattr(trials, "EVERY", 2)
    output = tmp_path / "seen.json"
    sizes = {"calls": 150, "bodies": 40, "uploads": 40, "clients": 8, "runs": 4, "alterations": 50, "folders": 3}
    flags = [text for name, size in sizes.items() for text in (f"--{name}", str(size))]
    monkeypatch.setattr(sys, "argv", ["reliability", *flags, "--output", str(output)])
    assert reliability.main() == 0
    found = json.loads(output.read_text())
    assert (sum(found["calls"].values()), sum(found["uploads"].values())) == (150, 40)
    assert sum(found["alterations"].values()) - found["alterations"].get("same", 0) == 50
    assert sum(found["bodies"].values()) == 40
    assert found["folders"] == {"refused": 3}
    assert found["clients"]["stayed, each with the answer of a run alone"] == 4
    assert found["clients"]["most runs at once"] == 1
    assert found["clients"]["left in mid-run"] >= 1
    assert [run for run, mib in found["memory_mib"] if mib > 0] == [0, 2]


@pytest.mark.parametrize(
    ("owner", "name", "fault", "said"),
    [
        (visitors.Page, "stay", lambda *_: {"token_ids": [1, 2, 3], "text": "mixed up"}, "'Visitor 0' got 'mixed up'"),
        (Visitors, "cancel", lambda *_: None, "decode was cancelled, and heard of no end"),
    ],
    ids=["answers", "departures"],
)
def test_what_the_visitors_see_wrong_is_said(monkeypatch, owner, name, fault, said):
    """Catches a trial that says all is well of answers that were mixed up, and of runs that go on for nobody."""
    monkeypatch.setattr(owner, name, fault)
    with pytest.raises(AssertionError, match=said):
        visitors.many_clients(2)
