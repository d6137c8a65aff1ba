"""Long trials of what strangers may send: traces, models, calls, bodies, uploads; of many visitors; of memory.

Run from the clone's root, with the requirements of the tests; a size of 0 leaves a trial out:

python -m benchmarks.reliability --calls 10000 --bodies 10000 --uploads 10000 --clients 32 --runs 1000 \
    --alterations 32000 --folders 300

Writes counts as JSON (--output). Exit code 1: something was wrong; the first such call is printed. docs/reliability.md
says what was seen.
"""

import argparse
import json
import sys
import time
from pathlib import Path
from typing import Any

from dsbd.files import write_file

from .bodies import send_bodies
from .folders import hostile_folders
from .strangers import Page, calls
from .trials import alter_traces, many, memory, send_uploads, served
from .visitors import many_clients

SIZES = {"alterations": 32_000, "folders": 300, "calls": 10_000, "bodies": 10_000, "uploads": 10_000, "clients": 32,
         "runs": 1_000}  # fmt: skip


def main() -> int:
    """Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for name, number in SIZES.items():
        parser.add_argument(f"--{name}", type=int, default=number)
    parser.add_argument("--output", type=Path, default=Path("reliability.json"))
    asked = parser.parse_args()
    began, found = time.monotonic(), dict[str, Any]()
    found["alterations"] = alter_traces(asked.alterations)
    found["folders"] = hostile_folders(asked.folders)
    with served() as address:
        page = Page(address)
        found["calls"] = many(calls(), asked.calls, page.send)
        found["bodies"] = send_bodies(address, asked.bodies)
        found["uploads"] = send_uploads(asked.uploads)
        found["clients"] = many_clients(asked.clients)
        found["memory_mib"] = seen = memory(address, asked.runs)
    found["seconds"] = round(time.monotonic() - began, 1)
    write_file(asked.output, json.dumps(found, indent=1) + "\n")
    print(json.dumps({**found, "memory_mib": [seen[0], seen[-1]] if seen else []}, indent=1))
    return 0


if __name__ == "__main__":
    sys.exit(main())
