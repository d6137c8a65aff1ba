"""With a lender of GPUs every call that uses the models runs in another process; without, nothing changes."""

import importlib.util
import json
import subprocess
import sys
import threading
from dataclasses import replace
from importlib.machinery import ModuleSpec
from types import ModuleType

import gradio as gr
import pytest
import torch

import dsbd
from dsbd.auto.measuring import known_plans
from dsbd.auto.plan import PlanProgress
from dsbd.errors import PromptError, StoppedError
from dsbd.measure.bench.contenders import Contender
from dsbd.tracing.trace import Trace
from tests.toy_pair import toy_pair_on
from tests.ui.lender import Lender
from ui import zerogpu
from ui.asked.form import FIELDS, shown_value
from ui.engine import MEASURING_SECONDS, Engine
from ui.evaluate import handlers as evaluate
from ui.host.limits import Limits
from ui.jobs import comparison, race_of, recorded_decode
from ui.runs import decode

SHORT = dsbd.DecodingSettings(max_new_tokens=8, draft_depth=2, draft_width=3)
AUTO = dsbd.DecodingSettings(
    max_new_tokens=8, forest="auto", draft_depth="auto", draft_width="auto", cover_width="auto"
)


@pytest.fixture
def lender(monkeypatch):
    lender = Lender()
    monkeypatch.setitem(sys.modules, "spaces", lender)
    yield lender
    lender.close()


@pytest.fixture
def lent(lender) -> Engine:
    """An engine whose models run in another process."""
    return Engine(toy_pair_on("eager"))


def events_of(engine, prompt, settings):
    with engine.visitors.run("me", 100) as stop:
        return list(engine.run(recorded_decode(engine.limits, prompt, settings), stop))


def test_without_the_package_functions_stay_as_they_are(monkeypatch):
    monkeypatch.setattr(importlib.util, "find_spec", lambda name: None)
    assert zerogpu.on_gpu(print) is print


def test_where_nothing_is_lent_the_threads_stay_as_they_are(monkeypatch):
    """Catches a Space without ZeroGPU, which has the package too, that decodes on one thread for good."""
    if importlib.util.find_spec("spaces") is None:  # it gives functions back where the host lends nothing
        package = ModuleType("spaces")
        package.__spec__ = ModuleSpec("spaces", None)
        package.GPU = lambda duration: lambda task: task
        monkeypatch.setitem(sys.modules, "spaces", package)
    engine, threads, during = Engine(toy_pair_on("eager")), torch.get_num_threads(), set()
    torch.set_num_threads(2)
    engine.pair.target.model.register_forward_pre_hook(lambda *_: during.add(torch.get_num_threads()))
    try:
        events_of(engine, "Once", SHORT)
        assert (during, torch.get_num_threads()) == ({2}, 2)
    finally:
        torch.set_num_threads(threads)


def test_threads_are_given_back(monkeypatch):
    """Catches one thread for good where a lender runs the task in the page's own process."""
    lender = ModuleType("spaces")
    lender.__spec__ = ModuleSpec("spaces", None)
    lender.GPU = lambda duration: lambda task: lambda *given: task(*given)
    monkeypatch.setitem(sys.modules, "spaces", lender)
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        events_of(Engine(toy_pair_on("eager")), "Once", SHORT)
        assert torch.get_num_threads() == 2
    finally:
        torch.set_num_threads(threads)


def test_the_loan_follows_the_work(lent, lender):
    """A visitor has minutes a day: a short decode must not borrow the GPU for long."""
    events_of(lent, "Once", SHORT)
    events_of(lent, "Once", dsbd.DecodingSettings(max_new_tokens=64))
    with lent.visitors.run("me", 100) as stop:
        list(lent.run(comparison(lent.limits, "Once", SHORT, ["greedy", "sampling"], 1), stop))
    short, long, compared = lender.asked
    assert short < long <= Limits().decode_seconds
    assert short < compared <= Limits().compare_seconds


def test_a_decode_crosses_processes(lent):
    assert isinstance(events_of(lent, "Once", SHORT)[-1], Trace)
    assert known_plans(lent.pair) == {}


def test_a_race_and_an_evaluation_cross_processes(lent, lender):
    """Catches a call that uses the models in the page's own process, which has no GPU."""
    forwards = []
    lent.pair.target.model.register_forward_pre_hook(lambda *_: forwards.append(1))
    contenders = [Contender(method, method, replace(SHORT, method=method)) for method in ("greedy", "sampling")]
    with lent.visitors.run("me", 100) as stop:
        *_, last = lent.run(race_of(lent.limits, ["Once"], contenders, 1), stop)
    examples = [{"prompt": "Once", "references": ["x"]}]
    scores = evaluate.evaluate(lent, "me", "jsonl", ["sampling"], 1, 1, None, {"max_new_tokens": 3}, examples)
    assert last.runs is not None
    assert scores["complete"]
    assert forwards == []
    assert all(0 < seconds <= Limits().evaluate_seconds for seconds in lender.asked)
    assert len(lender.asked) == 2


