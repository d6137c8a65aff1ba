"""The first day on a GPU, rehearsed on a CPU: a step runs once, within its budget, and pages are written."""

import json
import shutil
from argparse import Namespace
from pathlib import Path

import pytest
import torch

from benchmarks import first_gpu_day
from benchmarks.first_gpu_day import STEPS, Step, blocks, main, run
from benchmarks.gpu_checks import MODES, draws_of_the_cpu
from dsbd.methods import resolve
from dsbd.settings import DecodingSettings

ROOT = Path(__file__).resolve().parents[2]
PAGE = ROOT / "docs" / "gpu.md"


def test_the_page_has_a_place_for_every_step_within_the_hour():
    """Catches a step whose table nobody sees, a budget that does not fit, and a mode that is refused on the day."""
    assert {*blocks(PAGE.read_text(encoding="utf-8")), "twins"} == {step.name for step in STEPS}
    assert "day" in blocks((ROOT / "docs" / "performance.md").read_text(encoding="utf-8"))
    assert sum(step.minutes for step in STEPS) <= 60
    assert {resolve(DecodingSettings(**changes)).method for changes in MODES.values()} >= {"dsbd", "mjsd"}


def test_a_budget_ends_what_takes_longer(tmp_path, monkeypatch):
    """Catches a day that hangs in one step, and a bench that loses what it has measured."""
    asked = Namespace(device="cpu", results=tmp_path, small=False)
    endless = "print('| part |', flush=True)\ntry:\n    time.sleep(60)\nexcept KeyboardInterrupt:\n    sys.exit(130)"
    command = [first_gpu_day.sys.executable, "-c", f"import sys, time\n{endless}"]
    monkeypatch.setattr(first_gpu_day, "command_of", lambda step, asked: command)
    kept = run(Step("late", 1 / 30, ""), asked)
    assert (kept["state"], kept["table"]) == ("stopped", "| part |")
    assert json.loads((tmp_path / "late.json").read_text()) == kept


def test_a_generator_draws_what_one_of_the_cpu_draws():
    """Catches draws that depend on the device: then ids could not be compared."""
    wanted, ours = torch.Generator().manual_seed(7), torch.Generator().manual_seed(7)
    first = [torch.rand(3, generator=wanted), torch.empty(2, 2).exponential_(generator=wanted)]
    own = torch.rand
    with draws_of_the_cpu():
        second = [torch.rand(3, generator=ours), torch.empty(2, 2).exponential_(generator=ours)]
    assert all(torch.equal(*both) for both in zip(first, second, strict=True))
    assert torch.rand is own


def test_what_would_measure_nothing_is_refused(capsys):
    for flags, said in (
        (["--device", "cpu", "--small"], "separate --results and --pages"),
        (["--device", "cpu"], "there is no GPU here"),
        (["--only", "idz"], "no step 'idz'"),
    ):
        with pytest.raises(SystemExit):
            main(flags)
        assert said in capsys.readouterr().err


@pytest.mark.slow
def test_steps_run_on_a_cpu_and_only_once(tmp_path):
    """Catches a mistake that would be found only on the day."""
    pages, results = tmp_path / "pages", tmp_path / "results"
    pages.mkdir()
    shutil.copy(PAGE, pages)
    flags = ["--device", "cpu", "--small", "--results", str(results), "--pages", str(pages)]
    flags += ["--only", "ids,copies,twins,scale-widths,quality"]
    assert main(flags) == 0
    written = blocks((pages / "gpu.md").read_text(encoding="utf-8"))
    assert "beam_sampling | equal" in written["ids"]
    assert "| dsbd same-law" in written["scale-widths"]
    assert written["eager"] == "not measured"
    before = {file: file.stat().st_mtime_ns for file in results.iterdir()}
    assert main(flags) == 0
    assert {file: file.stat().st_mtime_ns for file in results.iterdir()} == before
