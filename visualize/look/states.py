"""How each state of a node looks: one of five marks, each with a colour after Okabe and Ito, a symbol and a dash.

The tables ``look/marks.json`` and ``look/sizes.json`` serve the figures, the SVG, the pages and the viewer. The colours
are made lighter or darker so that labels reach a contrast of 4.5, and marks of 3, in both themes.
"""

import json
from dataclasses import dataclass
from importlib import resources
from types import SimpleNamespace
from typing import Any, Literal

Theme = Literal["light", "dark"]


@dataclass(frozen=True)
class Style:
    """The look of one mark."""

    symbol: str
    """A Plotly marker symbol."""
    light: str
    dark: str
    dash: str
    """The dash of the edge that leads to the node."""
    size: int
    """Pixels across."""
    path: str
    """The symbol as an SVG path within -1..1, for drawings without Plotly."""
    filled: bool
    """False where only the outline is drawn."""

    def color(self, theme: Theme = "light") -> str:
        """Return the colour on a light or dark page."""
        return self.dark if theme == "dark" else self.light


def _table(name: str) -> dict[str, Any]:
    table: dict[str, Any] = json.loads((resources.files("visualize") / "look" / name).read_text(encoding="utf-8"))
    return table


_TABLE = _table("marks.json")
SIZES = SimpleNamespace(**_table("sizes.json"))
"""Sizes of a drawn forest in pixels, parts of a column (``bend``, ``band_*``) or rows (``*_row*``); the patterns of
dashes as SVG writes them; and how the square root of its probability makes a mark larger."""

MARKS: dict[str, tuple[str, ...]] = {mark: tuple(fields.pop("states")) for mark, fields in _TABLE.items()}
"""The states that share a mark, in the order of the legend.

``start``: where the text stands; ``kept``: a guess that was kept; ``dropped``: a guess that failed; ``picked``: a token
of the large model; ``guess``: a guess that was not tested.
"""
TREE_MARKS = tuple(mark for mark in MARKS if mark != "start")
"""The marks of everything below the prompt."""
STATES = tuple(state for states in MARKS.values() for state in states)
YIELDED = (*MARKS["kept"], *MARKS["picked"])
"""States of the tokens that a layer yielded."""
_STYLES = {mark: Style(**fields) for mark, fields in _TABLE.items()}
_MARK_OF = {state: mark for mark, states in MARKS.items() for state in states}


def mark_of(state: str) -> str:
    """Return the mark of a state."""
    return _MARK_OF[state]


def mark_style(mark: str) -> Style:
    """Return the look of a mark."""
    return _STYLES[mark]
