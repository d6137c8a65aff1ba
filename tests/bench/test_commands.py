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
    assert "exists; go on with it by --resume" in refused(capsys, *flags, "--output", str(output))
    code, out, _ = run(capsys, *flags, "--methods", "dsbd,beam_sampling")
    assert code == 0
    assert out.startswith("| task ")
    assert "beside beam_sampling" in out
    flags = ["--tasks", "stories", "--limit", "2", "--max-new-tokens", "4", "--methods", "dsbd:exact,beam_sampling"]
    code, out, _ = run(capsys, "eval", *flags, *pair_flags, "--json")
    assert (code, json.loads(out)["complete"], len(json.loads(out)["tables"]["stories"]["rows"])) == (0, True, 2)


def test_a_file_of_prompts_and_an_evaluation_are_shared_and_resumed(capsys, pair_flags, tmp_path, monkeypatch):
    """Catches a flag that is not passed on."""
    prompts, output = tmp_path / "in.jsonl", tmp_path / "out.jsonl"
    prompts.write_text("\n".join(json.dumps({"prompt": text}) for text in ("Once", "a" * 200, "One")), encoding="utf-8")
    flags = ["decode", "--prompts", str(prompts), "--output", str(output), "--max-new-tokens", "4", *pair_flags]
    written = []
    for _ in range(2):
        code, out, err = run(capsys, *flags, "--resume", "--json")
        assert (code, json.loads(out)) == (0, {"output": str(output), "prompts": 3, "failed": 1})
        assert "1 prompts failed" in err
        written.append([json.loads(line) for line in output.read_text(encoding="utf-8").splitlines()])
    assert written[0] == written[1]
    _, first, second, _ = written[0]
    assert (first["id"], len(first["token_ids"]), second["id"]) == ("1", 4, "2")
    assert "exceeds the context" in second["error"]
    files, chosen = [], ["--limit", "2", "--max-new-tokens", "2", "--methods", "sampling"]
    for rank in ("0", "1"):
        monkeypatch.setenv("RANK", rank)
        monkeypatch.setenv("WORLD_SIZE", "2")
        code, out, err = run(capsys, "eval", "--tasks", "stories", *chosen, "--output", str(output), *pair_flags)
        files.append(str(output.with_name(f"out.{rank}-of-2.jsonl")))
        assert (code, out, f"{files[-1]} has shard {rank} of 2" in err) == (0, "", True)
    code, out, _ = run(capsys, "report", *files, "--json")
    assert (code, json.loads(out)["tables"]["stories"]["questions"]) == (0, 2)
    code, out, err = run(capsys, "report", files[0])
    assert (code, out.startswith("| task "), "1 decodes are missing" in err) == (1, True, True)
