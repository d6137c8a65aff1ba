"""``python -m dsbd bench``, ``eval`` and ``doctor`` as a user and a program meet them."""

import json

import pytest

from dsbd.__main__ import parser
from dsbd.commands.contender_flags import contenders_of
from tests.command_line import refused, run


def test_a_list_is_one_value_of_a_sweep():
    """Catches branchings whose signs are taken for the ones between values."""
    flags = ["bench", "--methods", "specinfer,sampling", "--branching", "4x2x2,3x1"]
    found = {one.name: one.settings for one in contenders_of(parser().parse_args(flags))}
    assert list(found) == ["specinfer branching=4x2x2", "specinfer branching=3x1", "sampling"]
    assert found["specinfer branching=3x1"].branching == (3, 1)


@pytest.mark.slow
def test_a_bench_writes_lines_and_a_table(capsys, pair_flags, tmp_path):
    prompts, output = tmp_path / "prompts.txt", tmp_path / "runs.jsonl"
    prompts.write_text("Once\n\nThe fox\nOnce\n", encoding="utf-8")
    flags = ["bench", *pair_flags, "--prompts", str(prompts), "--seeds", "1", "--max-new-tokens", "4"]
    code, out, _ = run(capsys, *flags, "--output", str(output), "--draft-depth", "1,2", "--json")
    assert (code, out.count("\n")) == (0, 1)
    table = json.loads(out)["tables"]["prompts"]
    assert [row["contender"] for row in table["rows"]] == [
        "dsbd defaults draft_depth=1", "dsbd defaults draft_depth=2", "dsbd same-law draft_depth=1",
        "dsbd same-law draft_depth=2", "beam_sampling", "hf_beam_sampling",
    ]  # fmt: skip
    assert table["questions"] == 2  # an empty line is no prompt, a repeated one counts once
    lines = [json.loads(line)["record"] for line in output.read_text(encoding="utf-8").splitlines()]
    assert lines == ["conditions", *["decode"] * 12]
    assert "exists; name another --output" in refused(capsys, *flags, "--output", str(output))
    code, out, _ = run(capsys, *flags, "--methods", "dsbd,beam_sampling", "--baseline", "dsbd")
    assert code == 0
    assert out.startswith("| task ")
    assert "beside dsbd" in out


@pytest.mark.slow
def test_an_evaluation_prints_its_table(capsys, pair_flags):
    flags = ["--tasks", "stories", "--limit", "2", "--max-new-tokens", "4", "--methods", "dsbd:same-law,beam_sampling"]
    code, out, _ = run(capsys, "eval", *flags, *pair_flags, "--json")
    report = json.loads(out)
    assert (code, report["complete"]) == (0, True)
    assert [row["contender"] for row in report["tables"]["stories"]["rows"]] == ["dsbd same-law", "beam_sampling"]


@pytest.mark.slow
def test_doctor(capsys, pair_flags):
    code, out, _ = run(capsys, "doctor", "--json", *pair_flags)
    target = json.loads(out)["models"]["target"]
    assert (code, target["check"]["passed"], target["forward_milliseconds"]["1"] > 0) == (0, True, True)
    code, out, _ = run(capsys, "doctor", *pair_flags)
    assert (code, "A forest of 32 tokens costs" in out) == (0, True)
