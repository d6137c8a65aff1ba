"""Stopping a decode inside an iteration: the host is asked before each forward of a model."""

import gc
from dataclasses import replace

import pytest

import dsbd
from dsbd.api import planning
from dsbd.auto.measuring import known_plans
from dsbd.models.engines import graph
from dsbd.models.rows import forest
from dsbd.models.engines.graph import GraphRow
from dsbd.models.rows.new import new_row
from dsbd.settings import AUTO
from tests.toy_pair import Iterations, toy_pair, toy_pair_on

PROMPT = "Once upon"
SETTINGS = dsbd.DecodingSettings(max_new_tokens=12, draft_depth=3, draft_width=4, seed=3)


class StopAt:
    """Says stop when asked for the ``number``-th time, and from then on."""

    def __init__(self, number: int) -> None:
        self.number, self.asked = number, 0

    def __call__(self) -> bool:
        self.asked += 1
        return self.asked >= self.number


def test_a_stop_ends_the_decode_before_the_next_forward():
    """Catches a stop that waits for the end of an iteration, is missed, or leaves something behind."""
    pair, expected = toy_pair(), dsbd.decode(toy_pair(), PROMPT, SETTINGS)
    forwards = expected.stats.target_calls + expected.stats.draft_calls
    per_iteration = 1 + SETTINGS.draft_depth
    for number in range(1, forwards + 1):
        stop, watch = StopAt(number), Iterations()
        with pytest.raises(dsbd.StoppedError, match="stopped before its end"):
            dsbd.decode(pair, PROMPT, SETTINGS, observers=[watch], stop=stop)
        assert stop.asked == number
        if number <= 2 + 2 * per_iteration:  # the iterations near the end are shallower
            assert len(watch.seen) == max(number - 3, 0) // per_iteration
    never = StopAt(forwards + 1)
    again = dsbd.decode(pair, PROMPT, SETTINGS, stop=never)
    assert never.asked == forwards
    assert (again.beams, again.stats.kv_peak_slots) == (expected.beams, expected.stats.kv_peak_slots)


def test_a_stop_gives_captured_buffers_back(monkeypatch):
    """Catches buffers of fixed shape that stay taken, so that every later decode is slower."""
    monkeypatch.setattr(graph, "cuda_graph", lambda forward: forward)
    pair = toy_pair_on("graph")
    with pytest.raises(dsbd.StoppedError):
        dsbd.decode(pair, PROMPT, SETTINGS, stop=StopAt(4))
    gc.collect()
    assert isinstance(new_row(pair.target), GraphRow)
    assert isinstance(new_row(pair.draft), GraphRow)


def test_a_long_prompt_is_stopped_between_its_parts(monkeypatch):
    """Catches a long prompt that nobody can stop, and one whose parts are counted as forwards."""
    monkeypatch.setattr(forest, "PREFILL_TOKENS", 4)
    prompt = "Once upon a time"  # 16 tokens, of which 15 are stored: four parts
    stop, watch = StopAt(4), Iterations()
    with pytest.raises(dsbd.StoppedError):
        dsbd.decode(toy_pair(), prompt, SETTINGS, observers=[watch], stop=stop)
    assert (stop.asked, watch.seen) == (4, [])
    parts = dsbd.decode(toy_pair(), prompt, SETTINGS).stats
    assert parts.target_calls == parts.iterations + 1


def test_measurements_of_auto_can_be_stopped():
    """Catches a plan that nobody can stop, or one made of measurements that were cut short."""
    pair, asked = replace(toy_pair()), replace(SETTINGS, draft_width=AUTO)
    for start in (
        lambda stop: list(planning(pair, PROMPT, asked, stop=stop)),
        lambda stop: dsbd.stream(pair, PROMPT, asked, stop=stop),
    ):
        stop = StopAt(40)
        with pytest.raises(dsbd.StoppedError):
            start(stop)
        assert stop.asked == 40
        assert known_plans(pair) == {}
