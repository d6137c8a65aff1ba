"""Several visitors at once: each gets what it gets alone, and no run holds up or spoils another."""

import time
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace

import pytest
import torch

import dsbd
from dsbd.errors import ModelError, StoppedError
from dsbd.machine import torch_threads
from dsbd.models.engines.onnx_lanes import OnnxLanes
from dsbd.settings import DecodingSettings
from tests.page.conftest import SHORT, PacedRunner, wait_until
from tests.toy_pair import onnx_pair
from visualize.page.comparison import describe
from visualize.page.limits import Limits, bytes_of
from visualize.page.runner import WAITING, Pairs
from visualize.page.turns import Turn, Turns

PROMPTS = [f"Once upon {number}" for number in range(4)]
LONG = DecodingSettings(max_new_tokens=64, draft_depth=2, draft_width=3)


@pytest.fixture
def runner(monkeypatch) -> PacedRunner:
    """A page whose small models have lanes, as large ones do; its other pair is not loaded."""
    monkeypatch.setattr(OnnxLanes, "gains", classmethod(lambda cls, model: model.engine == "onnx"))
    monkeypatch.setattr("visualize.page.runner.load_pair", lambda *_, **__: replace(onnx_pair()))
    pairs = Pairs(["toy", "other"], most=1)
    pairs.get("toy")
    return PacedRunner(pairs)


def free_lanes(runner: PacedRunner) -> list[int]:
    """Return how many lanes of each model are free."""
    return [len(one._free) for batch in runner._batches.values() for one in batch.lanes]


def ids_of(updates) -> list[int]:
    """Return what a run wrote."""
    return list(updates)[-1].trace.result.token_ids


def begun(runner: PacedRunner, session: str, prompt: str = PROMPTS[0], **options):
    """Return a run that goes on, one pass far."""
    run = runner.decode(session, "toy", prompt, LONG, **options)
    while next(run).iteration is None:
        pass
    return run


@pytest.mark.parametrize("has_lanes", [True, False])
def test_visitors_at_once_get_what_each_gets_alone(runner, has_lanes, monkeypatch):
    """Catches a run that reads another's lane, one that does not share, and lanes that are not given back."""
    if not has_lanes:
        monkeypatch.undo()
        runner = PacedRunner(runner.pairs)
    runner.pace = 0.01
    with ThreadPoolExecutor(4) as pool:
        texts = pool.map(lambda prompt: ids_of(runner.decode(prompt, "toy", prompt, LONG)), PROMPTS)
    assert list(texts) == [dsbd.decode(onnx_pair(), prompt, LONG).token_ids for prompt in PROMPTS]
    assert runner.most > 1
    (batch,) = runner._batches.values()
    assert [one.forwards > 0 for one in batch.lanes] == [True] * 2 * has_lanes
    assert free_lanes(runner) == [4, 4] * has_lanes


def test_a_run_that_ends_early_leaves_the_others_alone(runner, monkeypatch):
    """Catches a lane that is kept, or a neighbour that stops, when a visitor stops, leaves, or meets an error."""
    failing, closed, stopped = (begun(runner, session) for session in ("failing", "closed", "stopped"))
    assert free_lanes(runner) == [1, 1]
    bad, own = {0: torch.nan}, OnnxLanes.logits
    monkeypatch.setattr(OnnxLanes, "logits", lambda self, call: own(self, call) * bad.get(call.lane, 1))
    with ThreadPoolExecutor(1) as pool:
        other = pool.submit(ids_of, runner.decode("other", "toy", PROMPTS[1], LONG))
        closed.close()
        runner.stop("stopped")
        with pytest.raises(StoppedError) as end:
            list(stopped)
        with pytest.raises(ModelError) as problem:
            list(failing)
        assert other.result(60) == dsbd.decode(onnx_pair(), PROMPTS[1], LONG).token_ids
    assert end.value is not problem.value  # both are still here, and hold no lane
    assert free_lanes(runner) == [4, 4]
    assert (runner.turns.running, runner.turns.line) == ([], [])


def test_what_measures_or_loads_runs_alone(runner):
    """Catches a race beside a decode, a pair that is dropped while a run uses it, a wait that counts as time of the
    run, a visitor who waits without a word, and a decode that passes by those who came before."""
    runner.limits = Limits(evaluate_seconds=1, decode_seconds=1)
    first, toy = begun(runner, "first"), runner.pairs.get("toy")
    waiting = runner.race("race", "toy", ["Once"], [LONG], 1, lambda pair, cancel: iter([str(cancel())]))
    loading = runner.decode("loading", "other", "Once", DecodingSettings(**SHORT))
    assert [next(one).doing for one in (waiting, loading) * 2] == [WAITING] * 4  # no step lasts until its turn
    with ThreadPoolExecutor(3) as pool:
        race = pool.submit(list, waiting)
        wait_until(lambda: len(runner.turns.line) == 2)
        late = pool.submit(list, runner.decode("late", "toy", "Once", DecodingSettings(**SHORT)))
        loaded = pool.submit(ids_of, loading)
        wait_until(lambda: len(runner.turns.line) == 3)
        time.sleep(1.1)
        assert not any(one.done() for one in (race, late, loaded))
        assert runner.pairs.loaded() == {"toy": toy}
        first.close()
        assert race.result(60)[-1] == "False"
        assert loaded.result(60)
        assert late.result(60)[0].doing == WAITING


def test_the_speed_is_not_measured_beside_others(runner, monkeypatch):
    """Catches times of a shared machine, and a measurement beside which others begin."""
    first = begun(runner, "first")
    last = list(runner.decode("second", "toy", "Once", LONG, compare=True))[-2:]
    assert describe(last[0].trace, last[1].beside)["measured"] == "this machine is busy: not measured"
    first.close()
    monkeypatch.setattr("visualize.page.runner.measure_speed", lambda *_: iter([runner.turns.running[0].bytes is None]))
    assert list(runner.decode("second", "toy", "Once", LONG, compare=True))[-1].beside is True


def test_a_run_has_the_threads_of_the_page_in_every_thread_of_the_server(runner):
    """Catches a server's thread that began while another computed on one thread, and computes on one for good."""
    runner._threads = 3
    counts = runner.race("me", "toy", ["Once"], [LONG], 1, lambda pair, cancel: iter([torch.get_num_threads()]))
    with torch_threads(1), ThreadPoolExecutor(1) as pool:
        assert pool.submit(list, counts).result(60) == [3]


def test_a_run_for_which_there_is_no_memory_waits():
    """Catches a run that begins where it would fail, waits where it would fit, or one that waits for itself."""
    turns = Turns(3, lambda: 10)
    runs = [Turn(turns, lambda takes=takes: takes).__enter__() for takes in (99, 1, 4, 6, 0)]
    assert [one._begins() for one in runs[:2]] == [True, False]  # the first begins whatever it takes
    runs[0].__exit__()
    assert [one._begins() for one in runs[1:]] == [True, True, False, False]
    runs[1].__exit__()
    assert [one._begins() for one in runs[3:]] == [True, True]
    turns = Turns(3, lambda: 10)
    alone, beside = (Turn(turns, lambda takes=takes: takes).__enter__() for takes in (None, 1))
    assert [alone._begins(), beside._begins()] == [True, False]
    alone.share(1)
    assert beside._begins()
    assert not alone.be_alone()
    few, many = (bytes_of(onnx_pair(), "Once", replace(LONG, max_width=3, max_new_tokens=count)) for count in (1, 65))
    slot = sum(shape.slot_bytes for model in onnx_pair().models for shape in model.layer_shapes)
    assert many - few == 64 * 3 * slot
