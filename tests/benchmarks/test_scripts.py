"""The scripts of ``benchmarks/`` run at a small size: the script for a GPU runs here on two tiny models."""

import argparse
import importlib.util
import json
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from benchmarks.twin import SHAPES
from dsbd.evaluation.tables import read_table
from dsbd.models.loading import load_pair
from tests.toy_pair import toy_pair

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


@pytest.mark.slow
def test_the_acceptance_script_counts_every_layer(pair_flags, tmp_path, capsys):
    output, report = tmp_path / "acceptance.json", tmp_path / "acceptance.html"
    script("acceptance").main(
        [*pair_flags, "--limit", "2", "--seeds", "2", "--max-new-tokens", "6", "--output", str(output),
         "--report", str(report)]
    )  # fmt: skip
    data = json.loads(output.read_text())
    assert [one["contender"] for one in data["tables"]] == ["dsbd defaults", "dsbd same-law"]
    for one in data["tables"]:
        counts = [sum(found["layers"] for found in one[panel]) for panel in ("by_layer", "by_position", "by_entropy")]
        assert len(set(counts)) == 1
        assert counts[0] > 0
    assert report.stat().st_size > 1_000_000
    assert "| entropy " in capsys.readouterr().out


@pytest.mark.slow
def test_the_memory_script_measures_each_point_in_a_process(pair_flags, tmp_path, capsys, monkeypatch):
    """The first point runs in a new process, the others as a new process would run them."""
    memory, output, commands = script("forest_memory"), tmp_path / "memory.json", []
    started = subprocess.run

    def run(command, **how):
        commands.append(command)
        if len(commands) == 1:
            return started(command, **how)
        memory.main(command[3:])
        return subprocess.CompletedProcess(command, 0, capsys.readouterr().out)

    monkeypatch.setattr(memory.subprocess, "run", run)
    memory.main([*pair_flags, "--contexts", "32", "--widths", "4", "--output", str(output)])
    assert [command[:3] for command in commands] == [[sys.executable, "-m", "benchmarks.forest_memory"]] * 3
    rows = json.loads(output.read_text())["rows"]
    assert [(row["way"], row["nodes"]) for row in rows] == [
        ("one row", 16), ("a cache per path", 16), ("a row per path", 16)
    ]  # fmt: skip
    assert all(row["peak_bytes"] is None or row["peak_bytes"] >= 0 for row in rows)
    assert "keys and values MB" in capsys.readouterr().out


def test_the_ways_of_the_memory_script_hold_what_they_say():
    """Catches a rival whose copies are views of one cache: it would look as small as the one row."""
    memory, target = script("forest_memory"), toy_pair().target
    slot = 2 * 2 * 2 * 8 * 8  # keys and values, layers, heads, their dimensions, bytes of float64
    with torch.inference_mode():
        held = {name: way(target, 32, 4, 3) for name, way in memory.WAYS.items()}
    assert held["a cache per path"] == 4 * (32 + 3) * slot
    assert (32 + 4 * 3) * slot <= held["one row"] < held["a cache per path"]
    assert held["a row per path"] == 0


@pytest.mark.slow
def test_the_width_script_compares_with_the_counted_widths(pair_flags, tmp_path, capsys):
    """Catches arms of other widths than those that were counted: they would not isolate the rule."""
    output, report = tmp_path / "table.json", tmp_path / "table.html"
    script("dynamic_width").main(
        [*pair_flags, "--limit", "2", "--max-new-tokens", "6", "--work", str(tmp_path / "work"),
         "--output", str(output), "--report", str(report)]
    )  # fmt: skip
    table = read_table(json.loads(output.read_text()))
    dynamic, fixed, chance, rule, beams = table.rows
    mean = round(dynamic.mean_width)
    assert [row.method for row in table.rows] == [
        "dsbd",
        "dsbd",
        "random_width",
        "width_rule_sampling",
        "beam_sampling",
    ]
    assert fixed.settings.min_width == fixed.settings.max_width == beams.settings.num_beams == mean
    weights = dict(enumerate(chance.settings.width_weights, 1))
    assert {width: count for width, count in weights.items() if count} == dynamic.widths
    assert rule.settings.draft_width == dynamic.settings.draft_width
    assert (table.baseline, dynamic.difference) == ("dynamic", None)
    assert report.stat().st_size > 1_000_000
    assert "### Differences to dynamic" in capsys.readouterr().out


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
