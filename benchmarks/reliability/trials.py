"""The short trials: altered traces, calls, uploads and memory, all on the page of a toy pair."""

import gc
import random
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gradio_client import Client
from hypothesis import HealthCheck, Phase, given, settings

import dsbd
from tests.toy_pair import toy_pair
from tests.tracing.forger import Forger, answer, sealed_places
from tests.tracing.toys import toy_traces
from tests.ui.one_reader import one_reader
from ui.engine import Engine
from ui.host.limits import Limits
from ui.host.options import Host
from ui.page import build_page
from ui.pairs.shelf import PAGE
from ui.play import shown
from ui.serving import launch_options

from .strangers import uploads

SMALL = Limits(max_new_tokens=12, max_nodes=64, max_beam_tokens=64, max_evaluated_tokens=64, uploads_per_hour=1_000_000)
EVERY = 10
"""Runs between two looks at the memory."""


def many(strategy: Any, count: int, send: Callable[[Any], str]) -> dict[str, int]:
    """Send so many examples. Returns: how often each kind of answer came. Raises: AssertionError at the first fault."""
    kinds: Counter[str] = Counter()
    if not count:
        return {}

    @settings(max_examples=count, deadline=None, suppress_health_check=list(HealthCheck), phases=[Phase.generate])
    @given(strategy)
    def each(example: Any) -> None:
        kinds[send(example)] += 1

    each()
    return dict(kinds)


@contextmanager
def served(engine: Engine | None = None) -> Iterator[str]:
    """A page on the toy pair, or of this engine: its address."""
    engine = engine or Engine(toy_pair(), SMALL)
    page = build_page(engine)
    options = launch_options(engine, Host(mcp=True), is_private=True)
    _, address, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, **options)
    try:
        yield address
    finally:
        page.close()


def alter_traces(count: int) -> dict[str, int]:
    """Alter traces of all methods so often. Raises: AssertionError at the first alteration that passes unlisted.

    Returns: how many were refused by the reader, caught by the audit, listed as sealed by the digest only, or altered
    nothing after all.
    """
    chance, seen = random.Random(count), Counter[str]()
    forgers = {
        method: [(Forger(trace, chance), trace, sealed_places(trace)) for trace in toy_traces(method)]
        for method in (dsbd.METHODS if count else ())
    }
    while seen.total() - seen["same"] < count:
        forger, trace, sealed = chance.choice(forgers[chance.choice(dsbd.METHODS)])
        seen[answer(forger.alter(), trace, sealed)] += 1
    return dict(seen)


def send_uploads(count: int) -> dict[str, int]:
    """Upload broken files and changed traces, as the page's handler takes them; a bounded process reads them."""
    engine = Engine(toy_pair(), SMALL)
    with TemporaryDirectory() as folder, one_reader():
        path = Path(folder) / "mine.json.gz"

        def send(content: bytes) -> str:
            path.write_bytes(content)
            frame = shown.bring_file(engine, PAGE, str(path))
            assert "Traceback" not in str(frame.problem)
            return "refused" if frame.problem else "shown"

        return many(uploads(), count, send)


def memory(address: str, runs: int) -> list[tuple[int, float]]:
    """Resident memory of this process in MiB after every few runs; Linux."""
    client, seen = Client(address, verbose=False), []
    for run in range(runs):
        client.predict("Once upon", {"max_new_tokens": 10, "seed": run}, api_name="/decode")
        if run % EVERY == 0:
            gc.collect()
            pages = int(Path("/proc/self/statm").read_text().split()[1])
            seen.append((run, pages * 4096 / 2**20))
    return seen
