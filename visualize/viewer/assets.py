"""The viewer's source for pages that embed it."""

import importlib.util
from collections.abc import Iterable
from pathlib import Path

from visualize.viewer.bundle import module, source

GLOBAL = "DsbdViewer"
_EXPORT = "export function mount"


def viewer_assets(languages: Iterable[str] | None = None) -> dict[str, str]:
    """Return the parts that a page needs to show the viewer.

    Args:
        languages: string tables to include; English is always included; None = all.

    Returns:
        ``js``: the ES module, which exports ``mount``.
        ``js_classic``: the same source for a classic script; it sets ``globalThis.DsbdViewer = {mount}``.
        ``css``: the style sheet; all of it stays below ``.dsbd``.
        ``plotly_js_path``: path of ``plotly.min.js`` in the plotly package; the page must serve it.

    Example:
        >>> sorted(visualize.viewer_assets(languages=["en"]))

    Raises:
        ValueError: there is no table for one of the languages.
    """
    js = module(None if languages is None else tuple(sorted(set(languages))))
    css = source("viewer/viewer.css")
    return {"js": js, "js_classic": classic(js), "css": css, "plotly_js_path": str(plotly_js_path())}


def classic(js: str) -> str:
    """Return the module's source as a strict expression for a classic script; it defines one global name."""
    assert js.count("\nexport ") == js.count(_EXPORT) == 1, "the module must export mount and nothing else"
    body = js.replace(_EXPORT, "function mount")
    return f'(() => {{\n"use strict";\n{body}\nglobalThis.{GLOBAL} = {{mount}};\n}})();\n'


def plotly_js_path() -> Path:
    """Return the path of ``plotly.min.js`` in the installed plotly package. Raises: FileNotFoundError."""
    spec = importlib.util.find_spec("plotly")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the plotly package is not installed; install plotly")
    path = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    if not path.is_file():
        raise FileNotFoundError("the installed plotly package has no plotly.min.js; install plotly again")
    return path
