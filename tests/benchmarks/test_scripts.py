"""The scripts of ``benchmarks/`` run at a small size: the script for a GPU runs here on two tiny models."""

import argparse
import json

import pytest

from benchmarks import gpu
from benchmarks.twin import SHAPES
from dsbd.models.loading import load_pair


@pytest.fixture(scope="module")
def small_pair(toy_folders):
    return load_pair(toy_folders["target"], toy_folders["draft"], "cpu", "float32")


@pytest.mark.slow
def test_the_gpu_script_runs_every_part_on_a_cpu(small_pair, tmp_path, capsys):
    """Catches a mistake in the script that would be found only on a GPU machine."""
    flags = "--size tiny --max-new-tokens 3 --limit 1 --seeds 1 --points defaults,auto-same-law --results"
    asked = gpu.flags().parse_args([*flags.split(), str(tmp_path)])
    report = gpu.measure(small_pair, asked)
    assert json.loads((tmp_path / "tiny-cpu.json").read_text()) == report
    assert {row["method"] for row in report["methods"]["contenders"]} >= {"dsbd", "greedy", "hf_assisted"}
    swept = [row["settings"]["num_beams"] for row in report["widths"]["contenders"] if row["method"] == "dsbd"]
    assert swept == [2, 4, 6, 8]
    depths = [row["settings"]["draft_depth"] for row in report["depths"]["contenders"] if row["method"] == "dsbd"]
    assert depths == [2, 4, 6, 8] * 2
    assert report["methods"]["forwards"]["target"]["milliseconds"]["1"] > 0
    assert "Energy: not measured." in capsys.readouterr().out
    before = {file: file.read_text() for file in tmp_path.glob("*.jsonl")}
    gpu.measure(small_pair, asked)  # continues the files: nothing is run twice
    assert {file: file.read_text() for file in tmp_path.glob("*.jsonl")} == before


def test_the_gpu_script_asks_for_nothing_that_a_twin_refuses():
    """Catches a method that a vocabulary as large as a twin's is too much for: it would end the measurement midway."""
    methods, _, _ = gpu.contents("methods", gpu.flags().parse_args([]))
    assert {"dsbd", "beam_sampling", "mjsd", "hf_sampling"} <= set(methods)
    assert "mjgd" not in methods


@pytest.mark.slow
def test_the_gpu_script_loads_a_twin(tmp_path):
    """Catches a twin of the bundled target that does not form a pair with the bundled draft."""
    asked = argparse.Namespace(size="tiny", draft="bundled", device="cpu", dtype="bfloat16", engine="eager")
    pair = gpu.load(asked, tmp_path)
    assert pair.checks["target"].passed
    assert pair.target.config.hidden_size == SHAPES["tiny"].hidden_size
    assert pair.target.dtype == pair.draft.dtype
