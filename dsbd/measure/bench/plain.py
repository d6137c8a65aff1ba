"""Records to plain data and back. Needs no torch."""

from collections.abc import Callable
from functools import lru_cache
from typing import Any, TypeVar

from pydantic import TypeAdapter, ValidationError

Record = TypeVar("Record")
_adapter: Callable[[Any], TypeAdapter[Any]] = lru_cache(TypeAdapter)


def to_plain(record: Any) -> Any:
    """Turn a record into plain data, ready for JSON."""
    return _adapter(type(record)).dump_python(record, mode="json", by_alias=True)


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
