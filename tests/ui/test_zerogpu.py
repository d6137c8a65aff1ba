"""On Hugging Face ZeroGPU every call that uses the models runs in another process; elsewhere nothing changes."""

import importlib.util
import json
import subprocess
import sys
from importlib.machinery import ModuleSpec
from types import ModuleType

import gradio as gr
import pytest
import torch

from dsbd.settings import DecodingSettings
from tests.toy_pair import toy_pair_on
from tests.ui.served import form_values
from ui.engine import MEASURING_SECONDS, Engine
from ui.host.limits import Limits
from ui.jobs import recorded_decode
from ui.runs import decode


def lending(monkeypatch, lend) -> Engine:
    """An engine where ``spaces`` is a package that lends by this function of a task."""
    package = ModuleType("spaces")
    package.__spec__ = ModuleSpec("spaces", None)
    package.GPU = lambda duration: lend
    monkeypatch.setitem(sys.modules, "spaces", package)
    return Engine(toy_pair_on("eager"))


@pytest.mark.parametrize(
    ("lend", "during"), [(lambda task: task, 2), (lambda task: lambda *given: task(*given), 1)], ids=["nothing", "here"]
)
def test_threads_are_given_back(monkeypatch, lend, during):
    """Catches a Space without ZeroGPU, which has the package too, that decodes on one thread for good."""
    engine, threads, seen = lending(monkeypatch, lend), torch.get_num_threads(), set()
    torch.set_num_threads(2)
    engine.pair.target.model.register_forward_pre_hook(lambda *_: seen.add(torch.get_num_threads()))
    try:
        with engine.visitors.run("me", 100) as stop:
            list(engine.run(recorded_decode(engine.limits, "Once", DecodingSettings(max_new_tokens=4)), stop))
        assert (max(seen), torch.get_num_threads()) == (during, 2)
    finally:
        torch.set_num_threads(threads)


def test_what_the_lender_says_is_what_the_visitor_reads(monkeypatch):
    """Catches "internal server error" where the visitor's time on the GPU is used up."""

    def refuse(*_):
        raise gr.Error("You have 3 s left")

    engine = lending(monkeypatch, lambda task: refuse)
    *_, last = decode.run(engine, "me", "Once", "greedy", *form_values())
    assert "You have 3 s left." in last.problem
    with pytest.raises(gr.Error, match="You have 3 s left"):
        list(decode.decode(engine, "me", "Once"))


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("spaces") is None, reason="runs wherever spaces is installed")
def test_the_wrappers_of_spaces_carry_all_of_it():
    """Catches a call that runs in the process of the page, which has no GPU; a process that hangs on the threads of the
    page; an error, a plan, a stop or a pair that is lost between the two; trials that are made again at every loan."""
    command = [sys.executable, "-m", "tests.ui.lent_page"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=300, check=True)
    found = json.loads(done.stdout.splitlines()[-1])
    assert (found.pop("forwards here"), found.pop("plans")) == (0, 1)
    got = {name: events for name, (events, _) in found.items()}
    asked = {name: seconds for name, (_, seconds) in found.items()}
    assert [got[name][-1] for name in ("decode", "longer", "pair that came later")] == ["trace"] * 3
    assert (got["error"][0], got["race"][-1], got["no time left"][0]) == ("PromptError", "runs", "PageError")
    assert "3s left" in got["no time left"][1]
    assert got["first auto"].count("before") > 3
    assert "before" not in got["second auto"]
    assert "StoppedError" in got["stopped"]
    (short,), (longer,), (raced,) = asked["decode"], asked["longer"], asked["race"]
    assert short < longer <= Limits().decode_seconds, "a visitor has minutes a day"
    assert short < raced <= Limits().evaluate_seconds
    assert asked["first auto"][0] >= asked["second auto"][0] + MEASURING_SECONDS
