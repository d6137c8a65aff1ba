"""Planted faults: small mistakes in what must not go wrong, each of which the tests of its file must catch.

Run from the clone's root, with the requirements of the tests:

python -m benchmarks.planted_faults
python -m benchmarks.planted_faults --only dsbd/law --workers 2

Each fault of planted_faults.json is planted in a temporary copy of the clone, and the tests of that file run there
until one fails. Prints a table. Exit code 1: a fault was not caught.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from queue import Queue
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LIMIT = 240
"""Seconds after which a fault counts as caught: no test file takes that long, so the fault made an endless loop."""
ALSO = {
    "dsbd/law/beams.py": ["tests/law/test_parts.py"],
    "dsbd/law/choices.py": ["tests/law/test_parts.py"],
    "dsbd/law/forest.py": ["tests/law/test_parts.py"],
    "dsbd/law/verified.py": ["tests/law/test_parts.py"],
    "dsbd/law/laws.py": ["tests/law/test_extremes.py"],
    "dsbd/law/verify.py": ["tests/law/test_extremes.py", "tests/law/test_enumeration.py"],
    "dsbd/tracing/layer_audit.py": ["tests/tracing/test_audit.py"],
    "dsbd/tracing/law_audit.py": ["tests/tracing/test_audit.py"],
    "dsbd/draft.py": ["tests/law/test_end_to_end.py"],
    "dsbd/host_draft.py": ["tests/test_draft.py", "tests/law/test_end_to_end.py"],
    "dsbd/next_tokens.py": ["tests/law/test_end_to_end.py"],
    "dsbd/score.py": ["tests/law/test_end_to_end.py"],
    "dsbd/session.py": ["tests/tracing/test_false_alarms.py"],
    "dsbd/auto/plan.py": ["tests/auto/test_kept.py"],
    "dsbd/models/engines/fused.py": ["tests/models/engines/test_engines.py"],
    "dsbd/models/engines/graph.py": ["tests/models/engines/test_engines.py"],
    "dsbd/models/engines/onnx_graph.py": ["tests/models/engines/test_onnx.py"],
    "dsbd/models/rows/new.py": ["tests/models/engines/test_onnx.py"],
    "dsbd/models/rows/threaded.py": ["tests/models/test_threads.py"],
    "dsbd/models/choosing.py": ["tests/models/engines/test_engines.py"],
    "dsbd/decoder.py": ["tests/models/test_threads.py"],
    "dsbd/measure/bench/run.py": ["tests/measure/bench/test_memory.py"],
    "dsbd/measure/bench/records.py": ["tests/evaluation/test_bench.py"],
    "dsbd/observer.py": ["tests/models/test_ranks.py"],
}
"""Tests of a file beside those of the same name, if there are any."""
PYTEST = """
import sys
import hypothesis, pytest
phases = [hypothesis.Phase.explicit, hypothesis.Phase.generate]
hypothesis.settings.register_profile("first", phases=phases, database=None)
hypothesis.settings.load_profile("first")
sys.exit(pytest.main(["-x", "-q", "-p", "no:cacheprovider", *sys.argv[1:]]))
"""
"""Runs test files until one fails; Hypothesis does not look for a smaller example of a failure."""


class Fault(NamedTuple):
    """A mistake: ``old`` occurs once in ``file`` and becomes ``new``."""

    file: str
    old: str
    new: str


FAULTS = [
    Fault(file, old, new)
    for file, faults in json.loads((Path(__file__).with_suffix(".json")).read_text(encoding="utf-8")).items()
    for old, new in faults
]


class Outcome(NamedTuple):
    """What the tests said of a planted fault."""

    fault: Fault
    caught: bool
    seconds: float


def mirrors_of(file: str) -> list[str]:
    """Return the test files that mirror a file; ``tests`` has the folders of ``dsbd``, and those of ``ui`` in one.

    The tests of all JavaScript run together.
    """
    path = Path(file)
    if path.suffix == ".js":
        return ["tests/visualize/test_javascript.py"]
    folders = path.parent.parts[path.parts[0] == "dsbd" :]
    mirror = Path("tests", *folders, f"test_{path.stem}.py").as_posix()
    others = ALSO.get(file, [])
    return [mirror, *others] if not others or (ROOT / mirror).exists() else others


def planted(fault: Fault, text: str) -> str:
    """Return the file's text with the fault in it. Raises: ValueError where the old text does not occur once."""
    if text.count(fault.old) != 1:
        raise ValueError(f"{fault.file}: {fault.old!r} occurs {text.count(fault.old)} times; a fault needs one place")
    return text.replace(fault.old, fault.new)


def try_fault(fault: Fault, copy: Path) -> Outcome:
    """Plant a fault in a copy of the clone, run its tests, and take it out again."""
    path = copy / fault.file
    sound = path.read_text(encoding="utf-8")
    path.write_text(planted(fault, sound), encoding="utf-8")
    started = time.perf_counter()
    try:
        command = [sys.executable, "-B", "-c", PYTEST, *mirrors_of(fault.file)]
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}  # an old .pyc would hide the fault
        ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=LIMIT, check=False)
        caught = ended.returncode != 0
    except subprocess.TimeoutExpired:
        caught = True
    finally:
        path.write_text(sound, encoding="utf-8")
    return Outcome(fault, caught, time.perf_counter() - started)


def run(faults: list[Fault], workers: int) -> list[Outcome]:
    """Try the faults, each worker in a separate copy; print each outcome as it comes."""
    unwanted = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".hypothesis", "node_modules", "*.egg-info")
    with TemporaryDirectory() as folder, ThreadPoolExecutor(workers) as pool:
        copies: Queue[Path] = Queue()
        for number in range(workers):
            copies.put(Path(shutil.copytree(ROOT, Path(folder, str(number)), ignore=unwanted)))

        def one(fault: Fault) -> Outcome:
            copy = copies.get()
            try:
                outcome = try_fault(fault, copy)
            finally:
                copies.put(copy)
            verdict = "caught" if outcome.caught else "MISSED"
            change = f"{' '.join(fault.old.split())} -> {' '.join(fault.new.split())}"
            print(f"{verdict} {outcome.seconds:6.1f} s  {fault.file}: {change}", flush=True)
            return outcome

        return list(pool.map(one, faults))


def main() -> int:
    """Run the program. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PREFIX", help="files whose path begins with this (all)")
    parser.add_argument("--workers", type=int, default=1, help="how many copies run at once (1)")
    parsed = parser.parse_args()
    outcomes = run([fault for fault in FAULTS if fault.file.startswith(parsed.only)], parsed.workers)
    missed = sum(not outcome.caught for outcome in outcomes)
    print(f"{len(outcomes)} faults, {len(outcomes) - missed} caught, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
