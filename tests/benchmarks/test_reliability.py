"""The long run against the page, in small: it still finds what it calls, and writes what it saw."""

import json
import sys

import pytest

from benchmarks.reliability import __main__ as reliability
from benchmarks.reliability import memory, visitors


@pytest.mark.slow
def test_a_small_run_writes_what_it_saw(tmp_path, monkeypatch):
    """Catches a name of the page that moved, and an answer that is not counted; nobody starts the long run often."""
    monkeypatch.setattr(memory, "EVERY", 2)
    output = tmp_path / "seen.json"
    sizes = {"calls": 4, "bodies": 40, "uploads": 4, "clients": 2, "runs": 4, "alterations": 50, "folders": 3}
    flags = [text for name, size in sizes.items() for text in (f"--{name}", str(size))]
    monkeypatch.setattr(sys, "argv", ["reliability", *flags, "--output", str(output)])
    assert reliability.main() == 0
    found = json.loads(output.read_text())
    assert (sum(found["calls"].values()), sum(found["uploads"].values())) == (4, 4)
    assert sum(found["alterations"].values()) - found["alterations"].get("same", 0) == 50
    assert sum(found["bodies"].values()) > 40
    assert found["folders"] == {"refused": 3}
    assert found["clients"] == {"their own": 2, "not their own": 0}
    assert [run for run, mib in found["memory_mib"] if mib > 0] == [0, 2]
    assert "<title>Resident memory" in output.with_suffix(".svg").read_text()


def test_an_answer_of_another_visitor_is_counted(monkeypatch):
    """Catches a run that says all is well of answers that were mixed up."""

    class Mixed:
        def __init__(self, address, verbose):
            pass

        def predict(self, prompt, settings, api_name):
            return {"token_ids": [1, 2, 3]}

    monkeypatch.setattr(visitors, "Client", Mixed)
    assert visitors.many_clients("nowhere", 2) == {"their own": 0, "not their own": 2}
