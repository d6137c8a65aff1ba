"""Runs named steps one after the other, each within its budget; a step that is done is not done again.

Every step runs in a separate process, so that an error of the device ends one step and not the day. What a step
returns is kept as ``NAME.json`` in the folder of results, with how it ended: ``done``, ``stopped`` (its budget was used
up; what it measured so far is kept), ``failed`` or ``skipped`` (something is missing on this machine, by name). All but
``done`` are tried again by the next call.
"""

import json
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from dsbd.files import write_file

GRACE_SECONDS = 60
"""How much longer than its budget a step may take to end by itself."""


@dataclass(frozen=True)
class Day:
    """What all steps share."""

    device: str
    results: Path
    small: bool
    """A rehearsal: tiny models, few tokens; the figures mean nothing."""

    def file(self, name: str, suffix: str = "json") -> Path:
        """Return the file of a step."""
        return self.results / f"{name}.{suffix}"


@dataclass(frozen=True)
class Outcome:
    """What a step found."""

    table: str
    """Markdown, for the page."""
    data: dict[str, Any]
    complete: bool = True


@dataclass(frozen=True)
class Step:
    """One measurement of the day."""

    name: str
    what: str
    minutes: int
    """Its budget."""
    run: Callable[[Day], Outcome]


@dataclass(frozen=True)
class Kept:
    """What the file of a step holds."""

    step: str
    state: str
    seconds: float
    table: str
    data: dict[str, Any]


class MissingError(Exception):
    """Something that a step needs is not on this machine; the message names it."""


class OutOfTime(KeyboardInterrupt):
    """The budget of a step is used up. A bench ends as it does at Ctrl-C, and keeps what is done."""


def kept(day: Day, step: Step) -> Kept | None:
    """Return what a step left behind; None if it has not begun."""
    file = day.file(step.name)
    return Kept(**json.loads(file.read_text(encoding="utf-8"))) if file.is_file() else None


def run_all(day: Day, steps: Sequence[Step], alone: bool) -> Iterator[tuple[Step, Kept]]:
    """Run what is not done yet; yield each step with its outcome.

    Args:
        day: what they share.
        steps: in this order.
        alone: run each step in a separate process.
    """
    day.results.mkdir(parents=True, exist_ok=True)
    for step in steps:
        before = kept(day, step)
        if before is None or before.state != "done":
            before = _in_a_process(day, step) if alone else run_one(day, step)
        yield step, before


def run_one(day: Day, step: Step) -> Kept:
    """Run one step in this process, within its budget, and keep what it returns."""
    start = time.monotonic()
    try:
        with budget(60 * step.minutes):
            outcome = step.run(day)
        state, table, data = "done" if outcome.complete else "stopped", outcome.table, outcome.data
    except OutOfTime:
        state, table, data = "stopped", f"not measured: {step.minutes} minutes were not enough", {}
    except MissingError as missing:
        state, table, data = "skipped", f"not measured: {missing}", {}
    except Exception as error:  # whatever one step meets, the others go on
        said = (str(error).strip() or type(error).__name__).splitlines()[0][:300]
        state, table, data = "failed", f"not measured: {type(error).__name__}", {"error": said}
    return _keep(day, Kept(step.name, state, round(time.monotonic() - start, 1), table, data))


def _in_a_process(day: Day, step: Step) -> Kept:
    day.file(step.name).unlink(missing_ok=True)
    command = [sys.executable, "-m", "benchmarks.first_gpu_day", "--step", step.name, "--device", day.device]
    command += ["--results", str(day.results), *(["--small"] if day.small else [])]
    start = time.monotonic()
    try:
        subprocess.run(command, check=False, timeout=60 * step.minutes + GRACE_SECONDS)
        said = "its process ended without a result"
    except subprocess.TimeoutExpired:
        said = f"it did not end after {step.minutes} minutes"
    seconds = round(time.monotonic() - start, 1)
    return kept(day, step) or _keep(day, Kept(step.name, "failed", seconds, "not measured", {"error": said}))


def _keep(day: Day, found: Kept) -> Kept:
    file = day.file(found.step)
    whole = file.with_suffix(".part")
    write_file(whole, json.dumps(asdict(found), indent=1) + "\n")
    whole.replace(file)
    return found


@contextmanager
def budget(seconds: int) -> Iterator[None]:
    """Raise :class:`OutOfTime` in the block once it took so long."""

    def ring(number: int, frame: object) -> None:
        raise OutOfTime

    before = signal.signal(signal.SIGALRM, ring)
    signal.alarm(seconds)
    try:
        yield
    finally:
        signal.alarm(0)
        signal.signal(signal.SIGALRM, before)
