"""Drawings of a trace: figures, text, SVG, stand-alone pages, and the viewer they share.

Data flows one way: trace, scene, drawing, page. Nothing here needs torch or a model. A name is loaded when it is
first used, so ``import visualize`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from visualize.drawings.csv import nodes_csv
    from visualize.drawings.decode_svg import decode_svg
    from visualize.drawings.svg import forest_svg
    from visualize.drawings.text import forest_text
    from visualize.drawings.tikz import forest_tikz
    from visualize.embed.notebook import show
    from visualize.embed.snippets import embed_snippet
    from visualize.figures.contest import pareto_figure, race_figure, speed_figure
    from visualize.figures.decode import width_figure
    from visualize.figures.forest import forest_figure
    from visualize.figures.whole import decode_figure
    from visualize.pages.lesson_page import export_lesson
    from visualize.pages.site import export_site
    from visualize.pages.trace_page import export_html
    from visualize.scenes.build import SceneBuilder
    from visualize.scenes.source import scene_of as scene
    from visualize.scenes.to_json import scene_json
    from visualize.viewer.bundle import viewer_assets

_NAMES = {
    "drawings.csv": "nodes_csv",
    "drawings.decode_svg": "decode_svg",
    "drawings.svg": "forest_svg",
    "drawings.text": "forest_text",
    "drawings.tikz": "forest_tikz",
    "embed.notebook": "show",
    "embed.snippets": "embed_snippet",
    "figures.decode": "width_figure",
    "figures.contest": "pareto_figure race_figure speed_figure",
    "figures.forest": "forest_figure",
    "figures.whole": "decode_figure",
    "pages.lesson_page": "export_lesson",
    "pages.site": "export_site",
    "pages.trace_page": "export_html",
    "scenes.build": "SceneBuilder",
    "scenes.source": "scene",
    "scenes.to_json": "scene_json",
    "viewer.bundle": "viewer_assets",
}
"""The public names of each module."""
_HOMES = {name: home for home, names in _NAMES.items() for name in names.split()}
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"visualize.{_HOMES[name]}"), "scene_of" if name == "scene" else name)
    raise AttributeError(f"module 'visualize' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
