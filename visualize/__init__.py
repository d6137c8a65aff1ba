"""Drawings of a trace: figures, text, SVG, stand-alone pages, and the viewer they share.

Data flows one way: trace, graph, drawing, page. Nothing here needs torch or a model. A name is loaded when it is
first used, so ``import visualize`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

from dsbd.errors import needs

if TYPE_CHECKING:
    from visualize.embed import embed_snippet, show
    from visualize.figures.benchmark import pareto_figure
    from visualize.figures.trace import decode_figure, forest_figure, width_figure
    from visualize.forest import forest_graph
    from visualize.pages.lesson_page import export_lesson
    from visualize.pages.site import export_html, export_site
    from visualize.svg import forest_svg, forest_text
    from visualize.viewer.bundle import viewer_assets

_NAMES = {
    "svg": "forest_svg forest_text",
    "embed": "embed_snippet show",
    "figures.benchmark": "pareto_figure",
    "figures.trace": "decode_figure forest_figure width_figure",
    "forest": "forest_graph",
    "pages.lesson_page": "export_lesson",
    "pages.site": "export_html export_site",
    "viewer.bundle": "viewer_assets",
}
"""The public names of each module."""
_HOME = {name: home for home, names in _NAMES.items() for name in names.split()}

__all__ = [
    "decode_figure", "embed_snippet", "export_html", "export_lesson", "export_site", "forest_figure", "forest_graph",
    "forest_svg", "forest_text", "pareto_figure", "show", "viewer_assets", "width_figure",
]  # fmt: skip


def __getattr__(name: str) -> Any:
    if name not in _HOME:
        raise AttributeError(f"module 'visualize' has no attribute {name!r}")
    with needs("page"):
        return getattr(import_module(f"visualize.{_HOME[name]}"), name)


def __dir__() -> list[str]:
    return [*globals(), *__all__]
