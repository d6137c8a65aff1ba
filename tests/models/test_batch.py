"""Several decodes in one forward: each writes what it writes alone, and none can hold up the others."""

import random
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache, partial
from typing import Any

import pytest
import torch

import dsbd
from dsbd.errors import DsbdError, SettingsError, StoppedError
from dsbd.models.engines import batch as batches
from dsbd.models.engines import lanes
from dsbd.models.engines.batch import Batch
from dsbd.models.engines.onnx import OnnxState
from dsbd.models.engines.onnx_lanes import OnnxLanes, OnnxLaneState
from dsbd.settings import METHODS
from tests.models.test_engines import FLIPPED, FLOAT32, ONNX, model_on
from tests.models.tiny import Driver
from tests.toy_pair import OTHERS, onnx_pair

SECONDS = 120
"""After which a test says that decodes wait for each other forever."""
FLIPS = 3
"""How many draws may turn by rounding, of some 10,000: a wrong lane turns every second."""


@pytest.fixture(autouse=True)
def _small_models_too(monkeypatch):
    monkeypatch.setattr(OnnxLanes, "gains", classmethod(lambda cls, model: model.engine == "onnx"))


@pytest.fixture
def together(monkeypatch):
    """Let a forward wait for all calls, as it seldom needs to while a large model computes."""
    monkeypatch.setattr(lanes, "LINGER", 5.0)


def watched(work: Callable[[], Any]) -> Any:
    """Return what work returns, or raise what it raises; fail if it does not end."""
    ended = Future()

    def run() -> None:
        try:
            ended.set_result(work())
        except BaseException as error:
            ended.set_exception(error)

    threading.Thread(target=run, daemon=True).start()
    return ended.result(SECONDS)


def run(batch: Batch, work: Callable[..., Any], items: Sequence[tuple]) -> list[Any]:
    """Return ``work(*item)`` of each item."""
    return list(batch.map(lambda item: work(*item), items, threading.Event()))


@pytest.mark.usefixtures("together")
@pytest.mark.parametrize(("engine", "family"), [*(("onnx", family) for family in ONNX), ("int8", "llama")])
def test_a_lane_sees_what_each_path_sees(engine, family):
    """Catches masks, positions, lengths or tokens of another lane; padding that is seen or written; lanes that rest
    and lose what they hold; a lane that is too short for its decode, or for the padding of another."""
    model = model_on(engine, family)
    batch = Batch([model], 4, 24)

    def wander(seed: int) -> float:
        source = random.Random(seed)
        with batch.joined():
            driver = Driver(model, seed, source.choice([1, 2, 9]))
        assert type(driver.states[0]) is OnnxLaneState
        for _ in range(8):
            depth, width, keep = (source.randint(1, most) for most in (4, 5, 4))
            driver.iterate(depth, width, keep, layerwise=source.random() < 0.5, gap=source.choice([0, 1]))
        return driver.worst

    with ThreadPoolExecutor(4) as pool:
        worst = watched(lambda: max(pool.map(wander, range(4))))
    assert worst < (FLOAT32 if engine == "onnx" else FLIPPED)
    assert batch.lanes[0].forwards > 8
    assert sorted(batch.lanes[0]._free) == [0, 1, 2, 3]


def request_of(source: random.Random) -> tuple[str, dict[str, Any]]:
    """Return a prompt and settings."""
    method = source.choice(sorted(set(METHODS) - {"mjgd"}))
    values = dict(source.choice([{}, *OTHERS.get(method, [])]))
    values |= {"max_new_tokens": source.choice([3, 9, 16]), "seed": source.randrange(3)}
    if method == "beam_sampling":
        values["num_beams"] = source.choice([1, 3, 6])
    return source.choice(["Once", "a", "The cat sat on the mat. " * 2]), {"method": method, **values}


REQUESTS = [request_of(random.Random(seed)) for seed in range(48)]


@cache
def alone(index: int) -> dsbd.DecodingResult:
    """Decode a request alone."""
    prompt, values = REQUESTS[index]
    return dsbd.decode(onnx_pair(), prompt, **values)


class Failing(dsbd.Observer):
    """Raises after an iteration."""

    def on_iteration(self, iteration) -> None:
        raise ZeroDivisionError


def outcome(index: int, fate: str, calls: int) -> Any:
    """Return the ids of a request's beams, or the error that its fate is."""
    prompt, values = REQUESTS[index]
    left = iter(range(calls))
    options = {"cancelled": {"cancel": lambda: next(left, None) is None}, "failing": {"observers": [Failing()]}}
    try:
        return dsbd.decode(onnx_pair(), prompt, **values, **options.get(fate, {}))
    except (StoppedError, ZeroDivisionError) as error:
        return type(error)


@pytest.mark.usefixtures("together")
@pytest.mark.parametrize("mixes", [12, pytest.param(200, marks=pytest.mark.slow)])
def test_each_decode_of_a_mix_writes_what_it_writes_alone(mixes):
    """Catches a draw, a stop or a failure of one decode that another feels; lanes that are not given back; and decodes
    that wait for one that has left or not come yet."""
    source, flips, shared, compared = random.Random(0), 0, 0, 0
    for _ in range(mixes):
        batch = Batch(onnx_pair().models, source.randint(2, 4), source.choice([30, 120]))
        mix = [
            (source.randrange(len(REQUESTS)), source.choice(["", "", "", "cancelled", "failing"]), source.randrange(9))
            for _ in range(source.randint(2, 6))
        ]
        results = watched(partial(run, batch, outcome, mix))
        shared += sum(one.forwards for one in batch.lanes)
        for (index, fate, _), result in zip(mix, results, strict=True):
            if isinstance(result, dsbd.DecodingResult):
                compared += 1
                flips += [one.token_ids for one in result.beams] != [one.token_ids for one in alone(index).beams]
            else:
                assert result is {"cancelled": StoppedError, "failing": ZeroDivisionError}[fate]
        assert all(sorted(one._free) == list(range(one.count)) for one in batch.lanes)
    assert compared > 2 * mixes
    assert shared > 4 * mixes
    assert flips <= FLIPS


