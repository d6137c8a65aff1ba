"""Writes files; if that fails, the error says why."""

from pathlib import Path

from dsbd.errors import TraceError
from dsbd.files import write_file


def write(path: str | Path, content: str | bytes) -> None:
    """Write bytes, or text as UTF-8. Raises: TraceError if the file cannot be written."""
    try:
        write_file(path, content.encode(errors="backslashreplace") if isinstance(content, str) else content)
    except OSError as error:
        raise TraceError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
