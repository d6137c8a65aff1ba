"""What the body of a call may hold. It is checked before Gradio reads it, so that each refusal is a sentence.

Gradio answers a plain 500 to many bad bodies: it quotes what it refuses, and infinity, half a surrogate pair or bytes
cannot be written as JSON again.
"""

import json
from collections.abc import Container
from pathlib import Path
from typing import Any

from gradio.utils import get_upload_folder

MAX_BYTES = 1024 * 1024
"""The largest prompt with all settings needs a tenth of this."""
MAX_MARKS = 30_000
"""Commas and brackets: a body has at most as many values. They are counted before JSON is read, because Gradio looks
through all values several times, while everybody waits. A text of the largest size has about half as many."""
MAX_DEPTH = 32
MAX_NAME = 100
"""Characters of a session's name; Gradio's have 36 at most. The server keeps names for a while."""


class CallError(ValueError):
    """The body is not a call; the message is for its sender."""


def check_call(body: bytes, handlers: Container[int]) -> None:
    """Refuse a body that no handler can answer. ``handlers``: their numbers.

    Raises:
        CallError: the body is no JSON object, has too many values, or names a handler, a session or a file that does
            not exist.
    """
    marks = sum(body.count(mark) for mark in (b",", b"[", b"{"))
    if marks > MAX_MARKS:
        raise CallError(f"The call has {marks:,} commas and brackets, allowed are {MAX_MARKS:,}; send fewer values.")
    try:
        call = json.loads(body)
    except RecursionError:
        raise CallError(f"The call is nested deeper than {MAX_DEPTH} levels; send plain values.") from None
    except ValueError:  # also for a number of more digits than Python reads
        raise CallError('The call is no JSON with plain numbers; send an object such as {"data": []}.') from None
    if not isinstance(call, dict):
        raise CallError('The call is no JSON object; send one such as {"data": []}.')
    _check_values(call)
    number, session = call.get("fn_index"), call.get("session_hash")
    if number is not None and (isinstance(number, bool) or not isinstance(number, int) or number not in handlers):
        raise CallError("fn_index is the number of no handler of this page; leave it out and call by name.")
    if session is not None and not (isinstance(session, str) and 0 < len(session) <= MAX_NAME):
        raise CallError(f"session_hash is a text of 1 to {MAX_NAME} characters.")
    try:
        json.dumps(call, ensure_ascii=False, allow_nan=False).encode()
    except UnicodeEncodeError:
        raise CallError("The call holds half of a surrogate pair, which is no character; send whole ones.") from None
    except ValueError:
        raise CallError("The call holds a number that is not finite; send finite numbers.") from None


def uploaded(path: str) -> Path | None:
    """The file that was uploaded under this path; None for every other path.

    The path holds the hash of the file's content, so only somebody who has the file knows the path.
    """
    try:
        file = Path(path).resolve()
        return file if file.is_relative_to(Path(get_upload_folder()).resolve()) and file.is_file() else None
    except (OSError, ValueError):  # no file can have this name
        return None


def _check_values(call: dict[str, Any]) -> None:
    """Refuse deep nesting, and a ``path`` that nobody uploaded: Gradio opens, copies or fetches such files."""
    level: list[Any] = [call]
    for _ in range(MAX_DEPTH):
        inner: list[Any] = []
        for value in level:
            if isinstance(value, dict):
                path = value.get("path")
                if isinstance(path, str) and uploaded(path) is None:
                    raise CallError(f"The path {path[:60]!r} is no uploaded file; name what an upload answered.")
                inner += value.values()
            elif isinstance(value, list):
                inner += value
        level = inner
    if level:
        raise CallError(f"The call is nested deeper than {MAX_DEPTH} levels; send plain values.")
