"""Brings Plotly to a page: as a file beside it, inside it, or from another frame."""

from functools import lru_cache
from typing import Literal, get_args

from visualize.pages.compressed import packed
from visualize.viewer.bundle import plotly_js_path

PlotlyFrom = Literal["beside", "inline", "shared"]
PLOTLY_FILE = "plotly.min.js"


def plotly_tag(origin: PlotlyFrom) -> str:
    """Return the element that brings Plotly to a page. Raises: ValueError.

    ``beside`` is a file next to the page, ``inline`` is packed into it (about 2 MB), and ``shared`` is the one in
    another viewer's frame on the same page.
    """
    if origin not in get_args(PlotlyFrom):
        raise ValueError(f"plotly is {origin!r}; choose one of {', '.join(map(repr, get_args(PlotlyFrom)))}")
    if origin == "beside":
        return f'<script src="{PLOTLY_FILE}"></script>'
    content, mark = (packed_plotly(), "") if origin == "inline" else ("", ' data-from="page"')
    return f'<script type="application/gzip" id="dsbd-plotly"{mark}>{content}</script>'


def plotly_origins(origin: PlotlyFrom) -> str:
    """Return what the page's policy must allow scripts from, for :func:`plotly_tag`."""
    return " 'self' file:" if origin == "beside" else ""


@lru_cache
def packed_plotly() -> str:
    """Return Plotly, packed (``visualize.pages.compressed``)."""
    return packed(plotly_js_path().read_text(encoding="utf-8"))
