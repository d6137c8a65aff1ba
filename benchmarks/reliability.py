"""A long look at the page as a server: malformed calls and uploads, many visitors, memory over many runs.

Run from the clone's root, with the requirements of the tests:

python -m benchmarks.reliability --calls 10000 --uploads 10000 --clients 32 --runs 1000 --output reliability.json

Writes counts as JSON and, beside it, the resident memory over the runs as SVG. Exit code 1: something was not as it
should be; the first such call is printed. docs/reliability.md says what was seen.
"""

import argparse
import gc
import json
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from gradio_client import Client
from hypothesis import HealthCheck, Phase, given, settings

import dsbd
from tests.toy_pair import toy_pair
from tests.ui.forked_reader import forked_reader, reading_by
from tests.ui.hostile import Page, calls, uploads
from ui import Engine, build_page, launch_options
from ui.host.limits import Limits
from ui.pairs.shelf import PAGE
from ui.play import shown

SMALL = Limits(max_new_tokens=12, max_nodes=64, max_beam_tokens=64, max_compared_tokens=64, uploads_per_hour=1_000_000)
AT_ONCE = 12
"""Visitors that ask at the same time; more than may wait would be refused."""
EVERY = 10
"""Runs between two looks at the memory."""


@contextmanager
def served() -> Iterator[str]:
    """A page on the toy pair: its address."""
    engine = Engine(toy_pair(), SMALL)
    page = build_page(engine)
    options = launch_options(engine)
    _, address, _ = page.launch(server_name="127.0.0.1", prevent_thread_lock=True, quiet=True, **options)
    try:
        yield address
    finally:
        page.close()


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


def send_uploads(count: int) -> dict[str, int]:
    """Uploads, as the page's handler takes them; each is read in a process of its own."""
    engine = Engine(toy_pair(), SMALL)
    with TemporaryDirectory() as folder, forked_reader() as forked, reading_by(forked):
        path = Path(folder) / "mine.json.gz"

        def send(content: bytes) -> str:
            path.write_bytes(content)
            frame = shown.bring_file(engine, PAGE, str(path))
            assert "Traceback" not in str(frame.problem)
            return "refused" if frame.problem else "shown"

        return many(uploads(), count, send)


def many_clients(address: str, clients: int) -> dict[str, int]:
    """Visitors at once, each with a prompt and a seed of its own. Returns: answers that are, and are not, its own."""
    asked = [(f"Visitor {place}", {"max_new_tokens": 6, "seed": place}) for place in range(clients)]
    alone = [dsbd.decode(toy_pair(), prompt, dsbd.DecodingSettings(**chosen)) for prompt, chosen in asked]

    def visit(place: int) -> bool:
        answer = Client(address, verbose=False).predict(*asked[place], api_name="/decode")
        return answer["token_ids"] == list(alone[place].token_ids)

    with ThreadPoolExecutor(AT_ONCE) as pool:
        right = sum(pool.map(visit, range(clients)))
    return {"their own": right, "not their own": clients - right}


def memory(address: str, runs: int) -> list[tuple[int, float]]:
    """Resident memory in MiB after every few runs."""
    client, seen = Client(address, verbose=False), []
    for run in range(runs):
        client.predict("Once upon", {"max_new_tokens": 10, "seed": run}, api_name="/decode")
        if run % EVERY == 0:
            gc.collect()
            seen.append((run, resident_mib()))
    return seen


def resident_mib() -> float:
    """Resident memory of this process; Linux."""
    pages = int(Path("/proc/self/statm").read_text().split()[1])
    return pages * 4096 / 2**20


def chart(seen: list[tuple[int, float]]) -> str:
    """Memory over runs as SVG, from zero."""
    width, height, left, bottom = 640, 200, 60, 30
    most, last = max(mib for _, mib in seen), max(1, seen[-1][0])
    points = " ".join(f"{left + width * run / last:.1f},{10 + height * (1 - mib / most):.1f}" for run, mib in seen)
    box = f'viewBox="0 0 {left + width + 20} {height + bottom + 20}"'
    style = 'font-family="ui-sans-serif, system-ui, sans-serif" font-size="12" fill="#22272e"'
    return "\n".join(
        [
            f'<svg xmlns="http://www.w3.org/2000/svg" {box} {style}>',
            "<title>Resident memory of the page over its runs</title>",
            '<rect width="100%" height="100%" fill="#fff"/>',
            f'<path d="M{left},10v{height}h{width}" fill="none" stroke="#98a1ac"/>',
            f'<polyline points="{points}" fill="none" stroke="#2f6fae" stroke-width="2"/>',
            f'<text x="{left - 8}" y="16" text-anchor="end">{most:.0f} MiB</text>',
            f'<text x="{left - 8}" y="{height + 14}" text-anchor="end">0</text>',
            f'<text x="{left + width}" y="{height + 28}" text-anchor="end">{seen[-1][0]} runs</text>',
            "</svg>",
            "",
        ]
    )


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, number in (("calls", 10_000), ("uploads", 10_000), ("clients", 32), ("runs", 1_000)):
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--output", type=Path, default=Path("reliability.json"))
    asked = parser.parse_args()
    began, found = time.monotonic(), dict[str, Any]()
    with served() as address:
        page = Page(address)
        found["calls"] = many(calls(), asked.calls, page.send)
        found["uploads"] = send_uploads(asked.uploads)
        found["clients"] = many_clients(address, asked.clients)
        found["memory_mib"] = seen = memory(address, asked.runs)
    found["seconds"] = round(time.monotonic() - began, 1)
    asked.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if seen:
        asked.output.with_suffix(".svg").write_text(chart(seen), encoding="utf-8")
    print(json.dumps({**found, "memory_mib": [seen[0], seen[-1]] if seen else []}, indent=1))
    return 1 if found["clients"]["not their own"] else 0


if __name__ == "__main__":
    sys.exit(main())
