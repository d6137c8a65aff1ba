"""A careful forger: one thing in a trace is altered, whatever it is, and the digest is made anew."""

import random
from collections.abc import Iterator, Set
from dataclasses import replace
from typing import Any, NamedTuple

from dsbd.errors import TraceError
from dsbd.tracing.audit import follows, verify_trace
from dsbd.tracing.checks import TOLERANCE
from dsbd.tracing.sealed import CHOICES, THE_END, Place, sealed_only
from dsbd.tracing.trace import Trace, canonical_digest

Data = Any
HALF = "a\ud800"
"""A text with half of a surrogate pair."""


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
    """Alters one trace again and again.

    Args:
        trace: an honest one.
        chance: chooses.
    """

    def __init__(self, trace: Trace, chance: random.Random) -> None:
        self.trace, self.data, self.chance = trace, trace.to_dict(), chance
        self.leaves, self.lists = dict[Place, list[Place]](), dict[Place, list[Place]]()
        for place, value in _walk((), self.data):
            if isinstance(value, list) and value:
                self.lists.setdefault(_kind(place), []).append(place)
            elif not isinstance(value, (dict, list)):
                self.leaves.setdefault(_kind(place), []).append(place)

    def alter(self) -> Altered:
        """One alteration by chance. Every kind of field is as likely as every other."""
        return self.chance.choices([self._value, self._swap, self._item, self._whole], [12, 2, 4, 1])[0]()

    def alter_kind(self, kind: Place, sealed: Set[Place]) -> Altered | None:
        """One alteration of a kind of field, where more than the digest holds it; None if that is nowhere."""
        values = [(value_at(self.data, place), place) for place in self.leaves[kind] if not holds(sealed, place)]
        if not values:
            return None
        values.sort(key=lambda found: found[0] is None)  # numbers before nulls
        old, place = values[0]
        if isinstance(old, str):
            others = [*(value_at(self.data, other) for other in self.leaves[kind]), *CHOICES.get(str(kind[-1]), ())]
        else:
            others = [old * 0.98 + 1e-6] if isinstance(old, float) else [not old] if isinstance(old, bool) else []
            others += self._others(old)[-1:]
        new = next((other for other in others if other != old), "x")
        return Altered(f"{old!r} becomes {new!r}", (place,), with_value(self.data, place, new))

    def _value(self) -> Altered:
        place = self._any(self.leaves)
        old, elsewhere = value_at(self.data, place), value_at(self.data, self.chance.choice(self.leaves[_kind(place)]))
        new = self.chance.choice([*self._others(old), elsewhere])
        return self._put(f"{old!r} becomes {new!r}", {place: new})

    def _swap(self) -> Altered:
        """Exchange two values of one kind."""
        place = self._any(self.leaves)
        other = self.chance.choice(self.leaves[_kind(place)])
        one, two = value_at(self.data, place), value_at(self.data, other)
        return self._put(f"{one!r} and {two!r} change places", {place: two, other: one})

    def _item(self) -> Altered:
        """Drop, repeat or exchange items of a list."""
        place = self._any(self.lists)
        items = value_at(self.data, place)
        at, other = self.chance.randrange(len(items)), self.chance.randrange(len(items))
        match self.chance.choice(["is dropped", "stands twice", "changes its place", "are all dropped"]):
            case "is dropped" as what:
                new = items[:at] + items[at + 1 :]
            case "stands twice" as what:
                new = [*items[: at + 1], *items[at:]]
            case "changes its place" as what:
                return self._put(what, {(*place, at): items[other], (*place, other): items[at]})
            case what:
                return Altered(what, (place,), with_value(self.data, place, []))
        return Altered(what, ((*place, at),), with_value(self.data, place, new))

    def _whole(self) -> Altered:
        """Alter what stands in several places at once."""
        match self.chance.choice(["result", "iterations", "token"]):
            case "result":
                return Altered("result dropped", (THE_END,), {**self.data, "result": None})
            case "iterations":
                kept = self.data["iterations"][: -self.chance.randint(1, len(self.data["iterations"]))]
                altered = {**self.data, "iterations": kept, "result": None}
                return Altered("last iterations dropped", (THE_END,), altered)
        tokens = [one for one in _walk((), self.data) if one[0][-1] == "token_id" or "token_ids" in one[0][:-1]]
        old = self.chance.choice(tokens)[1]
        new, data = self.chance.choice([0, 7, 258, 259, 260, 10**6, -1, tokens[-1][1]]), self.data
        touched = [place for place, token in tokens if token == old and "pieces" not in place]
        for place in touched:
            data = with_value(data, place, new)
        return Altered(f"token {old} is {new} everywhere", tuple(touched), data)

    def _put(self, what: str, values: dict[Place, Any]) -> Altered:
        """Put values into places; nothing where the first differs by no more than rounding."""
        first, data = next(iter(values)), self.data
        if _are_close(value_at(data, first), values[first]):
            return Altered("nothing", (), data)
        for place, value in values.items():
            data = with_value(data, place, value)
        return Altered(what, tuple(values), data)

    def _any(self, places: dict[Place, list[Place]]) -> Place:
        return self.chance.choice(places[self.chance.choice([*places])])

    def _others(self, value: Any) -> list[Any]:
        if isinstance(value, bool):
            return [not value, None]
        if isinstance(value, (int, float)):
            near = [value - 1, value * 1.001 + 1e-4, value * 0.999, -value, value / 2, value + 1]
            return [None, 0, 1, 0.5, 0.9, 1e-300, 1e300, -1e300, "x", *near, *near]
        if isinstance(value, str):
            return [None, "", "x", HALF, value + "x", value[:-1]]
        return [0, 0.9, 1, -1, True, "x", 0.5]


def answer(altered: Altered, trace: Trace, sealed: Set[Place]) -> str:
    """What is said of it: ``refused`` by the reader, ``caught`` by the audit, ``sealed`` by the digest only, ``same``.

    Raises: AssertionError where it passes, and is not listed.
    """
    try:
        forged = resealed(altered.data)
    except TraceError:
        return "refused"
    if replace(forged, digest=trace.digest) == trace:
        return "same"
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
    """True for two numbers that no audit can tell from rounding."""
    numbers = isinstance(one, float) and isinstance(other, (int, float))
    return numbers and abs(one - other) <= 2 * TOLERANCE * max(1.0, abs(one))


def _walk(place: Place, value: Any) -> Iterator[tuple[Place, Any]]:
    """Yield every value but the digest and the format, with its place, inner ones first."""
    inner = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for step, one in inner:
        yield from _walk((*place, step), one)
    if place not in ((), ("digest",), ("format",)):
        yield place, value


def _kind(place: Place) -> Place:
    return tuple("*" if isinstance(step, int) else step for step in place)