@pytest.mark.usefixtures("together")
def test_a_forward_that_fails_costs_nobody_the_decode(monkeypatch):
    """Catches decodes that get the error of a forward they shared, or no logits; one that fails alone and takes others
    with it."""
    monkeypatch.setattr(OnnxLanes, "forward", lambda self, calls: _refused())
    batch = Batch(onnx_pair().models, 3, 120)
    results = watched(partial(run, batch, outcome, [(index, "", 0) for index in range(3)]))
    assert [one.token_ids for one in results] == [alone(index).token_ids for index in range(3)]
    assert not any(one.forwards for one in batch.lanes)

    def refusing(self, tokens, positions, mask, count, own=OnnxState._run):
        return _refused() if threading.current_thread() in doomed else own(self, tokens, positions, mask, count)

    def work(index):
        doomed.update({threading.current_thread()} if index == 1 else ())
        try:
            return outcome(index, "", 0).token_ids
        except RuntimeError as error:
            return str(error)
        finally:
            doomed.discard(threading.current_thread())

    doomed = set()
    monkeypatch.setattr(OnnxState, "_run", refusing)
    results = watched(partial(run, Batch(onnx_pair().models, 3, 120), work, [(0,), (1,), (2,)]))
    assert results == [alone(0).token_ids, "refused", alone(2).token_ids]


def _refused():
    raise RuntimeError("refused")


def test_a_decode_that_stands_still_holds_up_no_other():
    """Catches a forward that waits for a decode whose reader is away, or for one that waits for another decode."""
    batch = Batch(onnx_pair().models, 3, 120)
    with batch.joined():
        paused = dsbd.stream(onnx_pair(), "Once", max_new_tokens=9)
        next(paused)
    (result,) = watched(partial(run, batch, outcome, [(2, "", 0)]))
    assert result.token_ids == alone(2).token_ids
    assert [len(one._free) for one in batch.lanes] == [2, 2]
    paused.close()
    assert [len(one._free) for one in batch.lanes] == [3, 3]


def test_a_batch_is_as_large_as_the_memory_allows(monkeypatch):
    """Catches lanes that are reserved beyond what is free, a batch that fails where one decode would not, and lanes
    on a runtime that has no lengths for each entry of a batch."""
    models = onnx_pair().models
    each = sum(200 * shape.slot_bytes for model in models for shape in model.layer_shapes)
    weights = sum(model.model.get_memory_footprint() for model in models)
    for decodes, size in ((9.5, 8), (3.5, 3), (1.9, 1), (0, 1)):
        monkeypatch.setattr(batches, "free_bytes", lambda device, n=decodes: (weights + n * each) / batches.SHARE + 1)
        batch = Batch(models, 8, 100)
        assert (batch.size, len(batch.lanes)) == (size, 2 * (size > 1))
    monkeypatch.undo()
    monkeypatch.setattr(OnnxLanes, "__init__", lambda *_: _refused())
    batch = Batch([model_on("onnx")], 8, 100)
    assert (batch.size, batch.lanes) == (8, [])


def test_many_prompts_are_decoded_together(monkeypatch):
    """Catches another order, prompts that are all read at once, an error that costs other prompts theirs, threads that
    go on behind a reader who has left, and options that a batch cannot have."""
    pair, taken = onnx_pair(), []
    prompts = ["Once", "a" * 200, *(f"{number} cats" for number in range(30))]
    values = {"max_new_tokens": 6, "method": "beam_sampling"}
    turns = list(dsbd.decode_many(pair, prompts, on_error="keep", **values))
    found = watched(lambda: list(dsbd.decode_many(pair, prompts, on_error="keep", batch=4, **values)))
    assert [str(one) if isinstance(one, DsbdError) else one.token_ids for one in found] == [
        str(one) if isinstance(one, DsbdError) else one.token_ids for one in turns
    ]
    before, threads = torch.get_num_threads(), threading.active_count()
    results = dsbd.decode_many(pair, (taken.append(one) or one for one in prompts[2:]), batch=2, **values)
    assert not taken
    next(results)
    assert len(taken) <= 2 * batches.AHEAD + 1
    results.close()
    assert (torch.get_num_threads(), threading.active_count()) == (before, threads)
    with pytest.raises(dsbd.PromptError, match="exceeds"):
        watched(lambda: list(dsbd.decode_many(pair, prompts, batch=4, **values)))
    assert list(dsbd.decode_many(pair, [], batch=4)) == []
    for options, message in (
        ({"batch": 0}, "batch is 0; give a whole number from 1 to 256"),
        ({"batch": 2, "observers": [Failing()]}, "observers see one decode at a time, and batch is 2"),
        (
            {"batch": 2, "history": dsbd.History(), "draft_width": 2},
            "history grows from answer to answer, and batch is 2",
        ),
        ({"batch": 2, "cancel": 3}, "cancel is 3"),
    ):
        with pytest.raises(SettingsError, match=message):
            list(dsbd.decode_many(pair, ["Once"], **options))
    with pytest.raises(StoppedError):
        list(dsbd.decode_many(pair, ["Once"], batch=2, cancel=lambda: True))
