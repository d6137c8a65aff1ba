"""Pages for the tests of this folder: one with the bundled pairs, one with a toy pair that can be made slow."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager

import httpx
import pytest

from tests.toy_pair import toy_pair_on
from visualize.page.engine import TITLES, Engine, Pairs
from visualize.page.limits import Limits
from visualize.page.page import build_page
from visualize.page.serve import launch_options

PATIENCE_SECONDS = 90


@contextmanager
def served(engine: Engine, private: bool = True, **options) -> Iterator[str]:
    """Yield the address of a page, without a slash at its end; at the end nobody is waited for."""
    page = build_page(engine)
    options = launch_options(engine, private) | options
    _, address, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, **options)
    try:
        yield address.rstrip("/")
    finally:
        page.server.config.timeout_graceful_shutdown = 0
        page.close()


class SlowPairs(Pairs):
    """Pairs of the toy, whose target takes its time at every forward while ``seconds`` is set."""

    def __init__(self, *names: str) -> None:
        super().__init__(names or ("toy",))
        self.pair, self.seconds, self.forwards = toy_pair_on("eager"), 0.0, 0
        self.pair.target.model.register_forward_pre_hook(self._before)
        self.at_once, self.most_at_once, self._counts = 0, 0, threading.Lock()

    def _before(self, *_) -> None:
        self.forwards += 1
        time.sleep(self.seconds)

    def get(self, name, show=lambda _: None):
        """Return the toy."""
        self.check(name)
        return self.pair


class WatchedEngine(Engine):
    """Notes how many runs used the models at one time."""

    def _work(self, *given):
        self.at_once = getattr(self, "at_once", 0) + 1
        self.most = max(getattr(self, "most", 0), self.at_once)
        try:
            yield from super()._work(*given)
        finally:
            self.at_once -= 1


def wait_until(true) -> None:
    """Wait until ``true()``."""
    end = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def events(lines: Iterator[str]) -> Iterator[dict]:
    """Yield what a stream of events says, one after the other."""
    for line in lines:
        if line.startswith("data: "):
            yield json.loads(line.removeprefix("data: "))


@pytest.fixture(scope="session")
def engine() -> WatchedEngine:
    return WatchedEngine(SlowPairs("toy", "other"), Limits(max_waiting=64, max_prompt_characters=4000))


@pytest.fixture(scope="session")
def toy_page(engine):
    """The address of the page of the toy pair."""
    with served(engine) as address:
        yield address


@pytest.fixture(scope="session")
def page_address(caches):
    """The address of the page as ``app.py`` opens it."""
    engine = Engine(Pairs(list(TITLES)), Limits(max_waiting=64))
    engine.pairs.get(engine.pairs.first)
    with served(engine) as address:
        yield address


@pytest.fixture
def health(toy_page):
    """Ask the toy page how it is."""
    return lambda: httpx.get(f"{toy_page}/health").json()
