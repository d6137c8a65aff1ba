"""``python -m dsbd eval`` as a user and a program meet it."""

import json

import pytest

from dsbd.measure.bench import driver
from dsbd.models import loading as loading_module
from tests.command_line import refused, run

FEW = ["--tasks", "stories", "--limit", "2", "--max-new-tokens", "4"]
METHODS = ["--methods", "dsbd:same-law,beam_sampling"]


@pytest.mark.slow
def test_an_evaluation_from_the_first_question_to_the_table(capsys, pair_flags, tmp_path, monkeypatch):
    """Catches a stop that looks like success, a table that is lost with it, and a second scoring that differs."""
    file, pages = tmp_path / "answers.jsonl", tmp_path / "report"
    flags = ["eval", *FEW, *METHODS, *pair_flags, "--output", str(file)]
    real, count = driver.measure_turn, iter(range(100))

    def stopped(*arguments, **named):
        if next(count) == 4:
            raise KeyboardInterrupt
        return real(*arguments, **named)

    monkeypatch.setattr(driver, "measure_turn", stopped)
    code, out, _ = run(capsys, *flags)
    assert code == 130
    assert "Not complete" in out
    monkeypatch.undo()
    assert "add --resume" in refused(capsys, *flags)
    code, out, _ = run(capsys, *flags, "--resume", "--json")
    assert code == 0
    report = json.loads(out)
    assert report["complete"] is True
    assert [row["contender"] for row in report["tables"]["stories"]["rows"]] == ["dsbd same-law", "beam_sampling"]
    monkeypatch.setattr(loading_module, "loading", None)  # from here on no model is loaded
    code, again, _ = run(capsys, "eval", "--score", str(file), "--json", "--report", str(pages))
    assert (code, json.loads(again)) == (0, report)
    written = (pages / "report.md").read_text(encoding="utf-8")
    assert "| dsbd same-law / beam_sampling |" in written
    assert "(figures.html)" in written
    assert (pages / "figures.html").stat().st_size > 1_000_000
    assert len((pages / "answers.jsonl").read_text().splitlines()) == 4
    assert "temperature was 1.0, is 0.5" in refused(capsys, *flags, "--resume", "--temperature", "0.5")
    draft = pair_flags[pair_flags.index("--draft") + 1]
    assert "models.target.id was " in refused(capsys, *flags, "--resume", "--target", draft)
    assert json.loads(run(capsys, *flags, "--resume", "--json")[1]) == report
