"""A long look at the page as a server: malformed calls and uploads, many visitors, memory over many runs.

Run from the clone's root, with the requirements of the tests:

python -m benchmarks.reliability --calls 10000 --uploads 10000 --clients 32 --runs 1000 --output reliability.json

Writes counts as JSON and, beside it, the resident memory over the runs as SVG. Exit code 1: something was not as it
should be; the first such call is printed. docs/reliability.md says what was seen.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from tests.ui.hostile import Page, calls

from .examples import many
from .memory import chart, memory
from .served import served
from .uploads import send_uploads
from .visitors import many_clients


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
        found["clients"] = many_clients(asked.clients)
        found["memory_mib"] = seen = memory(address, asked.runs)
    found["seconds"] = round(time.monotonic() - began, 1)
    asked.output.write_text(json.dumps(found, indent=1) + "\n", encoding="utf-8")
    if seen:
        asked.output.with_suffix(".svg").write_text(chart(seen), encoding="utf-8")
    print(json.dumps({**found, "memory_mib": [seen[0], seen[-1]] if seen else []}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
