"""Turns Markdown into harmless HTML: no HTML or scripts of the author, and pictures from files only."""

import base64
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from markdown_it import MarkdownIt
from markdown_it.token import Token

from dsbd.errors import LessonError

PICTURES = {".svg": "image/svg+xml", ".png": "image/png", ".jpg": "image/jpeg", ".jpeg": "image/jpeg"}
MAX_BYTES = 4_000_000


def markdown(text: str, folder: Path) -> str:
    """Turn Markdown into HTML; pictures are read from ``folder`` and put into the HTML. Raises: LessonError."""
    return _checked(text, folder, inline=False)


def markdown_line(text: str, folder: Path) -> str:
    """Turn a line of Markdown into HTML without a paragraph around it. Raises: LessonError."""
    return _checked(text, folder, inline=True)


def _checked(text: str, folder: Path, *, inline: bool) -> str:
    reader = MarkdownIt("commonmark", {"html": False}).enable("table")
    environment: dict[str, Any] = {}
    tokens = reader.parseInline(text, environment) if inline else reader.parse(text, environment)
    _carry_pictures(tokens, folder)
    rendered: str = reader.renderer.render(tokens, reader.options, environment)
    return rendered


def _carry_pictures(tokens: Sequence[Token], folder: Path) -> None:
    for token in tokens:
        _carry_pictures(token.children or [], folder)
        if token.type == "image":
            token.attrs["src"] = _picture(str(token.attrs["src"]), folder)


def _picture(name: str, folder: Path) -> str:
    """Return a picture file below the folder as a data address."""
    kind = PICTURES.get(Path(name).suffix.lower())
    path = (folder / name).resolve()
    if kind is None or not path.is_relative_to(folder.resolve()):
        raise LessonError(
            f"picture {name!r}: name a {', '.join(PICTURES)} file beside the lesson; pictures are not fetched"
        )
    try:
        content = path.read_bytes()
    except OSError as error:
        raise LessonError(f"picture {name!r}: {error.strerror or error}") from None
    if len(content) > MAX_BYTES:
        raise LessonError(f"picture {name!r} has {len(content):,} bytes; at most {MAX_BYTES:,} are carried along")
    return f"data:{kind};base64,{base64.b64encode(content).decode('ascii')}"
