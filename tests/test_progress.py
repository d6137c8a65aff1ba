"""Long commands say how far they are, to people and to log files."""

import io
import re
import sys
import time

from dsbd import util


def test_a_log_file_gets_plain_lines(monkeypatch):
    """Catches minutes of silence, and a bar that is drawn over itself in a file."""
    monkeypatch.setattr(util, "SECONDS", 0.001)
    monkeypatch.setattr(sys, "stderr", io.StringIO())

    def wait_for(line):
        while line not in sys.stderr.getvalue():
            time.sleep(0.001)

    with util.ProgressLine("loading") as loading:
        wait_for("dsbd: loading, ")
        loading.show("checking")
        wait_for("dsbd: checking, ")
    with util.ProgressLine("scoring", "answer") as scoring:
        scoring.show(total=2)
        for place, _ in enumerate(scoring.each("ab")):
            wait_for(f"dsbd: scoring: {place} of 2 answers, ")
    said = r"dsbd: (loading|checking|scoring: [01]( of 2)? answers), \d+ s"
    assert all(re.fullmatch(said, line) for line in sys.stderr.getvalue().splitlines())
