"""Colours and fonts of the pages the figures stand on."""

from dataclasses import dataclass

from visualize.look.states import Theme

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
    """Return the colours of a theme. Raises: ValueError."""
    if theme not in ("light", "dark"):
        raise ValueError(f"theme is {theme!r}; choose 'light' or 'dark'")
    return _DARK if theme == "dark" else _LIGHT
