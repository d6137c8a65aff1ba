"""A Plotly figure that is still seen in a notebook saved as a page.

A saved notebook keeps what each cell returned. Plotly's data is drawn only with Plotly's script, and a page made by
nbconvert has none. So beside the data stands an SVG, made without a browser, or else the figure as HTML; the first of
these in a notebook brings the script.
"""

from collections.abc import Callable
from typing import Any

import plotly.graph_objects as go
import plotly.io as pio

IN_NOTEBOOKS = "plotly_mimetype"
"""Plotly's name for the renderer that leaves a figure's data in the cell."""


class _Carrier:
    """Which output of a session holds Plotly's script, 5 MB: the first does, and its cell whenever it runs again."""

    def __init__(self) -> None:
        self.run: str | None = None
        self.cell: str | None = None

    def is_here(self) -> bool:
        """Return whether an output that is made now must hold the script."""
        from IPython import get_ipython  # a notebook has it

        shell = get_ipython()
        parent = shell.get_parent() if hasattr(shell, "get_parent") else {}
        run, cell = parent.get("header", {}).get("msg_id"), parent.get("metadata", {}).get("cellId")
        if self.run is not None and (run == self.run or cell is None or cell != self.cell):
            return False
        self.run, self.cell = run or "", cell
        return True


_carrier = _Carrier()


class PicturedFigure(go.Figure):
    """A figure with an SVG or HTML beside it. Its frames wait for the reader; Plotly would play them at once."""

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
        """Show the figure as Plotly does; in a notebook with its picture, or else HTML, beside the data."""
        if args or options or pio.renderers.default != IN_NOTEBOOKS:
            super().show(*args, **options)
            return
        from IPython.display import display  # a notebook has it

        bundle = self._repr_mimebundle_()
        if not self._picture:
            bundle["text/html"] = self.to_html(full_html=False, include_plotlyjs=_carrier.is_here())
        display(bundle, raw=True)
