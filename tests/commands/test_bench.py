"""``python -m dsbd bench`` as a user and a program meet it."""

import json

import pytest

from dsbd.__main__ import parser
from dsbd.commands.bench_flags import baselines_of, contest_of, prompts_of
from dsbd.measure.bench import bench as bench_module
from dsbd.models import loading as loading_module
from tests.command_line import refused, run


def bench(capsys, *arguments: str) -> tuple[int, str, str]:
    return run(capsys, "bench", *arguments)


@pytest.fixture
def short(pair_flags, tmp_path):
    """Return the flags of a bench that takes a second."""
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("Once\n\nThe fox\nOnce\n", encoding="utf-8")
    return [*pair_flags, "--prompts", str(prompts), "--seeds", "1", "--max-new-tokens", "4"]


def test_a_bench_of_trees_takes_several():
    """Catches branchings whose commas are taken for the ones between values."""
    asked = parser().parse_args(["bench", "--methods", "specinfer,sampling", "--branching", "4x2x2,3x1"])
    found = {contender.name: contender.settings for contender in contest_of(asked).contenders}
    assert list(found) == ["specinfer branching=4x2x2", "specinfer branching=3x1", "sampling"]
    assert found["specinfer branching=3x1"].branching == (3, 1)


@pytest.mark.slow
def test_a_bench_writes_lines_summary_and_report(capsys, short, tmp_path):
    output, report = tmp_path / "runs.jsonl", tmp_path / "report.html"
    flags = [*short, "--output", str(output), "--report", str(report), "--draft-depth", "1,2", "--json"]
    code, out, _ = bench(capsys, *flags)
    assert code == 0
    summary = json.loads(out)
    assert out.count("\n") == 1
    assert [row["contender"] for row in summary["contenders"]] == [
        "dsbd defaults draft_depth=1", "dsbd defaults draft_depth=2", "dsbd same-law draft_depth=1",
        "dsbd same-law draft_depth=2", "beam_sampling", "hf_beam_sampling",
    ]  # fmt: skip
    assert summary["prompts"] == 2  # an empty line is no prompt, a repeated one counts once
    lines = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert sum(line["record"] == "run" for line in lines) == 12
    assert set(lines[0]) == {"record", "format", "machine", "versions", "models"}
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")
    code, again, _ = bench(capsys, *flags)  # nothing is missing: the same figures again
    assert json.loads(again) == summary


@pytest.mark.slow
def test_the_table_is_for_people(capsys, short):
    code, out, _ = bench(capsys, *short, "--methods", "dsbd,beam_sampling", "--points", "same-law")
    assert code == 0
    assert "| dsbd same-law / beam_sampling " in out


@pytest.mark.slow
def test_stopping_keeps_what_is_done(capsys, short, tmp_path, monkeypatch):
    """Catches a stop that loses the runs, and one that looks like success to a script."""
    output, real = tmp_path / "runs.jsonl", bench_module.measure

    def stopped_after_five(*arguments):
        for count, step in enumerate(real(*arguments)):
            if count == 5:
                raise KeyboardInterrupt
            yield step

    monkeypatch.setattr(bench_module, "measure", stopped_after_five)
    code, out, _ = bench(capsys, *short, "--output", str(output), "--methods", "dsbd,beam_sampling", "--json")
    assert code == 130
    assert json.loads(out)["complete"] is False
    assert sum('"record": "run"' in line for line in output.read_text().splitlines()) == 3
    monkeypatch.undo()
    code, out, _ = bench(capsys, *short, "--output", str(output), "--methods", "dsbd,beam_sampling", "--json")
    assert (code, json.loads(out)["complete"]) == (0, True)


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--methods", "magic"], "'magic'"),
        (["--methods", ""], "methods is empty"),
        (["--points", "best"], "'best'"),
        (["--baselines", "beam_sampling,slowest"], "'slowest'"),
        (["--grid", "large"], "'large'"),
        (["--grid", "paper", "--draft-width", "3"], "sweeps draft_width"),
        (["--grid", "paper", "--methods", "sampling"], "has sampling already"),
        (["--draft-depth", "two"], "'two'"),
        (["--draft-depth", "99"], "draft_depth is 99"),
        (["--temperature", "hot"], "'hot'"),
        (["--replacement", "perhaps"], "'perhaps'"),
        (["--seed", "1,2"], "--seeds N"),
        (["--seeds", "0"], "seeds is 0"),
        (["--limit", "0"], "limit is 0"),
        (["--prompts", "/no/such/file"], "/no/such/file"),
        (["--output", "/no/such/folder/x.jsonl"], "/no/such/folder"),
        (["--report", "/no/such/folder/x.html"], "/no/such/folder"),
        (["--target", "./no/such/folder"], "./no/such/folder"),
        (["--surprise"], "--surprise"),
    ],
    ids=" ".join,
)
def test_bad_input_is_one_line_and_exit_code_two(capsys, arguments, named):
    assert named in refused(capsys, "bench", *arguments)


