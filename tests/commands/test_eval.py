"""``python -m dsbd eval`` as a user and a program meet it."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from dsbd.evaluation import evaluation as evaluation_module
from dsbd.models import loading as loading_module
from tests.command_line import refused, run

ROOT = Path(__file__).resolve().parents[2]
FEW = ["--tasks", "stories", "--limit", "2", "--max-new-tokens", "4"]
METHODS = ["--methods", "dsbd:same-law,beam_sampling"]


@pytest.mark.slow
def test_an_evaluation_from_the_first_question_to_the_table(capsys, pair_flags, tmp_path, monkeypatch):
    """Catches a stop that looks like success, a table that is lost with it, and a second scoring that differs."""
    flags = ["eval", *FEW, *METHODS, *pair_flags, "--output-path", str(tmp_path / "out"), "--log-samples"]
    real, count = evaluation_module.predict, 0

    def stopped(*arguments, **named):
        nonlocal count
        count += 1
        if count == 5:
            raise KeyboardInterrupt
        return real(*arguments, **named)

    monkeypatch.setattr(evaluation_module, "predict", stopped)
    code, out, _ = run(capsys, *flags)
    assert code == 130
    assert "Not complete" in out
    monkeypatch.undo()
    code, out, _ = run(capsys, *flags, "--resume", "--json")
    assert code == 0
    report = json.loads(out)
    assert report["complete"] is True
    assert [row["contender"] for row in report["tables"]["stories"]["rows"]] == ["dsbd same-law", "beam_sampling"]
    assert len(report["files"]) == 4
    scored = ["eval", "--score", str(tmp_path / "out"), "--log-samples", "--json", "--report", str(tmp_path / "report")]
    code, again, _ = run(capsys, *scored)
    assert (code, json.loads(again)) == (0, report)
    written = (tmp_path / "report" / "report.md").read_text(encoding="utf-8")
    assert "### Differences to beam_sampling" in written
    assert "(figures.html)" in written
    assert (tmp_path / "report" / "figures.html").stat().st_size > 1_000_000
    monkeypatch.setattr(loading_module, "loading", None)  # from here on no model is loaded
    assert "temperature was 1.0, is 0.5" in refused(capsys, *flags, "--temperature", "0.5")
    assert "models.target.id was " in refused(capsys, *flags, "--target", pair_flags[pair_flags.index("--draft") + 1])
    code, again, _ = run(capsys, *flags, "--resume", "--json")
    assert (code, json.loads(again)) == (0, report)
    head = tmp_path / "out" / "evaluation.json"
    head.write_text(head.read_text().replace('"torch": "', '"torch": "0.'))
    assert "versions.torch was" in refused(capsys, *flags)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "--output-path is missing"),
        (["--output-path", "out"], "tasks is empty"),
        (["--output-path", "out", "--tasks", "riddles"], "'riddles'"),
        (["--output-path", "out", "--tasks", "stories,stories"], "name each once"),
        (["--output-path", "out", *FEW, "--methods", "magic"], "'magic'"),
        (["--output-path", "out", *FEW, "--methods", "dsbd:best"], "'dsbd:best'"),
        (["--output-path", "out", *FEW, "--limit", "0"], "limit is 0"),
        (["--output-path", "out", *FEW, "--limit", "few"], "'few'"),
        (["--output-path", "out", *FEW, "--seeds", "0"], "seeds is 0"),
        (["--output-path", "out", *FEW, "--seed", "1,2"], "--seeds N"),
        (["--output-path", "out", *FEW, "--max-new-tokens", "4,8"], "give one value"),
        (["--output-path", "out", *FEW, "--temperature", "-1"], "temperature is -1"),
        (["--output-path", "out", *FEW, "--data", "stories"], "TASK=PATH"),
        (["--output-path", "out", *FEW, "--data", "squad=x"], "'squad'"),
        (["--output-path", "binary", *FEW], "it is no folder"),
        (["--output-path", "", *FEW], "is no path"),
        (["--output-path", "binary/below", *FEW, "--resume"], "has no evaluation.json"),
        (["--output-path", "out", *FEW, "--resume"], "has no evaluation.json"),
        (["--score", "out"], "has no evaluation.json"),
        (["--score", "out", "--report", "binary"], "it is no folder"),
        (["--score", "x\x00y"], "is no path"),
        (["--output-path", "out", *FEW, "--target", "./no/such/folder"], "./no/such/folder"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)
def test_bad_input_is_one_line_and_exit_code_two(capsys, tmp_path, monkeypatch, arguments, named):
    """Catches models loaded, or a folder made, before what was typed is checked."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    assert named in refused(capsys, "eval", *arguments)
    assert [file.name for file in tmp_path.iterdir()] == ["binary"]


@pytest.mark.slow
def test_a_folder_that_cannot_be_made_is_named(capsys, pair_flags, tmp_path):
    (tmp_path / "file").write_text("")
    told = refused(capsys, "eval", *FEW, *METHODS, *pair_flags, "--output-path", str(tmp_path / "file" / "out"))
    assert "cannot write" in told


@pytest.mark.slow
def test_two_processes_give_the_predictions_of_one(capsys, pair_flags, tmp_path):
    """Catches a seed that depends on the process, and answers that are lost or doubled in the merge."""
    flags = ["eval", *FEW, "--limit", "3", *METHODS, *pair_flags]
    code, _, _ = run(capsys, *flags, "--output-path", str(tmp_path / "one"))
    assert code == 0
    launch = [sys.executable, "-m", "accelerate.commands.launch", "--multi_gpu", "--num_processes", "2",
              "--num_machines", "1", "--mixed_precision", "no", "--dynamo_backend", "no",
              "--main_process_port", "0"]  # fmt: skip
    command = [*launch, "-m", "dsbd", *flags, "--output-path", str(tmp_path / "two")]
    done = subprocess.run(command, capture_output=True, text=True, cwd=ROOT, timeout=500)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("dsbd same-law") == 1  # the first process alone shows the table
    found = {}
    for name in ("one", "two"):
        lines = (tmp_path / name / "predictions.jsonl").read_text(encoding="utf-8").splitlines()
        found[name] = [json.loads(line) for line in lines]
    told = ("contender", "task", "question", "turn", "seed", "prompt", "text", "layers", "drafting", "widths", "ended")
    assert [{key: one[key] for key in told} for one in found["two"]] == [
        {key: one[key] for key in told} for one in found["one"]
    ]
    assert {one["processes"] for one in found["one"]} == {1}
    assert {one["processes"] for one in found["two"]} == {2}
    assert sorted(path.name for path in (tmp_path / "two").glob("pred*")) == ["predictions.jsonl"]
