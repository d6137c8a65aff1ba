"""A stand-alone page of Plotly charts and tables, for pages that have no viewer; no network."""

from collections.abc import Sequence
from typing import Literal

import plotly.graph_objects as go

from visualize.pages.document import Kit, document, style
from visualize.pages.plotly_script import plotly_origins, plotly_tag

Plotly = Literal["inline", "beside"]

_LOOK = """body { margin: 0 auto; max-width: 1080px; padding: 24px; background: #fffffe; color: #22272e;
  font: 15px/1.5 ui-sans-serif, system-ui, sans-serif; }
.wide { overflow-x: auto; }
table { border-collapse: collapse; font-variant-numeric: tabular-nums; }
th, td { padding: 4px 12px 4px 0; text-align: right; border-bottom: 1px solid #d8dde3; white-space: nowrap; }
th:first-child { text-align: left; }
pre { white-space: pre-wrap; }
"""


def require_plotly(plotly: str) -> None:
    """Check where Plotly is to be put. Raises: ValueError."""
    if plotly not in ("inline", "beside"):
        raise ValueError(f"plotly is {plotly!r}; choose 'inline' or 'beside'")


def charts(figures: Sequence[go.Figure], plotly: Plotly) -> str:
    """Return the figures as HTML; ``inline`` puts Plotly's script before the first."""
    return "\n".join(
        figure.to_html(
            full_html=False, include_plotlyjs=plotly == "inline" and place == 0, config={"displaylogo": False}
        )
        for place, figure in enumerate(figures)
    )


def chart_document(title: str, body: str, plotly: Plotly) -> str:
    """Return the whole page around a body with :func:`charts`."""
    tag = "" if plotly == "inline" else "\n" + plotly_tag("beside")
    return document(title, [body], Kit(style(_LOOK) + tag, scripts=plotly_origins(plotly)))