def test_a_grid_stands_alone_or_beside_methods():
    """Catches a grid that drops the methods asked for, and one that adds the default methods unasked."""

    def asked(*flags: str) -> tuple[list[str], list[str]]:
        parsed = parser().parse_args(["bench", "--grid", "paper-small", *flags])
        contest = contest_of(parsed)
        return [one.name for one in contest.contenders], baselines_of(parsed, contest)

    alone, baselines = asked()
    assert [name for name in alone if name.startswith("hf_")] == []
    assert baselines[0] in alone
    beside, _ = asked("--methods", "hf_beam_sampling,greedy")
    assert beside == [*alone, "hf_beam_sampling", "greedy"]
    assert asked("--baselines", "sampling")[1] == ["sampling"]


def test_a_prompt_too_long_is_found_before_anything_runs(capsys, short, tmp_path):
    (tmp_path / "prompts.txt").write_text("x" * 200, encoding="utf-8")
    code, _, err = bench(capsys, *short, "--output", str(tmp_path / "runs.jsonl"))
    assert code == 2
    assert "exceeds the context" in err
    assert not (tmp_path / "runs.jsonl").exists()


@pytest.mark.slow
def test_another_model_is_refused(capsys, short, tmp_path, monkeypatch):
    """Catches figures of two models in one file: they would be averaged."""
    output = str(tmp_path / "runs.jsonl")
    assert bench(capsys, *short, "--output", output, "--methods", "beam_sampling")[0] == 0
    swapped = [*short, "--target", short[short.index("--draft") + 1]]
    code, _, err = bench(capsys, *swapped, "--output", output, "--methods", "beam_sampling")
    assert code == 2
    assert "other conditions: models.target" in err
    monkeypatch.setattr(loading_module, "loading", None)  # from here on no model is loaded
    lines = (tmp_path / "runs.jsonl").read_text().replace('"torch": "', '"torch": "0.')
    for written, said in (
        (lines, "other conditions: versions.torch"),
        ('{"record": "x"}\n', "is not a file of a bench"),
    ):
        (tmp_path / "runs.jsonl").write_text(written)
        assert said in refused(capsys, "bench", *short, "--output", output, "--methods", "beam_sampling")


def test_the_prompts_that_come_along():
    assert len(prompts_of(None)) >= 12
    assert prompts_of(None, 3) == prompts_of(None)[:3]


def test_a_histogram_of_widths_is_one_value():
    """Catches a list of weights that is taken for a sweep."""
    asked = parser().parse_args(["bench", "--methods", "random_width", "--width-weights", "0:3:1,1:1"])
    weights = [contender.settings.width_weights for contender in contest_of(asked).contenders]
    assert weights == [(0.0, 3.0, 1.0), (1.0, 1.0)]
