"""The command line as a program reads it: names, one JSON object, exit codes, one line for bad input."""

import json
import subprocess
import sys
from dataclasses import fields
from pathlib import Path

import pytest

import dsbd
from dsbd.tracing.trace import Trace
from tests.command_line import refused, run

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize("method", dsbd.METHODS)
def test_decode_prints_one_object(capsys, pair_flags, method):
    flags = ["--prompt", "Once", "--max-new-tokens", "5", "--method", method, "--json"]
    code, out, _ = run(capsys, "decode", *flags, *pair_flags)
    assert code == 0
    printed = json.loads(out)
    assert set(printed) == {"text", "token_ids", "beams", "stats", "settings", "models"}
    assert set(printed["beams"][0]) == {
        "text", "token_ids", "log_weight", "score", "finished", "multiplicity"
    }  # fmt: skip
    assert printed["token_ids"] == printed["beams"][0]["token_ids"]
    assert printed["settings"]["method"] == method
    assert printed["stats"]["new_tokens"] == len(printed["token_ids"])
    assert out.count("\n") == 1


def test_every_setting_is_a_flag(capsys, pair_flags):
    """A field added to DecodingSettings is a flag by itself; each value arrives."""
    values = {
        "method": "dsbd", "max_new_tokens": 4, "draft_depth": 2, "draft_width": 3, "min_width": 2, "max_width": 5,
        "width_threshold": 0.4, "replacement": False, "input_beams": 2, "landing": False, "cover_width": 1,
        "num_beams": 2, "temperature": 0.9, "top_k": 20, "top_p": 0.95, "length_penalty": 0.5, "seed": 7,
        "forest": "sampled", "depth_costs": [1.0, 1.5, 2.0], "continuation": 0.6,
    }  # fmt: skip
    assert set(values) == {field.name for field in fields(dsbd.DecodingSettings)}
    flags = []
    for name, value in values.items():
        flag = name.replace("_", "-")
        flags += [f"--no-{flag}"] if value is False else [f"--{flag}", str(value).strip("[]")]
    code, out, _ = run(capsys, "decode", "--prompt", "Once", "--json", *flags, *pair_flags)
    assert code == 0
    assert json.loads(out)["settings"] == values


def test_plain_decode_streams_the_text_alone(capsys, pair_flags):
    flags = ["--prompt", "Once", "--max-new-tokens", "12"]
    _, out, err = run(capsys, "decode", *flags, *pair_flags)
    _, printed, _ = run(capsys, "decode", *flags, *pair_flags, "--json")
    assert out == json.loads(printed)["text"] + "\n"
    assert "tokens/s" in err


def test_trace_verify_and_export(capsys, pair_flags, tmp_path):
    path = str(tmp_path / "t.json.gz")
    code, _, _ = run(capsys, "decode", "--prompt", "Once", "--max-new-tokens", "6", "--trace", path, *pair_flags)
    assert code == 0
    code, out, _ = run(capsys, "verify-trace", path, "--json")
    assert code == 0
    assert json.loads(out)["passed"] is True
    starts = {"html": "<!doctype html>", "svg": "<svg", "tikz": "%", "mermaid": "flowchart", "text": "iteration"}
    for kind, start in starts.items():
        output = tmp_path / f"out.{kind}"
        code, _, _ = run(capsys, "export", path, "--format", kind, "--output", str(output))
        assert code == 0
        assert output.read_text(encoding="utf-8").lower().startswith(start)
    data = Trace.load(path).to_dict()
    data["result"]["text"] = "forged"
    (tmp_path / "forged.json").write_text(json.dumps(data))
    code, out, _ = run(capsys, "verify-trace", str(tmp_path / "forged.json"))
    assert code == 1
    assert "does not follow" in out


def test_compare_prints_one_object(capsys, pair_flags):
    flags = ["--prompt", "Once", "--methods", "dsbd,beam_sampling,greedy", "--runs", "2", "--max-new-tokens", "4"]
    code, out, _ = run(capsys, "compare", *flags, "--json", *pair_flags)
    assert code == 0
    printed = json.loads(out)
    assert [row["method"] for row in printed["methods"]] == ["dsbd", "beam_sampling", "greedy"]
    for row in printed["methods"]:
        assert len(row["seconds"]) == 2
        assert row["perplexity"] > 1
        assert row["best_log_weight"] < 0
        assert row["target_calls"] >= 1
    assert printed["ratios"]["beam_sampling"] == 1.0
    flags = ["--prompt", "Once", "--methods", "greedy", "--runs", "1", "--max-new-tokens", "4", "--json"]
    _, out, _ = run(capsys, "compare", *flags, *pair_flags)
    assert json.loads(out)["ratios"] == {"greedy": None}  # no baseline, no ratio


def test_doctor(capsys, pair_flags):
    code, out, _ = run(capsys, "doctor", "--json", *pair_flags)
    assert code == 0
    report = json.loads(out)
    assert report["checks"]["target"]["passed"] is True
    assert report["target_forward_milliseconds"]["1"] > 0
    assert report["advice"]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["decode", "--prompt", "x", "--draft-depth", "99"], "draft_depth is 99"),
        (["decode", "--prompt", "x", "--draft-depth", "many"], "many"),
        (["decode", "--prompt", "x", "--temperature", "nan"], "temperature is nan"),
        (["decode", "--prompt", "x", "--method", "magic"], "'magic'"),
        (["decode", "--prompt", "x", "--target", "./no/such/folder"], "./no/such/folder"),
        (["decode", "--prompt", "x", "--draft", "./no/such/folder"], "without a target"),
        (["decode", "--prompt", "x", "--device", "toaster"], "toaster"),
        (["decode", "--prompt", "x", "--dtype", "float13"], "float13"),
        (["decode", "--prompt", "x", "--trace", "/no/such/folder/t.json"], "/no/such/folder"),
        (["decode"], "--prompt"),
        (["decode", "--prompt", "x", "--surprise"], "--surprise"),
        (["compare", "--prompt", "x", "--methods", "dsbd,magic"], "magic"),
        (["compare", "--prompt", "x", "--methods", "dsbd,dsbd"], "once"),
        (["compare", "--prompt", "x", "--runs", "0"], "runs is 0"),
        (["verify-trace", "/no/such/file"], "/no/such/file"),
        (["export", "/no/such/file", "--format", "html", "--output", "x.html"], "/no/such/file"),
        (["export", "x", "--format", "pdf", "--output", "x"], "pdf"),
        (["export", "x", "--format", "html", "--output", "x", "--plotly", "web"], "web"),
        (["export", "x", "--format", "html", "--output", "x", "--language", "tlh"], "'tlh'; there are"),
        ([], "COMMAND"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_bad_input_is_one_line_and_exit_code_two(capsys, arguments, named):
    assert named in refused(capsys, *arguments)


def test_help_is_quick_to_load():
    """Help and bad settings must not wait for torch."""
    code = "import sys; from dsbd.__main__ import parser; parser(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "False"
