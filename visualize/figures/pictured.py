"""A Plotly figure that brings a picture of itself, so that a notebook saved as a page still shows it.

A saved notebook keeps what each cell returned. Plotly's data is drawn only with Plotly's script, and a page made by
nbconvert has none. So an SVG, made without a browser, stands beside the data.
"""

from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio

IN_NOTEBOOKS = "plotly_mimetype"
"""Plotly's name for the renderer that leaves a figure's data in the cell."""


class PicturedFigure(go.Figure):
    """A figure with an SVG beside it. Its frames wait for the reader; Plotly would play them as the page opens."""

    _picture: Callable[[], str] | None = None

    def with_picture(self, picture: Callable[[], str]) -> "PicturedFigure":
        """Set the function that makes the SVG when a notebook asks for it; copies have none. Returns the figure."""
        self._picture = picture
        return self

    def __repr__(self) -> str:
        return f"PicturedFigure({self.layout.title.text!r}, {len(self.data)} traces)"

    def _repr_mimebundle_(self, *args: Any, **options: Any) -> dict[str, Any]:
        bundle: dict[str, Any] = super()._repr_mimebundle_(*args, **options)
        return {**bundle, "image/svg+xml": self._picture()} if bundle and self._picture else bundle

    def _ipython_display_(self) -> None:
        """Show the figure as the result of a cell; Plotly's own way leaves the picture out."""
        self.show()

    def to_html(self, *args: Any, **options: Any) -> str:
        """Return the figure as a page or a part of one, as Plotly writes it."""
        return str(super().to_html(*args, **{"auto_play": False, **options}))

    def write_html(self, *args: Any, **options: Any) -> None:
        """Write the figure as a page, as Plotly does."""
        super().write_html(*args, **{"auto_play": False, **options})

    def show(self, *args: Any, **options: Any) -> None:
        """Show the figure as Plotly does; in a notebook with its picture beside the data."""
        if args or options or pio.renderers.default != IN_NOTEBOOKS or self._picture is None:
            super().show(*args, **options)
            return
        from IPython.display import display  # a notebook has it

        display(self._repr_mimebundle_(), raw=True)
