"""How each state of a node looks: a colour after Okabe and Ito, a symbol and a dash.

One table, ``look/states.json``, serves the figures, the SVG and the viewer. The colours are made lighter or darker so
that labels reach a contrast of 4.5, and marks of 3, in both themes.
"""

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import resources
from typing import Literal

Theme = Literal["light", "dark"]

STATES = ("accepted", "carried", "rejected", "orphaned", "unneeded", "recovered", "fresh", "bonus", "drafted", "cover",
          "input")  # fmt: skip
"""All states, in the order of the legend."""
DRAWN = ("recovered", "fresh", "bonus")
YIELDED = ("accepted", "carried", *DRAWN)
"""States of the tokens that a layer yielded."""

PLAIN_MARKS = {
    "kept": ("accepted", "carried"),
    "dropped": ("rejected", "orphaned", "unneeded", "drafted", "cover"),
    "picked": DRAWN,
}
"""Three plain marks: a guess that was kept, a guess that was dropped, a token that the large model picked."""
_MARK_OF = {state: kind for kind, states in PLAIN_MARKS.items() for state in states}


def mark_of(state: str) -> str:
    """Return the plain mark of a state; ``input`` for an input beam."""
    return _MARK_OF.get(state, state)


@dataclass(frozen=True)
class Style:
    """The look of one state."""

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


@lru_cache
def styles() -> dict[str, Style]:
    """Return all styles by state; ``landed`` is the ring around a landed beam."""
    text = (resources.files("visualize") / "look" / "states.json").read_text(encoding="utf-8")
    return {state: Style(**fields) for state, fields in json.loads(text).items()}


def mark_style(mark: str) -> Style:
    """Return the look of a plain mark: that of its first state."""
    return styles()[PLAIN_MARKS[mark][0]]
