"""What stands beside the pointer in a Plotly tree: a few short lines, so that the tree around it can be seen."""

import textwrap
from collections.abc import Iterable
from html import escape
from typing import Any

from visualize.look.states import Theme
from visualize.look.theme import palette

ACROSS = 42
"""Characters of a line."""


def hover_text(lines: Iterable[str]) -> str:
    """Return lines as Plotly takes them, escaped and wrapped."""
    short = (part for line in lines for part in textwrap.wrap(line, ACROSS, drop_whitespace=False) or [""])
    return "<br>".join(escape(part, quote=False) for part in short)


def hover_label(theme: Theme) -> dict[str, Any]:
    """Return the look of the box: paper, ink and a thin line."""
    colors = palette(theme)
    font = {"size": 11.5, "color": colors.ink}
    return {"align": "left", "font": font, "bgcolor": colors.paper, "bordercolor": colors.faint, "namelength": 0}
