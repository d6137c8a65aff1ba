"""Several pairs in memory: which one runs, which one goes, what is remembered of each."""

import gc
import weakref

import pytest
from ui.engine import Engine
from ui.host.limits import Limits
from ui.jobs import recorded_decode
from ui.pairs.shelf import BUNDLED_KEYS, PAGE, PairShelf

import dsbd
from dsbd.errors import PairError
from dsbd.models.loading import WITH_MEMORY
from dsbd.tracing.trace import Trace
from tests.toy_pair import toy_pair, toy_pair_on

SHORT = dsbd.DecodingSettings(max_new_tokens=8, draft_depth=2, draft_width=3)
STORIES, SQL = BUNDLED_KEYS


class Loader:
    """Loads the toy pair under any name, and notes what was asked for."""

    def __init__(self):
        self.asked = []

    def __call__(self, target, draft):
        self.asked.append((target, draft))
        yield "loading"
        return toy_pair_on("eager")


@pytest.fixture
def loader():
    return Loader()


def test_the_least_recently_used_pair_goes_and_its_memory_is_given_back(loader):
    """Catches a page that keeps every pair, that gives up the page's own, or that holds on to the weights."""
    shelf = PairShelf(toy_pair(), 3, loader)
    shelf.put("a + b", toy_pair_on("eager"))
    weights = weakref.ref(shelf.put("c + d", toy_pair_on("eager")).target.model)
    shelf.get("a + b")
    shelf.put("e + f", toy_pair_on("eager"))
    gc.collect()
    assert weights() is None
    assert [key for key in shelf.available() if shelf.is_loaded(key)] == [PAGE, "a + b", "e + f"]
    assert shelf.get(PAGE) is toy_pair()
    with pytest.raises(PairError, match=r"'c \+ d' is not in memory .* load it under Models"):
        shelf.get("c + d")
    assert loader.asked == []


def test_a_bundled_pair_is_read_again_when_it_is_asked_for(loader):
    """Catches a bundled pair that is gone once another pair took its place."""
    shelf = PairShelf(toy_pair(), 2, loader)
    assert shelf.available() == [PAGE, STORIES, SQL, WITH_MEMORY]
    for key in (STORIES, SQL, STORIES):
        shelf.get(key)
    assert loader.asked == [(STORIES, None), (SQL, None), (STORIES, None)]


def test_a_host_may_keep_one_pair_only(loader):
    shelf = PairShelf(toy_pair(), 1, loader)
    assert shelf.available() == [PAGE]
    with pytest.raises(PairError, match="DSBD_MAX_LOADED_PAIRS is 1"):
        shelf.put("a", toy_pair_on("eager"))
    with pytest.raises(PairError, match="not in memory"):
        shelf.get(SQL)


def run_on(engine, pair):
    with engine.visitors.run("me", 100) as stop:
        return list(engine.run(recorded_decode(engine.limits, "Once", SHORT, pair), stop))[-1].trace


def test_a_run_takes_the_pair_that_its_call_names(loader):
    """Catches a choice that is shown and not used."""
    engine = Engine(toy_pair(), Limits(), loader)
    other = toy_pair_on("eager")
    calls = []
    other.target.model.register_forward_hook(lambda *_: calls.append(1))
    engine.pairs.put("other", other)
    run_on(engine, PAGE)
    assert not calls
    assert isinstance(run_on(engine, "other"), Trace)
    assert calls
