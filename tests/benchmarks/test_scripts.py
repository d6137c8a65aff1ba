"""The scripts of ``benchmarks/`` run at a small size: the script for a GPU runs here on two tiny models."""

import argparse
import importlib.util
import json
from pathlib import Path

import pytest

from benchmarks.twin import SHAPES
from dsbd.models.pair import load_pair

BENCHMARKS = Path(__file__).resolve().parents[2] / "benchmarks"


def script(name):
    """Load a script as a module by its path, as its user does."""
    spec = importlib.util.spec_from_file_location(name, BENCHMARKS / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def small_pair(toy_folders):
    return load_pair(toy_folders["target"], toy_folders["draft"], "cpu", "float32")


@pytest.mark.slow
def test_the_gpu_script_runs_every_part_on_a_cpu(small_pair, tmp_path, capsys):
    """Catches a mistake in the script that would be found only on a GPU machine."""
    gpu = script("gpu")
    asked = gpu.flags().parse_args(
        ["--size", "tiny", "--max-new-tokens", "3", "--limit", "1", "--seeds", "1", "--results", str(tmp_path)]
    )
    report = gpu.measure(small_pair, asked)
    assert json.loads((tmp_path / "tiny-cpu.json").read_text()) == report
    assert {row["method"] for row in report["methods"]["contenders"]} >= {"dsbd", "greedy", "hf_assisted"}
    swept = [row["settings"]["num_beams"] for row in report["widths"]["contenders"] if row["method"] == "dsbd"]
    assert swept == [2, 4, 6, 8]
    depths = [row["settings"]["draft_depth"] for row in report["depths"]["contenders"] if row["method"] == "dsbd"]
    assert depths == [2, 4, 6, 8] * 2
    assert report["methods"]["forwards"]["target"]["milliseconds"]["1"] > 0
    assert "Energy: not measured." in capsys.readouterr().out
    lines = (tmp_path / "tiny-cpu.jsonl").read_text().splitlines()
    gpu.measure(small_pair, asked)  # continues the file: nothing is run twice
    assert (tmp_path / "tiny-cpu.jsonl").read_text().splitlines() == lines


@pytest.mark.slow
def test_the_gpu_script_loads_a_twin(tmp_path):
    """Catches a twin of the bundled target that does not form a pair with the bundled draft."""
    gpu = script("gpu")
    asked = argparse.Namespace(size="tiny", draft="bundled", device="cpu", dtype="bfloat16", engine="eager")
    pair = gpu.load(asked, tmp_path)
    assert pair.checks["target"].passed
    assert pair.target.config.hidden_size == SHAPES["tiny"].hidden_size
    assert pair.target.dtype == pair.draft.dtype


@pytest.mark.slow
def test_the_scaling_script_sweeps_every_axis(toy_folders, tmp_path, capsys):
    output, report = tmp_path / "scaling.json", tmp_path / "scaling.html"
    script("scaling").main(
        ["--target", toy_folders["target"], "--draft", toy_folders["draft"], "--dtype", "float32", "--seeds", "1",
         "--max-new-tokens", "4", "--largest", "16", "--output", str(output), "--report", str(report)]
    )  # fmt: skip
    data = json.loads(output.read_text())
    assert {row["axis"] for row in data["rows"]} == {"prompt_tokens", "num_beams", "draft_depth", "max_new_tokens"}
    for row in data["rows"]:
        assert row["limit_milliseconds_per_token"] > 0
        assert row["measured_over_limit"] > 0
    assert [row["prompt_tokens"] for row in data["rows"] if row["axis"] == "prompt_tokens"] == [16] * 3
    assert report.stat().st_size > 1_000_000
    assert "measured / limit" in capsys.readouterr().out
