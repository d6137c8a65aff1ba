"""Why a run did not begin."""

import pytest

from ui.engine import Engine
from ui.race import handlers as race
from ui.runs import decode
from ui.traffic.visitors import SLOTS, Visitors


@pytest.fixture
def engine(engine, monkeypatch) -> Engine:
    """The engine, without visitors."""
    monkeypatch.setattr(engine, "visitors", Visitors())
    return engine


@pytest.mark.parametrize(("handlers", "given"), [(decode, [None]), (race, [])], ids=["decode", "race"])
def test_what_is_said_of_a_run_that_did_not_come_to_its_end(engine, handlers, given):
    """Catches a full queue that is blamed for a call that never reached it, and the other way round."""
    handlers.begin(engine, "one")
    engine.visitors.refuse("one")
    assert "The queue is full" in handlers.broke_off(engine, "one", None, *given).problem
    handlers.begin(engine, "one")
    assert handlers.broke_off(engine, "one", None, *given).problem is decode.KEEP
    handlers.begin(engine, "one")
    with engine.visitors.run("one", 1):
        pass
    engine.visitors.refuse("one")
    assert "broke off" in handlers.broke_off(engine, "one", None, *given).problem


def test_visitors_who_never_join_the_queue_are_forgotten(engine):
    """Catches names that anybody can make up and that stay for ever."""
    for number in range(2 * SLOTS):
        engine.visitors.wait(f"made up {number}")
    said = engine.visitors.wait("one")
    assert f"{SLOTS - 1} runs are before yours" in said
    assert engine.visitors.was_refused("made up 0") is None
    assert engine.visitors.was_refused("one") is False
