"""A page on a free port of this machine: calls of it over HTTP, a pair that takes its time, and what the page sends."""

import base64
import gzip
import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import gradio as gr
import httpx
from ui.asked.form import FIELDS, shown_value
from ui.engine import Engine
from ui.host.options import Host
from ui.serving import launch_options

from tests.toy_pair import toy_pair_on

PATIENCE_SECONDS = 60
SLOW_SECONDS = 0.25
LONG = {"method": "sampling", "max_new_tokens": 100}


@contextmanager
def served(page: gr.Blocks, engine: Engine, host: Host | None = None, **options) -> Iterator[str]:
    """Yield the address of the page; close it at the end without waiting for what a visitor still has open."""
    options = launch_options(engine, host) | options
    _, address, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, **options)
    try:
        yield address
    finally:
        page.server.config.timeout_graceful_shutdown = 0
        page.close()


class SlowPair:
    """A pair whose target takes its time while ``slow`` is set, and counts its forwards."""

    def __init__(self) -> None:
        self.pair = toy_pair_on("eager")
        self.slow = threading.Event()
        self.forwards = 0
        self.pair.target.model.register_forward_pre_hook(self._before)

    def _before(self, *_) -> None:
        self.forwards += 1
        if self.slow.is_set():
            time.sleep(SLOW_SECONDS)


def call(address: str, name: str, *data) -> str:
    """Ask for a run. Returns: its event."""
    answer = httpx.post(f"{address}/gradio_api/call/{name}", json={"data": data}, timeout=PATIENCE_SECONDS)
    answer.raise_for_status()
    return answer.json()["event_id"]


def heard(address: str, name: str, event: str) -> tuple[str, Any]:
    """Return the last event of a run and its data."""
    lines = httpx.get(f"{address}/gradio_api/call/{name}/{event}", timeout=PATIENCE_SECONDS).text.strip().splitlines()
    return lines[-2].removeprefix("event: "), json.loads(lines[-1].removeprefix("data: "))


def answer_of(address: str, name: str, *data) -> tuple[str, Any]:
    return heard(address, name, call(address, name, *data))


def wait_until(true: Callable[[], bool]) -> None:
    end = time.monotonic() + PATIENCE_SECONDS
    while not true():
        assert time.monotonic() < end, "it never happened"
        time.sleep(0.02)


def unpacked(message: str) -> Any:
    """Return the bulk of a message to the page's scripts."""
    return json.loads(gzip.decompress(base64.b64decode(json.loads(message)["packed"])))


def form_values(**changed) -> list:
    """Return the values of the form as it starts, some of them changed."""
    return list(({field.name: shown_value(field) for field in FIELDS} | changed).values())
