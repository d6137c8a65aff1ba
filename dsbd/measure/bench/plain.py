"""Records to plain data and back. Needs no torch."""

from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

Record = TypeVar("Record")
_adapter: Callable[[Any], TypeAdapter[Any]] = lru_cache(TypeAdapter)


def to_plain(record: Any) -> dict[str, Any]:
    """Turn a record into plain data, ready for JSON."""
    plain: dict[str, Any] = _adapter(type(record)).dump_python(record, mode="json", by_alias=True)
    return plain


def from_plain(kind: type[Record], data: Any) -> Record:
    """Read a record of a kind from plain data; fields that the kind does not have are ignored.

    Raises:
        ValueError: a field is missing or wrong; the message has one line and names the first such field.
    """
    try:
        record: Record = _adapter(kind).validate_python(data)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(step) for step in first["loc"]) or kind.__name__
        raise ValueError(f"{place}: {first['msg']}") from None
    return record


def read_record(kind: type[Record], data: Any, what: str, remedy: str) -> Record:
    """Read a record with a field ``format`` from its plain data; a record of the kind is returned as it is.

    ``what`` is the record in words and ``remedy`` what to give instead, for the message.

    Raises:
        ValueError: it is no such record; the message names the first wrong field.
    """
    if isinstance(data, kind):
        return data
    if not isinstance(data, Mapping):
        raise ValueError(f"{type(data).__name__} is no {what}; {remedy}")
    known: Any = getattr(kind, "format", None)
    if data.get("format", known) != known:
        raise ValueError(f"no {what}: format is {data['format']!r}, this version reads {known!r}; {remedy}")
    try:
        return from_plain(kind, data)
    except ValueError as error:
        raise ValueError(f"no {what}: {error}; {remedy}") from None
