"""Writes what was measured into the pages: the text between two comments that name a step.

    <!-- measured: NAME -->
    not measured
    <!-- /measured -->

Text around the comments is written by hand and stays.
"""

import re
from collections.abc import Mapping
from pathlib import Path

from dsbd.files import write_file

BLOCK = re.compile(r"(<!-- measured: (?P<name>[\w-]+) -->)(?P<text>.*?)(<!-- /measured -->)", re.S)


def blocks(text: str) -> dict[str, str]:
    """Return the text of each block of a page, by name."""
    return {found["name"]: found["text"].strip() for found in BLOCK.finditer(text)}


def filled(text: str, tables: Mapping[str, str]) -> str:
    """Return a page with the blocks of these names replaced; a block within a line stays within it."""

    def fill(found: re.Match[str]) -> str:
        if found["name"] not in tables:
            return found[0]
        edge = "\n" if "\n" in found["text"] else ""
        return f"{found[1]}{edge}{tables[found['name']].strip()}{edge}{found[4]}"

    return BLOCK.sub(fill, text)


def write_pages(folder: Path, tables: Mapping[str, str]) -> list[Path]:
    """Fill the blocks of every page in a folder; return the pages that changed."""
    changed = []
    for page in sorted(folder.rglob("*.md")):
        text = page.read_text(encoding="utf-8")
        new = filled(text, tables)
        if new != text:
            write_file(page, new)
            changed.append(page)
    return changed
