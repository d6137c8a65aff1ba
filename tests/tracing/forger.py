"""A careful forger: one thing in a trace is altered, whatever it is, and the digest is made anew."""

from collections.abc import Iterator, Set
from dataclasses import replace
from typing import Any, NamedTuple

from dsbd.errors import TraceError
from dsbd.tracing.audit import follows, verify_trace
from dsbd.tracing.sealed import CHOICES, THE_END, Place, sealed_only
from dsbd.tracing.trace import Trace, canonical_digest

Data = Any


def resealed(data: Data) -> Trace:
    """The trace with a digest that fits."""
    trace = Trace.from_dict(data)
    return replace(trace, digest=canonical_digest(trace))


class Altered(NamedTuple):
    """A trace with one thing altered."""

    what: str
    places: tuple[Place, ...]
    """All that is touched."""
    data: Data


class Forger:
    """Alters a trace, one kind of field after the other."""

    def __init__(self, trace: Trace) -> None:
        self.data = trace.to_dict()
        self.leaves, self.lists = dict[Place, list[Place]](), dict[Place, list[Place]]()
        for place, value in _walk((), self.data):
            if isinstance(value, list) and value:
                self.lists.setdefault(_kind(place), []).append(place)
            elif not isinstance(value, (dict, list)):
                self.leaves.setdefault(_kind(place), []).append(place)

    def alter_kind(self, kind: Place, sealed: Set[Place]) -> Altered | None:
        """One alteration of a kind of field, where more than the digest holds it; None if that is nowhere."""
        places = [place for place in self.leaves[kind] if not holds(sealed, place)]
        places.sort(key=lambda place: value_at(self.data, place) is None)  # numbers before nulls
        return next(self._at(places[0]), None) if places else None

    def alterations(self) -> Iterator[Altered]:
        """Several alterations of every kind of field and list, and of what stands in several places at once."""
        for places in self.leaves.values():
            for place in {places[0], places[-1]}:
                yield from self._at(place)
        for places in self.lists.values():
            place = places[-1]
            items = value_at(self.data, place)
            last = (*place, len(items) - 1)
            yield Altered("the last is dropped", (last,), with_value(self.data, place, items[:-1]))
            yield Altered("the last stands twice", (last,), with_value(self.data, place, [*items, items[-1]]))
            if items[0] != items[-1]:
                yield Altered("turned round", (place,), with_value(self.data, place, items[::-1]))
        yield Altered("no result", (THE_END,), {**self.data, "result": None})
        kept = self.data["iterations"][:-1]
        yield Altered("no last iteration", (THE_END,), {**self.data, "iterations": kept, "result": None})

    def _at(self, place: Place) -> Iterator[Altered]:
        """Alterations of the value in one place."""
        old = value_at(self.data, place)
        elsewhere = [value_at(self.data, other) for other in self.leaves[_kind(place)]]
        if isinstance(old, str):
            others = [*elsewhere, *CHOICES.get(str(place[-1]), ()), old + "x"]
        elif isinstance(old, bool) or old is None:
            others = [not old, 0.9]
        else:
            step = 0.02 * old + 1e-3 if isinstance(old, float) else 1
            others = [old - step if old > step else old + step, *elsewhere]
        for new in [next(other for other in others if not _are_close(old, other)), None if old is not None else "x"]:
            yield Altered(f"{old!r} becomes {new!r}", (place,), with_value(self.data, place, new))


def answer(altered: Altered, trace: Trace, sealed: Set[Place]) -> str:
    """What is said of it: ``refused`` by the reader, ``caught`` by the audit, or ``sealed`` by the digest only.

    Raises: AssertionError where it passes, and is not listed.
    """
    try:
        forged = resealed(altered.data)
    except TraceError:
        return "refused"
    report = verify_trace(forged)
    if not report.passed:
        assert "digest" not in report.failure
        return "caught"
    unlisted = [place for place in altered.places if not holds(sealed, place)]
    assert not unlisted, f"{trace.settings.method}, seed {trace.seed}: {altered.what} at {unlisted} passes unlisted"
    return "sealed"


def sealed_places(trace: Trace) -> frozenset[Place]:
    """All that the audit lists as sealed by the digest only."""
    return frozenset().union(*(line.places for line in sealed_only(trace, follows)))


def holds(sealed: Set[Place], place: Place) -> bool:
    """True where the place, or one that it stands in, is among those that only the digest seals."""
    return any(place[:length] in sealed for length in range(1, len(place) + 1))


def value_at(data: Data, place: Place) -> Any:
    for step in place:
        data = data[step]
    return data


def with_value(data: Data, place: Place, value: Any) -> Data:
    """The same data with another value at one place; the rest is shared."""
    if not place:
        return value
    copy = data.copy()
    copy[place[0]] = with_value(data[place[0]], place[1:], value)
    return copy


def _are_close(one: Any, other: Any) -> bool:
    """True for equal values, and for two numbers that an audit may take for one."""
    numbers = isinstance(one, float) and isinstance(other, (int, float))
    return one == other or (numbers and abs(one - other) <= 1e-6 * max(1.0, abs(one)))


def _walk(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    """Yield every value but the digest and the format, with its place, inner ones first."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in inner:
        yield from _walk((*place, step), one)
    if place not in ((), ("digest",), ("format",)):
        yield place, value


def _kind(place: Place) -> Place:
    return tuple("*" if isinstance(step, int) else step for step in place)
