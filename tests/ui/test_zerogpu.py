"""On Hugging Face ZeroGPU every call that uses the models runs in another process; elsewhere nothing changes."""

import importlib.util
import json
import subprocess
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import pytest
from ui.engine import MEASURING_SECONDS
from ui.host.limits import Limits
from ui.zerogpu import on_gpu


def test_a_space_without_zerogpu_decodes_as_everywhere(monkeypatch):
    """Catches a Space that has the package too and decodes on one thread for good."""
    package = ModuleType("spaces")
    package.__spec__ = ModuleSpec("spaces", None)
    package.GPU = lambda duration: lambda task: task
    monkeypatch.setitem(sys.modules, "spaces", package)
    assert on_gpu(list) is list


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("spaces") is None, reason="runs wherever spaces is installed")
def test_the_wrappers_of_spaces_carry_all_of_it():
    """Catches a call that runs in the process of the page, which has no GPU; a process that hangs on the threads of the
    page; an error, a plan, a stop or a pair that is lost between the two; trials that are made again at every loan;
    "internal server error" where the visitor's time on the GPU is used up."""
    command = [sys.executable, "-m", "tests.ui.lent_page"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found.pop("forwards here"), found.pop("plans")) == (0, 1)
    got = {name: events for name, (events, _) in found.items()}
    asked = {name: seconds for name, (_, seconds) in found.items()}
    assert [got[name][-1] for name in ("decode", "pair that came later")] == ["trace"] * 2
    assert (got["error"][0], got["race"][-1], got["no time left"][0]) == ("PromptError", "runs", "PageError")
    assert "3s left" in got["no time left"][1]
    assert got["first auto"].count("before") > 3
    assert "before" not in got["second auto"]
    assert "StoppedError" in got["stopped"]
    (short,), (raced,) = asked["decode"], asked["race"]
    assert short < Limits().decode_seconds, "a visitor has minutes a day"
    assert short < raced <= Limits().evaluate_seconds
    assert asked["first auto"][0] >= asked["second auto"][0] + MEASURING_SECONDS
