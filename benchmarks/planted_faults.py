"""Planted faults: small mistakes in what must not go wrong, each of which the tests of its file must catch.

Run from the clone's root, with the requirements of the tests:

python -m benchmarks.planted_faults
python -m benchmarks.planted_faults --only dsbd/verification

Each fault of planted_faults.json is planted in a temporary copy of the clone, and the tests of its room run there until
one fails. Prints a table. Exit code 1: a fault was not caught.
"""

import argparse
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import NamedTuple

ROOT = Path(__file__).parent.parent
LIMIT = 900
"""Seconds after which a fault counts as caught: no room's tests take that long, so the fault made an endless loop."""
DISTRIBUTION = ("draft", "next_tokens", "score", "session", "decoder")
"""Files at the top of ``dsbd`` that the enumerations of ``tests/verification`` check too."""


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


def suite_of(file: str) -> list[str]:
    """Return what tests a file: all tests of JavaScript, those of its room, or, without a room, those of no room."""
    path = Path(file)
    if path.suffix == ".js":
        return ["tests/visualize/test_javascript.py", "tests/visualize/test_live.py"]
    folders = path.parent.parts[path.parts[0] == "dsbd" or path.parts[:2] == ("visualize", "page") :]
    while folders and not Path(ROOT, "tests", *folders).is_dir():
        folders = folders[:-1]
    if folders:
        return [Path("tests", *folders).as_posix()]
    tops = sorted(path.relative_to(ROOT).as_posix() for path in (ROOT / "tests").glob("test_*.py"))
    return [*(["tests/verification"] if path.stem in DISTRIBUTION else []), *tops]


def planted(fault: Fault, text: str) -> str:
    """Return the file's text with the fault in it. Raises: ValueError where the old text does not occur once."""
    if text.count(fault.old) != 1:
        raise ValueError(f"{fault.file}: {fault.old!r} occurs {text.count(fault.old)} times; a fault needs exactly one")
    return text.replace(fault.old, fault.new)


def is_caught(fault: Fault, copy: Path) -> bool:
    """Plant a fault in a copy of the clone, run its tests, and take it out again; say whether one failed."""
    path = copy / fault.file
    sound = path.read_text(encoding="utf-8")
    path.write_text(planted(fault, sound), encoding="utf-8")
    try:
        command = [sys.executable, "-B", "-m", "pytest", "-x", "-q", "-p", "no:cacheprovider", *suite_of(fault.file)]
        environment = os.environ | {"PYTHONDONTWRITEBYTECODE": "1"}  # an old .pyc would hide the fault
        ended = subprocess.run(command, cwd=copy, env=environment, capture_output=True, timeout=LIMIT, check=False)
        if ended.returncode > 2:
            raise RuntimeError(f"the tests of {fault.file} did not run: {ended.stdout.decode()[-500:]}")
        return ended.returncode != 0
    except subprocess.TimeoutExpired:
        return True
    finally:
        path.write_text(sound, encoding="utf-8")


def main() -> int:
    """Run the program. Returns the exit code."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--only", default="", metavar="PREFIX", help="files whose path begins with this (all)")
    faults = [fault for fault in FAULTS if fault.file.startswith(parser.parse_args().only)]
    unwanted = shutil.ignore_patterns(".git", ".venv", "__pycache__", ".hypothesis", "node_modules", "*.egg-info")
    missed = 0
    with TemporaryDirectory() as folder:
        copy = Path(shutil.copytree(ROOT, Path(folder, "clone"), ignore=unwanted))
        for fault in faults:
            caught = is_caught(fault, copy)
            missed += not caught
            change = f"{' '.join(fault.old.split())} -> {' '.join(fault.new.split())}"
            print(f"{'caught' if caught else 'MISSED'}  {fault.file}: {change}", flush=True)
    print(f"{len(faults)} faults, {len(faults) - missed} caught, {missed} missed")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
