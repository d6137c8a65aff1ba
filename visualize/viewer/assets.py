"""The viewer's source for pages that embed it."""

import importlib.util
from collections.abc import Iterable
from pathlib import Path

from visualize.viewer.bundle import module, source

GLOBAL = "DsbdViewer"
_EXPORT = "export function mount"


def viewer_assets(languages: Iterable[str] | None = None) -> dict[str, str]:
    """What a page needs to show the viewer, from the one source.

    Args:
        languages: string tables to carry, English always among them; None = all there are.

    Returns:
        ``js``: the ES module, which exports ``mount``.
        ``js_classic``: the same source for a classic script; it sets ``globalThis.DsbdViewer = {mount}``.
        ``css``: the style sheet; all of it stays below ``.dsbd``.
        ``plotly_js_path``: where the plotly package keeps ``plotly.min.js``, to be served by the page.

    Raises:
        ValueError: there is no table for one of the languages.
    """
    js = module(None if languages is None else tuple(sorted(set(languages))))
    css = source("viewer/viewer.css")
    return {"js": js, "js_classic": classic(js), "css": css, "plotly_js_path": str(plotly_js_path())}


def classic(js: str) -> str:
    """The module's source as an expression that runs in a classic script, strict and leaking one global."""
    assert js.count("\nexport ") == js.count(_EXPORT) == 1, "the module must export mount and nothing else"
    body = js.replace(_EXPORT, "function mount")
    return f'(() => {{\n"use strict";\n{body}\nglobalThis.{GLOBAL} = {{mount}};\n}})();\n'


def plotly_js_path() -> Path:
    """``plotly.min.js`` of the installed plotly package. Raises: FileNotFoundError."""
    spec = importlib.util.find_spec("plotly")
    if spec is None or spec.origin is None:
        raise FileNotFoundError("the plotly package is not installed; install plotly")
    path = Path(spec.origin).parent / "package_data" / "plotly.min.js"
    if not path.is_file():
        raise FileNotFoundError("the installed plotly package has no plotly.min.js; install plotly again")
    return path
