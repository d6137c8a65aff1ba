"""Writes files, with errors that say why; and fills templates, which escape their values."""

from pathlib import Path

from jinja2 import Environment, PackageLoader, StrictUndefined

from dsbd.errors import TraceError
from dsbd.util import write_file

TEMPLATES = Environment(
    loader=PackageLoader("visualize", "."), autoescape=True, undefined=StrictUndefined, trim_blocks=True,
    lstrip_blocks=True,
)  # fmt: skip
"""Jinja templates, by their path below ``visualize``. ``Markup`` is not escaped: it is HTML already."""


def write(path: str | Path, content: str | bytes) -> None:
    """Write bytes, or text as UTF-8. Raises: TraceError if the file cannot be written."""
    try:
        write_file(path, content.encode(errors="backslashreplace") if isinstance(content, str) else content)
    except OSError as error:
        raise TraceError(f"cannot write {str(path)!r}: {error.strerror or error}") from None
