"""Each check of the audit is needed: a forged trace is refused by it alone. What no check refuses is listed."""

import random
import re
from collections import Counter
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

import dsbd
import dsbd.tracing.audit as audit
from dsbd.errors import TraceError
from dsbd.tracing.distribution_audit import Checks
from dsbd.tracing.trace import Trace
from tests.toy_pair import OTHER, read_settings, toy_pair, toy_traces
from tests.tracing.forged import FAULTY, FORGED, forged, less, more, turned, twice
from tests.tracing.test_audit import trace_of

SOURCES = [
    Path(audit.__file__).with_name(name).read_text() for name in ("audit.py", "distribution_audit.py", "layer_audit.py")
]
CHECKS = {name for text in SOURCES for name in re.findall(r'\.(?:same|close|all_close|at_most)\(\s*"([^"]+)"', text)}


def test_every_check_has_its_forgery():
    assert FORGED.keys() | FAULTY.keys() == CHECKS


@pytest.mark.parametrize("check", sorted(CHECKS))
def test_a_forged_trace_is_refused_by_one_check_alone(check, monkeypatch):
    """Catches a check that was dropped: each trace passes without it."""
    trace, broken = forged(check), Checks.broken
    assert f": {check}" in dsbd.verify_trace(trace).failure
    monkeypatch.setattr(Checks, "broken", lambda self, name, *why: name == check or broken(self, name, *why))
    assert dsbd.verify_trace(trace).failure is None


WORDS = {
    "kind": ("drafted", "cover", "drawn", "draft", "bonus", "recovered", "fresh"),
    "verdict": ("accepted", "rejected", "orphaned", "unneeded", "carried"),
    "outcome": ("passed", "landed", "short", "bonus", "finished", "block"),
    "width_reason": ("threshold", "min_width", "max_width", "support", "bonus", "joint"),
    "method": dsbd.METHODS,
    "bytes": ("00", "c3"),
    "forest": ("sampled", "coupled"),
}


def alterations(name: str, value: Any) -> list[Any]:
    """Other values of a field."""
    known = [OTHER[name]] if name in OTHER else []
    match value:
        case str() | None if name in WORDS:
            return [one for one in WORDS[name] if one != value]
        case str():
            return [value + "x", value[:-1]]
        case bool():
            return [not value]
        case int():
            return [value + 1, value - 1, *known]
        case float():
            return [more(value), less(value), *known]
        case None:
            return [0, 1, 0.5, "x", [1], *known]
        case list():
            return [value[:-1], twice(value) if value else [1], turned(value)]
    return []


def fields(part: Any, path: tuple[str, ...] = ()) -> Iterator[tuple[str, Any, Any]]:
    """Every field of a trace: its name in the list of the audit, and where its value is."""
    for key, value in list(part.items() if isinstance(part, dict) else enumerate(part)):
        inner = path if isinstance(key, int) else (*path, key)
        yield listed_name(inner), part, key
        if isinstance(value, (dict, list)):
            yield from fields(value, inner)


def listed_name(path: tuple[str, ...]) -> str:
    """``models.id`` for both models, and one name for the software, the prompt, and all seconds."""
    if path[-1].endswith("seconds"):
        return "seconds"
    if path[0] in ("software", "prompt"):
        return path[0]
    return ".".join((path[0], *path[2:]) if path[0] == "models" else [one for one in path if one != "iterations"])


def survivors(trace: Trace, each: int) -> Counter[str]:
    """How often an alteration of a field passed, with a digest that fits; of each field ``each`` places are tried."""
    data, tried, passed = trace.to_dict(), Counter[str](), Counter[str]()
    del data["digest"]
    places = list(fields(data))
    random.Random(0).shuffle(places)
    for name, above, key in places:
        tried[name] += 1
        value = above[key]
        for other in alterations(name.rpartition(".")[2], value) if tried[name] <= each else []:
            above[key] = other
            with suppress(TraceError):  # the reader refuses it
                passed[name] += other != value and dsbd.verify_trace(Trace.from_dict(data)).failure is None
        above[key] = value
    return +passed


UNDECIDED = str(dsbd.verify_trace.__doc__).partition("No check decides:")[2].partition("Raises:")[0]
LISTED = set(re.findall(r"``([a-z_.]+)``", UNDECIDED))
SMALL = [
    read_settings("sampling", max_new_tokens=1),
    read_settings("specinfer", max_new_tokens=3, branching=(2, 2), seed=2),
]
"""Where the length of the text, and the second layer of a tree, change nothing."""


@pytest.mark.parametrize("name", ["dsbd", "speculative_beam_search"])
def test_what_passes_is_listed(name):
    """Catches an audit that decides less than it says."""
    assert survivors(trace_of(name), each=1).keys() <= LISTED


@pytest.mark.slow
def test_what_passes_is_what_is_listed():
    """Catches a list of the audit that names what it decides, too."""
    traces = [trace for method in dsbd.METHODS for trace in toy_traces(method)]
    traces += [dsbd.decode(toy_pair(), "Once", asked, record=True).trace for asked in SMALL]
    traces += [trace_of(name) for name in ("toy", "coupled", "distinct-tree", "joint", "9-SQL-speculative-sampling")]
    passed = Counter[str]()
    for trace in traces:
        passed |= survivors(trace, each=3)
    assert passed.keys() == LISTED
