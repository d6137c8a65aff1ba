"""The scripts of ``benchmarks/`` run at a small size: the script for a GPU runs here on two tiny models."""

import argparse
import importlib.util
import json
from pathlib import Path

import pytest

from benchmarks.twin import SHAPES
from dsbd.models.loading import load_pair

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
        [
            "--size",
            "tiny",
            "--max-new-tokens",
            "3",
            "--limit",
            "1",
            "--seeds",
            "1",
            "--results",
            str(tmp_path),
            "--points",
            "defaults,auto-same-law",
        ]
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


def test_the_gpu_script_asks_for_nothing_that_a_twin_refuses():
    """Catches a method that a vocabulary as large as a twin's is too much for: it would end the measurement midway."""
    gpu = script("gpu")
    methods, _, _ = gpu.contents("methods", gpu.flags().parse_args([]))
    assert {"dsbd", "beam_sampling", "mjsd", "hf_sampling"} <= set(methods)
    assert "mjgd" not in methods


@pytest.mark.slow
def test_the_gpu_script_loads_a_twin(tmp_path):
    """Catches a twin of the bundled target that does not form a pair with the bundled draft."""
    gpu = script("gpu")
    asked = argparse.Namespace(size="tiny", draft="bundled", device="cpu", dtype="bfloat16", engine="eager")
    pair = gpu.load(asked, tmp_path)
    assert pair.checks["target"].passed
    assert pair.target.config.hidden_size == SHAPES["tiny"].hidden_size
    assert pair.target.dtype == pair.draft.dtype


def visited(size, **changed):
    """What a visit finds."""
    figures = {
        "size": size, "first_forest_s": 2.5, "first_forest_y": 371, "viewer_forest_y": 421, "step_ms": 7.5,
        "step_p90_ms": 9.0, "kilobytes": 628, "requests": 79, "elsewhere": 0,
    }  # fmt: skip
    return figures | changed


def test_the_page_script_writes_its_table_between_its_marks():
    """Catches a table that eats the text around it, and one that hides how far visits differ."""
    page = script("page_load")
    found = [visited("1280x800"), visited("1280x800", first_forest_s=3.0, step_ms=8.5), visited("390x844")]
    told = page.table(found, "on two cores")
    assert "| 1280×800 | y = 371 | y = 421 | 2.5 to 3.0 | 8.0 (9.0) |" in told
    assert "| 390×844 | y = 371 | y = 421 | 2.5 | 7.5 (9.0) |" in told
    assert "628 KB" in told
    before = f"# Title\n{page.BEGIN}old\n{page.END}after\n"
    assert page.written(before, told) == f"# Title\n{page.BEGIN}\n{told}\n{page.END}after\n"
    assert page.written(page.written(before, told), told) == page.written(before, told)
    with pytest.raises(ValueError, match="has no lines <!-- page_load -->"):
        page.written("# Title\n", told)


def test_the_documentation_has_the_marks_of_the_page_script():
    page, docs = script("page_load"), BENCHMARKS.parent / "docs" / "page.md"
    assert "told" in page.written(docs.read_text(encoding="utf-8"), "told")
