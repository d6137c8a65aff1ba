"""Forwards of fixed shape on static buffers give the logits of eager ones. A plain call replaces the captured graph, so
buckets, padding, slots and masks are tested without a GPU."""

import gc
import weakref
from dataclasses import replace

import pytest
import torch

import dsbd
from dsbd.models.check import check_engine
from dsbd.models.engines import graph
from dsbd.models.engines.graph import GraphRunner
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows.forest import ForestRow
from dsbd.models.rows.new import GraphRow, new_row
from tests.models.driver import CLOSE, Driver, wandered
from tests.models.tiny import tiny_model
from tests.toy_pair import toy_pair_on

FAMILIES = ["llama", "qwen2", "mistral windows", "gemma3 windows", "gpt2"]


@pytest.fixture(autouse=True)
def _plain_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(graph, "cuda_graph", lambda forward: forward)


def graphed(family: str, dtype: torch.dtype = torch.float64) -> LanguageModel:
    return replace(tiny_model(family, dtype=dtype), engine="graph")


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize("seed", range(3))
def test_graph_row_sees_what_each_path_sees(family: str, seed: int) -> None:
    """Catches padding that is seen, slots that are overwritten, and masks of an earlier, larger forest left behind."""
    driver = wandered(graphed(family), seed)
    assert isinstance(driver.rows[0], GraphRow)
    assert driver.worst < CLOSE
    assert driver.rows[0].cache.buffers is driver.rows[0]._runner.buffers  # never left them


def test_a_row_that_outgrows_the_buffers_goes_on_eagerly(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches keys lost, or written past the end, where the largest buffers are too small."""
    monkeypatch.setattr(graph, "SLOT_BUCKETS", (16, 32))
    driver = Driver(graphed("llama"), 3, 4)
    row = driver.rows[0]
    for _ in range(12):
        driver.iterate(depth=4, width=3, keep=3, layerwise=False, gap=0, deepest=True)
    assert driver.worst < CLOSE
    assert row.cache.buffers is not row._runner.buffers


def test_the_buffers_grow_with_what_is_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches buffers for the model's whole context, and keys lost where they grow in the middle of a decode."""
    monkeypatch.setattr(graph, "SLOT_BUCKETS", (16, 32, 64, 128, 256))
    model = graphed("llama")
    driver = Driver(model, 3, 4)
    row = driver.rows[0]
    assert row._runner.capacity == 16
    for _ in range(6):
        driver.iterate(depth=4, width=3, keep=3, layerwise=False, gap=0, deepest=True)
    assert driver.worst < CLOSE
    assert 16 < row._runner.capacity < 256
    assert row.cache.buffers is row._runner.buffers
    runner = row._runner
    del row, driver
    assert new_row(model, 100)._runner.capacity == runner.capacity == 128
    assert new_row(model)._runner.capacity == 128  # what is there is kept
    again = Driver(model, 5, 4)  # another prompt
    again.iterate(depth=4, width=3, keep=3, layerwise=False, gap=0, deepest=True)
    assert again.rows[0]._runner is runner
    assert again.worst < CLOSE  # nothing replays on the buffers of before


def test_the_buffers_are_no_larger_than_asked(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches room for what is kept beside the room that was asked for, which holds it."""
    monkeypatch.setattr(graph, "SLOT_BUCKETS", (16, 32, 64, 128))
    runner = GraphRunner(graphed("llama"))
    found = []
    for slots, used in ((10, 0), (16, 10), (31, 16), (32, 31), (20, 0)):
        runner.reserve(slots, used)
        found.append(runner.capacity)
    assert found == [16, 32, 32, 64, 64]
    assert [runner.fits(1, slots) for slots in (63, 64)] == [True, False]  # the last slot is for padding


def test_one_decode_has_the_buffers() -> None:
    """Catches two decodes at a time that write into each other's keys, and buffers that are never given back."""
    model = graphed("llama")
    first, second = new_row(model), new_row(model)
    assert isinstance(first, GraphRow)
    assert type(second) is ForestRow
    del first
    assert isinstance(new_row(model), GraphRow)


def test_buckets_are_reused(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a capture per forward."""
    captured = []

    def counting(forward):
        captured.append(forward().shape[1])
        return forward

    monkeypatch.setattr(graph, "cuda_graph", counting)
    pair = toy_pair_on("graph")
    pair.target.runners.clear()
    captured.clear()
    for seed in range(3):
        dsbd.decode(pair, "One day", dsbd.DecodingSettings(method="beam_sampling", seed=seed, max_new_tokens=16))
    assert 1 <= len(captured) == len(set(captured)) <= 3


def test_check_sees_a_wrong_capture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a check at load that lets captured forwards differ."""
    model = graphed("llama", torch.float32)
    assert check_engine(model).passed
    monkeypatch.setattr(graph, "cuda_graph", lambda forward: lambda: 0.7 * forward())
    assert not check_engine(graphed("llama", torch.float32)).passed


def test_what_is_captured_is_freed_with_its_model() -> None:
    """Catches buffers and captured forwards of every model that was ever loaded."""
    model = graphed("llama")
    row = new_row(model)
    seen = weakref.ref(row._runner)
    assert new_row(model).cache.buffers is not row.cache.buffers  # made once, and taken
    del row, model
    gc.collect()
    assert seen() is None


def test_a_capture_that_fails_leaves_the_model_eager(monkeypatch: pytest.MonkeyPatch) -> None:
    """Catches a pair that cannot be loaded because its forwards cannot be captured."""
    monkeypatch.undo()
    pair = toy_pair_on("graph")  # CUDA graphs, on a CPU
    assert (pair.target.engine, pair.draft.engine) == ("eager", "eager")
    assert len(pair.fallbacks) == 2
    assert "target model runs eagerly" in pair.fallbacks[0]
