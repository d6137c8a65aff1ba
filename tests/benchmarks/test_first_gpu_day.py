"""The first day on a GPU, rehearsed on a CPU: every step runs, and runs once, and pages are written."""

import json
import shutil
import time
from pathlib import Path

import pytest
import torch

import dsbd
from benchmarks.first_gpu_day import STEPS, main
from benchmarks.gpu_day.checks import MODES, SMALL_MODES, draws_of_the_cpu
from benchmarks.gpu_day.pages import blocks, filled
from benchmarks.gpu_day.runner import Day, MissingError, Outcome, OutOfTime, Step, budget, kept, run_all
from dsbd.methods import resolve

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gpu.md"


def test_the_page_has_a_place_for_every_step_within_the_hour():
    """Catches a step whose table nobody sees, and a budget that does not fit."""
    names = [step.name for step in STEPS]
    assert sorted(blocks(PAGE.read_text(encoding="utf-8"))) == sorted(names)
    assert "day" in blocks((ROOT / "docs" / "performance.md").read_text(encoding="utf-8"))
    assert sum(step.minutes for step in STEPS) <= 60


def test_a_page_changes_between_the_marks_only():
    page = "a\n<!-- measured: x -->\nold\n<!-- /measured -->\nb <!-- measured: y -->old<!-- /measured --> c"
    new = filled(page, {"x": "| 1 |\n", "y": "2", "z": "3"})
    assert new == page.replace("\nold\n", "\n| 1 |\n").replace(">old<", ">2<")
    assert filled(new, {"x": "old", "y": "old"}) == page


def steps_that(log: list[str]) -> list[Step]:
    def step(name, ending):
        def run(day):
            log.append(name)
            if isinstance(ending, BaseException):
                raise ending
            return ending

        return Step(name, "a toy", 1, run)

    endings = {
        "done": Outcome("| table |", {"figure": 1}),
        "stopped": Outcome("| part |", {}, complete=False),
        "late": OutOfTime(),
        "skipped": MissingError("no weights of toy/model"),
        "failed": RuntimeError("CUDA error: an illegal memory access\nmore"),
    }
    return [step(name, ending) for name, ending in endings.items()]


def test_what_is_done_is_not_done_again_and_an_error_ends_one_step(tmp_path):
    """Catches a day that ends at its first error, and a step that is measured twice."""
    day, log = Day("cpu", tmp_path, small=True), []
    steps = steps_that(log)
    states = {step.name: found.state for step, found in run_all(day, steps, alone=False)}
    assert states == {"done": "done", "stopped": "stopped", "late": "stopped", "skipped": "skipped", "failed": "failed"}
    assert json.loads(day.file("done").read_text())["data"] == {"figure": 1}
    assert kept(day, steps[1]).table == "| part |"
    assert kept(day, steps[3]).table == "not measured: no weights of toy/model"
    assert kept(day, steps[4]).data["error"] == "CUDA error: an illegal memory access"
    list(run_all(day, steps, alone=False))
    assert log == ["done", "stopped", "late", "skipped", "failed", "stopped", "late", "skipped", "failed"]


def test_a_budget_ends_what_takes_longer():
    """Catches an alarm that is not set, and one that rings in the next step."""
    with pytest.raises(OutOfTime), budget(1):
        time.sleep(60)
    with budget(1):
        pass
    time.sleep(1.1)


def test_every_mode_of_the_checks_is_one():
    """Catches a setting that is refused only on the day: the rehearsal runs three of the modes."""
    assert {resolve(dsbd.DecodingSettings(**changes)).method for changes in MODES.values()} >= {"dsbd", "mjsd"}
    assert set(SMALL_MODES) < set(MODES)


def test_a_generator_draws_what_one_of_the_cpu_draws():
    """Catches draws that depend on the device: then ids could not be compared."""
    wanted, ours = torch.Generator().manual_seed(7), torch.Generator().manual_seed(7)
    first = [torch.rand(3, generator=wanted), torch.empty(2, 2).exponential_(generator=wanted)]
    own = torch.rand
    with draws_of_the_cpu():
        second = [torch.rand(3, generator=ours), torch.empty(2, 2).exponential_(generator=ours)]
    assert all(torch.equal(*both) for both in zip(first, second, strict=True))
    assert torch.rand is own
    assert torch.equal(torch.rand(1, generator=ours), torch.rand(1, generator=torch.Generator().manual_seed(7)))


def test_a_rehearsal_writes_no_page_of_the_project(capsys):
    """Catches figures of tiny models in the pages, and a day that begins without a GPU."""
    with pytest.raises(SystemExit):
        main(["--device", "cpu", "--small"])
    assert "separate --results and --pages" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--device", "cpu"])
    assert "there is no GPU here" in capsys.readouterr().err
    with pytest.raises(SystemExit):
        main(["--only", "idz"])
    assert "no step 'idz'" in capsys.readouterr().err


@pytest.mark.slow
def test_a_step_runs_in_a_process_of_its_own(tmp_path, monkeypatch):
    """Catches flags that its process does not know, and a process that ends without a word."""
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    [(step, found)] = run_all(Day("cpu", tmp_path / "results", small=True), STEPS[:1], alone=True)
    assert (step.name, found.state) == ("machine", "done")
    assert found.data["machine"]["device"] == "cpu"


@pytest.mark.slow
def test_every_step_runs_on_a_cpu(tmp_path, monkeypatch, capsys):
    """Catches a mistake that would be found only on the day."""
    monkeypatch.setattr("benchmarks.gpu_day.models.SCRATCH", tmp_path / "scratch")
    pages, results = tmp_path / "pages", tmp_path / "results"
    pages.mkdir()
    shutil.copy(PAGE, pages)
    flags = ["--device", "cpu", "--small", "--results", str(results), "--pages", str(pages)]
    assert main(flags) == 0
    found = {step.name: json.loads((results / f"{step.name}.json").read_text()) for step in STEPS}
    assert {name: one["state"] for name, one in found.items() if one["state"] != "done"} == {"real-pairs": "skipped"}
    assert found["ids"]["data"]["equal"]
    assert found["copies"]["data"]["one"]
    written = blocks((pages / "gpu.md").read_text(encoding="utf-8"))
    assert written["real-pairs"].startswith("not measured: not on this machine: ")
    assert all("| " in text for name, text in written.items() if name != "real-pairs")
    before = {file: file.stat().st_mtime_ns for file in results.glob("*.json") if file.stem != "real-pairs"}
    assert main([*flags, "--only", "ids,machine"]) == 0
    assert main([*flags, "--dry-run"]) == 0
    assert {file: file.stat().st_mtime_ns for file in before} == before
    assert " 53 min at most" in capsys.readouterr().out
