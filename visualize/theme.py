"""How each state of a node looks: one of five marks, each with a colour after Okabe and Ito, a symbol and a dash.

The tables of ``theme.json`` serve the figures, the SVG, the pages and the viewer. Their colours are lightened or
darkened so that labels reach a contrast of 4.5, and marks of 3, in both themes. Below: colours and fonts of pages.
"""

import json
from dataclasses import dataclass
from importlib import resources
from types import SimpleNamespace
from typing import Any, Literal

from dsbd.errors import ArgumentError

Theme = Literal["light", "dark"]


@dataclass(frozen=True)
class Style:
    """The look of one mark."""

    symbol: str  # a Plotly marker symbol
    light: str
    dark: str
    dash: str  # the dash of the edge that leads to the node
    size: int  # pixels across
    path: str  # the symbol as an SVG path within -1..1, for drawings without Plotly
    filled: bool  # False where only the outline is drawn

    def color(self, theme: Theme = "light") -> str:
        """Return the colour on a light or dark page."""
        return self.dark if theme == "dark" else self.light


_TABLE: dict[str, Any] = json.loads((resources.files("visualize") / "theme.json").read_text(encoding="utf-8"))
SIZES = SimpleNamespace(**_TABLE["sizes"])
"""Sizes of a drawn forest in pixels, in parts of a column (``bend``, ``band_*``) or in rows (``*_row*``); dash patterns
as SVG writes them; and how a mark grows with the square root of its probability."""

MARKS: dict[str, tuple[str, ...]] = {mark: tuple(fields.pop("states")) for mark, fields in _TABLE["marks"].items()}
"""The states that share a mark, in the order of the legend.

``start``: the text so far; ``kept``: a guess that was kept; ``dropped``: a guess that failed; ``picked``: a token that
the large model chose; ``guess``: a guess that was not tested.
"""
TREE_MARKS = tuple(mark for mark in MARKS if mark != "start")
YIELDED = (*MARKS["kept"], *MARKS["picked"])  # states of the tokens that a layer yields
STYLES = {mark: Style(**fields) for mark, fields in _TABLE["marks"].items()}
MARK_OF = {state: mark for mark, states in MARKS.items() for state in states}
MONOSPACE = "ui-monospace, 'SF Mono', 'Cascadia Code', 'DejaVu Sans Mono', Menlo, Consolas, monospace"
FONT = {"family": "ui-sans-serif, system-ui, 'Segoe UI', 'Noto Sans', 'DejaVu Sans', sans-serif", "size": 13}


@dataclass(frozen=True)
class Palette:
    """The colours of one theme that belong to no state."""

    paper: str
    ink: str
    soft: str
    faint: str
    band: str
    accent: str


_LIGHT = Palette("#fffffe", "#22272e", "#5b6470", "#98a1ac", "#f3f5f7", "#2f6fae")
_DARK = Palette("#14171b", "#e6e9ed", "#a4adb8", "#79828d", "#20262c", "#7ab8ee")


def palette(theme: Theme) -> Palette:
    """Return the colours of a theme. Raises: ArgumentError."""
    if theme not in ("light", "dark"):
        raise ArgumentError(f"theme is {theme!r}; choose 'light' or 'dark'")
    return _DARK if theme == "dark" else _LIGHT
