"""Pages for the tests of this folder: one with the bundled pairs, one with a toy pair that can be made slow."""

import json
import time
from collections.abc import Iterator
from contextlib import contextmanager

import pytest

from tests.toy_pair import toy_pair_on
from visualize.page.limits import Limits
from visualize.page.page import build_page
from visualize.page.runner import TITLES, Pairs, Runner
from visualize.page.serve import launch_options

PATIENCE_SECONDS = 90
SHORT = {"max_new_tokens": 8, "draft_depth": 2, "draft_width": 3}


@contextmanager
def served(runner: Runner, private: bool = True, **options) -> Iterator[str]:
    """Yield the address of a page, without a slash at its end; at the end nobody is waited for."""
    page = build_page(runner)
    options = launch_options(runner, private) | options
    _, address, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, **options)
    try:
        yield address.rstrip("/")
    finally:
        page.server.config.timeout_graceful_shutdown = 0
        page.close()


def toy_pairs(*names: str) -> Pairs:
    """Return the toy pair under several names."""
    pairs = Pairs(names)
    pairs._loaded.update(dict.fromkeys(names, toy_pair_on("eager")))
    return pairs


class PacedRunner(Runner):
    """Waits before every step of a run, and notes how many runs used the models at one time, and their steps."""

    pace, at_once, most, steps = 0.0, 0, 0, 0

    def _work(self, *arguments):
        self.at_once += 1
        self.most = max(self.most, self.at_once)
        try:
            for step in super()._work(*arguments):
                time.sleep(self.pace)
                self.steps += getattr(step, "iteration", None) is not None
                yield step
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
def toys() -> PacedRunner:
    return PacedRunner(toy_pairs("toy", "other"), Limits(max_waiting=64, max_prompt_characters=4000))


@pytest.fixture(scope="session")
def toy_page(toys):
    """The address of the page of the toy pair."""
    with served(toys) as address:
        yield address


@pytest.fixture(scope="session")
def bundled() -> PacedRunner:
    runner = PacedRunner(Pairs(list(TITLES)[:-1]))
    runner.pairs.get(runner.pairs.first)
    return runner


@pytest.fixture(scope="session")
def address(bundled):
    """The address of the page as ``app.py`` opens it."""
    with served(bundled) as address:
        yield address
