"""``bench`` and ``eval`` as a user meets them."""

import json

import pytest

from tests.command_line import refused, run


@pytest.mark.slow
def test_a_bench_and_an_evaluation_write_lines_and_a_table(capsys, pair_flags, tmp_path):
    prompts, output = tmp_path / "prompts.txt", tmp_path / "runs.jsonl"
    prompts.write_text("Once\n\nThe fox\nOnce\n", encoding="utf-8")
    flags = ["bench", *pair_flags, "--prompts", str(prompts), "--seeds", "1", "--max-new-tokens", "4"]
    code, out, _ = run(capsys, *flags, "--output", str(output), "--draft-depth", "1", "--json")
    assert (code, out.count("\n")) == (0, 1)
    table = json.loads(out)["tables"]["prompts"]
    names = [row["system"] for row in table["rows"]]
    assert names == ["dsbd defaults", "dsbd exact", "beam_sampling", "hf_beam_sampling"]
    assert table["questions"] == 2  # an empty line is no prompt, a repeated one counts once
    lines = [json.loads(line)["record"] for line in output.read_text(encoding="utf-8").splitlines()]
    assert lines == ["conditions", *["decode"] * 8]
    assert "exists; name another --output" in refused(capsys, *flags, "--output", str(output))
    code, out, _ = run(capsys, *flags, "--methods", "dsbd,beam_sampling")
    assert code == 0
    assert out.startswith("| task ")
    assert "beside beam_sampling" in out
    flags = ["--tasks", "stories", "--limit", "2", "--max-new-tokens", "4", "--methods", "dsbd:exact,beam_sampling"]
    code, out, _ = run(capsys, "eval", *flags, *pair_flags, "--json")
    assert (code, json.loads(out)["complete"], len(json.loads(out)["tables"]["stories"]["rows"])) == (0, True, 2)