def test_a_process_of_its_own_needs_no_threads_of_the_page(lent):
    """Catches a decode that waits for ever: the page has used two threads, and a forked process has one of them."""
    threads = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        torch.rand(512, 512) @ torch.rand(512, 512)
        assert isinstance(events_of(lent, "Once", SHORT)[-1], Trace)
    finally:
        torch.set_num_threads(threads)


def test_the_sentence_of_an_error_crosses_processes(lent):
    """Catches a visitor who reads "PromptError" instead of what is wrong with the prompt."""
    settings = dsbd.DecodingSettings(max_new_tokens=64)
    with pytest.raises(PromptError, match="exceeds the context"):
        events_of(lent, "x" * 100, settings)
    assert isinstance(events_of(lent, "Once", SHORT)[-1], Trace)


@pytest.mark.slow
def test_plans_are_kept_and_paid_for_once(lent, lender):
    """Catches trials that are made again at every loan, and a loan that has no room for them."""
    first, second = (events_of(lent, "Once", AUTO) for _ in range(2))
    assert sum(isinstance(event, PlanProgress) for event in first) > 3
    assert not [event for event in second if isinstance(event, PlanProgress)]
    assert len(known_plans(lent.pair)) == 1
    assert lender.asked[0] >= lender.asked[1] + MEASURING_SECONDS


def test_stop_crosses_processes(lent):
    """Catches a GPU that goes on for a visitor who has left."""
    with lent.visitors.run("me", 100) as stop:
        settings = dsbd.DecodingSettings(method="sampling", max_new_tokens=100)
        events = lent.run(recorded_decode(lent.limits, "Once", settings), stop)
        next(events)
        lent.visitors.stop("me")
        with pytest.raises(StoppedError):
            list(events)


def test_a_run_ends_at_its_time_limit(lent):
    with lent.visitors.run("me", 0) as stop, pytest.raises(StoppedError):
        list(lent.run(recorded_decode(lent.limits, "Once", SHORT), stop))


def test_a_slot_that_is_used_again_revives_no_earlier_run(lent):
    """Catches a run in another process that outlives its slot and goes on when the next run takes that slot."""
    with lent.visitors.run("me", 100) as first:
        assert not first()
    with lent.visitors.run("you", 100) as second:
        assert second.slot == first.slot
        assert first()
        assert not second()


def test_visitors_come_and_go_at_once():
    """Catches slots that are lost, or given to two runs, when many threads run and stop."""
    visitors, wrong = Engine(None).visitors, []

    def visit(name):
        for _ in range(50):
            with visitors.run(name, 100) as stop:
                if stop():
                    wrong.append("stopped before")
                visitors.stop(name)
                if not stop():
                    wrong.append("not stopped")

    threads = [threading.Thread(target=visit, args=(str(number),)) for number in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []
    assert len(visitors._free) == len(set(visitors._free)) == 512


@pytest.mark.slow
@pytest.mark.skipif(importlib.util.find_spec("spaces") is None, reason="runs wherever spaces is installed")
def test_the_lender_s_own_wrappers_carry_all_of_it():
    """Catches what the stand-in above does not do as ``spaces`` does; CUDA and the lender's service are stand-ins."""
    done = subprocess.run(
        [sys.executable, "-m", "tests.ui.lent_page"], capture_output=True, text=True, timeout=300, check=True
    )
    got = json.loads(done.stdout.splitlines()[-1])
    assert got["decode"][-1] == "Trace"
    assert got["error"][0] == "PromptError"
    assert "exceeds the context" in got["error"][1]
    assert "PlanProgress" in got["first auto"]
    assert "PlanProgress" not in got["second auto"]
    assert got["plans"] == 1
    assert "StoppedError" in got["stopped"]
    assert got["asked"][2] >= got["asked"][3] + MEASURING_SECONDS
    assert got["no time left"][0] == "PageError"
    assert "3s left" in got["no time left"][1]


def test_what_the_lender_says_is_what_the_visitor_reads(monkeypatch):
    """Catches "broke off, by a fault of its own" where the visitor's time on the GPU is used up."""

    def refuse(*_):
        raise gr.Error("You have 3 s left")

    lender = ModuleType("spaces")
    lender.__spec__ = ModuleSpec("spaces", None)
    lender.GPU = lambda duration: lambda task: refuse
    monkeypatch.setitem(sys.modules, "spaces", lender)
    engine = Engine(toy_pair_on("eager"))
    *_, last = decode.run(engine, "me", "Once", "greedy", *(shown_value(field) for field in FIELDS))
    assert "You have 3 s left." in last.problem
    with pytest.raises(gr.Error, match="You have 3 s left"):
        list(decode.decode(engine, "me", "Once"))
