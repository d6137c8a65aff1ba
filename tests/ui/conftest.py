"""One page for all tests of this folder: the toy pair, one recorded trace, a free port, no network."""

import threading
import time
from contextlib import closing
from dataclasses import replace

import gradio as gr
import pytest
from ui.engine import Engine
from ui.host.allowed_models import AllowedModels
from ui.host.limits import Limits
from ui.host.options import Host
from ui.page import build_page

from dsbd.assets import asset_path
from dsbd.tracing.trace import canonical_digest
from tests.toy_pair import toy_pair
from tests.ui.one_reader import one_reader
from tests.ui.served import SlowPair, served
from tests.ui.visit import Visit
from tests.visualize.toy import toy_trace
from ui.decodes import traces
from ui.learn import site as learn_site


class PacedEngine(Engine):
    """An engine that a test can slow down or hold, so that there is something left to stop, however slow a machine."""

    pace_seconds = 0.0
    _held_at: int | None = None

    def __init__(self, *given, **named):
        super().__init__(*given, **named)
        self.held = threading.Event()
        """Set once a run waits."""

    def run(self, job, stop):
        with closing(super().run(job, stop)) as steps:
            for place, step in enumerate(steps):
                self._wait_at(place, stop)
                yield step

    def hold(self, at: int) -> None:
        """Runs wait before their event of this number, until they are released or their visitor stops them."""
        self.pace_seconds, self._held_at = 0.15, at  # slower than frames are sent: each event before it is shown
        self.held.clear()

    def release(self) -> None:
        """Runs go on, as fast as they can."""
        self.pace_seconds, self._held_at = 0.0, None

    def _wait_at(self, place: int, stop) -> None:
        time.sleep(self.pace_seconds)
        while self._held_at is not None and place >= self._held_at and not stop():
            self.held.set()
            time.sleep(0.02)


@pytest.fixture(scope="session")
def recorded(tmp_path_factory):
    """The page's recorded trace is the toy's, of the page's pair, whatever comes along with this checkout."""
    folder = tmp_path_factory.mktemp("assets")
    (folder / "traces").mkdir()
    plain = toy_trace()
    models = replace(plain.models, target=replace(plain.models.target, id=toy_pair().target.id))
    retold = replace(plain, models=models, digest="")
    replace(retold, digest=canonical_digest(retold)).save(folder / "traces" / "toy-story.json.gz")
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(traces, "asset_path", lambda name="": folder / name)
        traces.open_recorded.cache_clear()
        yield folder
    traces.open_recorded.cache_clear()


@pytest.fixture(scope="session")
def places(recorded):
    """What the Learn tab lists: the lessons of this checkout and the toy's recording. Its site is written once."""

    def found(name: str = ""):
        return asset_path(name) if name.startswith("lessons") else recorded / name

    caches = (learn_site.places, learn_site._home)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(learn_site, "asset_path", found)
        for cached in caches:
            cached.cache_clear()
        yield learn_site.places()
    for cached in caches:
        cached.cache_clear()


@pytest.fixture(scope="module")
def reader():
    """The page's reader of files, started once for the tests of a file."""
    with one_reader():
        yield


@pytest.fixture(scope="session")
def engine():
    return PacedEngine(toy_pair(), allowed=AllowedModels("*"))


@pytest.fixture(scope="session")
def page(engine, recorded) -> gr.Blocks:
    return build_page(engine)


@pytest.fixture(scope="session")
def address(page, engine):
    """Where the page is served."""
    with served(page, engine) as address:
        yield address


@pytest.fixture(scope="session")
def mcp_site(recorded):
    """The pair of a page that is an MCP server too, and its address. The pair can be made slow."""
    slow = SlowPair()
    engine = Engine(slow.pair, Limits(max_waiting=8))
    with served(build_page(engine), engine, Host(mcp=True)) as address:
        yield slow, address.rstrip("/")


@pytest.fixture
def visits(browser, address, engine):
    """Make visits of the page. At the end of each there was no error, and nothing was asked of another machine."""
    made: list[Visit] = []

    def visit(where: str = address, **how) -> Visit:
        made.append(Visit(browser, where, **how))
        return made[-1]

    yield visit
    engine.release()
    for one in reversed(made):
        one.leave()
    assert [(one.faults, one.elsewhere) for one in made if one.faults or one.elsewhere] == []


@pytest.fixture
def visit(visits) -> Visit:
    """One visit of the page."""
    return visits()
