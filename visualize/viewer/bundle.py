"""Joins the viewer's source files, plain ES modules, into the one module that every page serves or contains.

Each file appears once, after the files that it imports. Import lines, ``export``, comments and indentation are removed,
and an imported JSON file becomes a constant. The joined files share one scope, so no two of them may use the same name
at their top level.
"""

import json
import posixpath
import re
from functools import lru_cache
from importlib import resources

ENTRY = "viewer/viewer.js"
PYTHON_ONLY = ("page.",)  # starts of the keys that only Python reads
_IMPORT = re.compile(r'^import (?:\{[^}]*\}|\w+) from "(?P<file>\.{1,2}/[\w./-]+)"(?: with \{type: "json"\})?;\n', re.M)
_EXPORT = re.compile(r"^export (?=const|function|class|async)", re.M)
_COMMENT = re.compile(r"^[ \t]*/\*(?:(?!\*/).)*\*/[ \t]*\n?", re.M | re.S)
_REMARK = re.compile(r"[ \t]+(?:// .*|/\*[^*]*\*/)$", re.M)


def viewer_assets() -> dict[str, str]:
    """Return the parts that a page needs to show the viewer.

    Returns:
        ``js``: the ES module, which exports ``mount``.
        ``js_classic``: the same source for a classic script; it sets ``globalThis.DsbdViewer = {mount}``.
        ``css``: the style sheet, all of it for what is inside ``.dsbd``.

    Example:
        >>> sorted(visualize.viewer_assets())
    """
    return {
        "js": f"{joined(ENTRY)}export {{mount}};\n",
        "js_classic": classic(ENTRY, "globalThis.DsbdViewer = {mount};"),
        "css": _bare(source("viewer/viewer.css")),
    }


@lru_cache
def joined(entry: str) -> str:
    """Return a source file, named by its path below ``visualize``, joined with all that it imports."""
    order: list[str] = []
    _visit(entry, order, ())
    return "\n".join(map(_joined, order))


def classic(entry: str, last: str = "") -> str:
    """Return :func:`joined` as a classic script; ``last`` is its last line, which may export names to other scripts."""
    return f'(() => {{\n"use strict";\n{joined(entry)}{last}\n}})();\n'


def source(name: str) -> str:
    """Return one source file, named by its path below ``visualize``."""
    return (resources.files("visualize") / name).read_text(encoding="utf-8")


def imports_of(name: str) -> list[str]:
    """Return the files that a source file imports, in order."""
    imports = _IMPORT.finditer(source(name)) if name.endswith(".js") else ()
    return [posixpath.normpath(posixpath.join(posixpath.dirname(name), one["file"])) for one in imports]


def _visit(name: str, order: list[str], trail: tuple[str, ...]) -> None:
    assert name not in trail, f"{name} imports itself: {' → '.join((*trail, name))}"
    for imported in imports_of(name):
        _visit(imported, order, (*trail, name))
    if name not in order:
        order.append(name)


def _joined(name: str) -> str:
    if name.endswith(".json"):
        constant = posixpath.basename(name).removesuffix(".json")
        table = {key: value for key, value in json.loads(source(name)).items() if not key.startswith(PYTHON_ONLY)}
        return f"const {constant} = {json.dumps(table, ensure_ascii=False, separators=(',', ':'))};\n"
    return _EXPORT.sub("", _bare(_IMPORT.sub("", source(name))))


def _bare(text: str) -> str:
    """Return the source without comments, indentation and empty lines."""
    lines = (line.strip() for line in _REMARK.sub("", _COMMENT.sub("", text)).split("\n"))
    return "\n".join(line for line in lines if line) + "\n"
