"""Writes text files."""

from pathlib import Path

from dsbd.errors import TraceError


def write(path: str | Path, content: str) -> None:
    """Write UTF-8 text. Raises: TraceError if the file cannot be written."""
    try:
        Path(path).write_text(content, encoding="utf-8", errors="backslashreplace")
    except OSError as error:
        raise TraceError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
