"""Brings Plotly to a page: a file beside it, inside it, from another frame, or from a CDN with an integrity hash."""

import base64
import hashlib
import re
from functools import lru_cache
from typing import Literal, get_args

from visualize.pages.compressed import packed
from visualize.viewer.bundle import plotly_js_path

PlotlyFrom = Literal["beside", "inline", "cdn", "shared"]
PLOTLY_FILE = "plotly.min.js"
CDN = "https://cdn.plot.ly"


def plotly_tag(origin: PlotlyFrom) -> str:
    """Return the element that brings Plotly to a page. Raises: ValueError.

    ``beside`` is a file next to the page, ``inline`` packed into it (about 2 MB), ``cdn`` the publisher's server,
    checked by its hash, ``shared`` the one in another viewer's frame on the same page.
    """
    if origin not in get_args(PlotlyFrom):
        raise ValueError(f"plotly is {origin!r}; choose one of {', '.join(map(repr, get_args(PlotlyFrom)))}")
    if origin == "beside":
        return f'<script src="{PLOTLY_FILE}"></script>'
    if origin == "cdn":
        url, integrity = cdn_address()
        return f'<script src="{url}" integrity="{integrity}" crossorigin="anonymous"></script>'
    content, mark = (packed_plotly(), "") if origin == "inline" else ("", ' data-from="page"')
    return f'<script type="application/gzip" id="dsbd-plotly"{mark}>{content}</script>'


def plotly_origins(origin: PlotlyFrom) -> str:
    """Return what the page's policy must allow scripts from, for :func:`plotly_tag`."""
    return {"beside": " 'self' file:", "cdn": f" {CDN}"}.get(origin, "")


@lru_cache
def cdn_address() -> tuple[str, str]:
    """Return the address of the installed package's Plotly file on the CDN, and its integrity hash."""
    content = plotly_js_path().read_bytes()
    found = re.search(rb"plotly\.js v(\d+\.\d+\.\d+)", content[:400])
    assert found is not None, "plotly.min.js opens with its version"
    digest = base64.b64encode(hashlib.sha384(content).digest()).decode("ascii")
    return f"{CDN}/plotly-{found[1].decode()}.min.js", f"sha384-{digest}"


@lru_cache
def packed_plotly() -> str:
    """Return Plotly, packed (``visualize.pages.compressed``)."""
    return packed(plotly_js_path().read_text(encoding="utf-8"))
