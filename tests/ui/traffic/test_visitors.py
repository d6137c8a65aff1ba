"""Why a run did not begin."""

import pytest

from ui.engine import Engine
from ui.runs import around
from ui.runs.around import KEEP
from ui.traffic.visitors import SLOTS, Visitors


@pytest.fixture
def engine(engine, monkeypatch) -> Engine:
    """The engine, without visitors."""
    monkeypatch.setattr(engine, "visitors", Visitors())
    return engine


def test_what_is_said_of_a_run_that_did_not_come_to_its_end(engine):
    """Catches a full queue that is blamed for a call that never reached it, and the other way round."""

    def said():
        return around.broke_off(engine, "one", "It broke off.").problem

    assert "Waiting" in around.begin(engine, "one").note
    engine.visitors.refuse("one")
    assert "The queue is full: 16 calls wait for the model. Come back in" in said()
    around.begin(engine, "one")
    assert said() is KEEP
    around.begin(engine, "one")
    with engine.visitors.run("one", 1):
        pass
    engine.visitors.refuse("one")
    assert "It broke off." in said()


def test_visitors_who_never_join_the_queue_are_forgotten(engine):
    """Catches names that anybody can make up and that stay for ever."""
    for number in range(2 * SLOTS):
        engine.visitors.wait(f"made up {number}")
    said = engine.visitors.wait("one")
    assert f"{SLOTS - 1} runs are before yours" in said
    assert engine.visitors.was_refused("made up 0") is None
    assert engine.visitors.was_refused("one") is False
