"""``python -m dsbd bench`` as a user and a program meet it."""

import json

import pytest

from dsbd.__main__ import parser
from dsbd.commands.bench import contest_of
from tests.command_line import refused, run


def bench(capsys, *arguments: str) -> tuple[int, str, str]:
    return run(capsys, "bench", *arguments)


@pytest.fixture
def short(pair_flags, tmp_path):
    """Return the flags of a bench that takes a second."""
    prompts = tmp_path / "prompts.txt"
    prompts.write_text("Once\n\nThe fox\nOnce\n", encoding="utf-8")
    return [*pair_flags, "--prompts", str(prompts), "--seeds", "1", "--max-new-tokens", "4"]


def test_a_list_is_one_value_of_a_sweep():
    """Catches a branching whose signs are taken for the ones between values."""
    flags = ["--methods", "specinfer,sampling", "--branching", "4x2x2,3x1"]
    found = {one.name: one.settings for one in contest_of(parser().parse_args(["bench", *flags])).contenders}
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
    table = summary["tables"]["prompts"]
    assert [row["contender"] for row in table["rows"]] == [
        "dsbd defaults draft_depth=1", "dsbd defaults draft_depth=2", "dsbd same-law draft_depth=1",
        "dsbd same-law draft_depth=2", "beam_sampling", "hf_beam_sampling",
    ]  # fmt: skip
    assert table["baselines"] == ["beam_sampling", "hf_beam_sampling"]
    assert table["questions"] == 2  # an empty line is no prompt, a repeated one counts once
    lines = [json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()]
    assert sum(line["record"] == "decode" for line in lines) == 12
    assert summary["control"]["row"] > 0
    assert [line["record"] for line in lines].count("control") == 1
    assert set(lines[0]["conditions"]) == {"machine", "versions", "models"}
    assert report.read_text(encoding="utf-8").startswith("<!doctype html>")
    assert "add --resume to continue it" in refused(capsys, "bench", *flags)
    code, again, _ = bench(capsys, *flags, "--resume")  # nothing is missing: the same figures again
    assert json.loads(again) == summary


def test_a_grid_stands_alone_or_beside_methods():
    """Catches a grid that drops the methods asked for, and one that adds the default methods unasked."""

    def asked(*flags: str) -> list[str]:
        parsed = parser().parse_args(["bench", "--grid", "paper-small", *flags])
        return [one.name for one in contest_of(parsed).contenders]

    alone = asked()
    assert [name for name in alone if name.startswith("hf_")] == []
    assert asked("--methods", "hf_beam_sampling,greedy") == [*alone, "hf_beam_sampling", "greedy"]
