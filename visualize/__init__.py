"""Drawings of a trace: figures, text, SVG, a stand-alone page, and the viewer they share.

Data flows one way: trace -> scene -> figure. Nothing here needs torch, a model or a page; names are
loaded when they are first used, so that ``import visualize`` costs nothing.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from visualize.assets import viewer_assets as viewer_assets
    from visualize.bench import quality_figure as quality_figure
    from visualize.bench import speed_figure as speed_figure
    from visualize.bench_page import export_bench as export_bench
    from visualize.builder import SceneBuilder as SceneBuilder
    from visualize.builder import build_scene as build_scene
    from visualize.charts import timeline_figure as timeline_figure
    from visualize.charts import tokens_figure as tokens_figure
    from visualize.charts import width_figure as width_figure
    from visualize.compare import compare_figure as compare_figure
    from visualize.diff import diff_scene as diff_scene
    from visualize.forest import forest_figure as forest_figure
    from visualize.html import export_html as export_html
    from visualize.lesson_page import export_lesson as export_lesson
    from visualize.live import widget as widget
    from visualize.mask import mask_figure as mask_figure
    from visualize.mermaid import export_mermaid as export_mermaid
    from visualize.mermaid import forest_mermaid as forest_mermaid
    from visualize.notebook import show as show
    from visualize.scaling import scaling_figure as scaling_figure
    from visualize.site import export_site as export_site
    from visualize.snippets import embed_snippet as embed_snippet
    from visualize.source import scene_of as scene  # noqa: F401 - the public name
    from visualize.svg import export_svg as export_svg
    from visualize.svg import forest_svg as forest_svg
    from visualize.table import export_csv as export_csv
    from visualize.table import nodes_csv as nodes_csv
    from visualize.text import export_text as export_text
    from visualize.text import forest_text as forest_text
    from visualize.tikz import export_tikz as export_tikz
    from visualize.tikz import forest_tikz as forest_tikz
    from visualize.whatif import what_if as what_if

_HOMES = {
    "SceneBuilder": "builder",
    "build_scene": "builder",
    "compare_figure": "compare",
    "export_bench": "bench_page",
    "diff_scene": "diff",
    "export_csv": "table",
    "export_html": "html",
    "export_lesson": "lesson_page",
    "export_mermaid": "mermaid",
    "embed_snippet": "snippets",
    "export_site": "site",
    "export_svg": "svg",
    "export_text": "text",
    "export_tikz": "tikz",
    "forest_figure": "forest",
    "forest_mermaid": "mermaid",
    "forest_svg": "svg",
    "forest_text": "text",
    "forest_tikz": "tikz",
    "mask_figure": "mask",
    "scene": "source",
    "show": "notebook",
    "timeline_figure": "charts",
    "tokens_figure": "charts",
    "viewer_assets": "assets",
    "widget": "live",
    "quality_figure": "bench",
    "scaling_figure": "scaling",
    "speed_figure": "bench",
    "nodes_csv": "table",
    "what_if": "whatif",
    "width_figure": "charts",
}
_NAMED = {"scene": "scene_of"}
"""Names that their home knows otherwise."""
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"visualize.{_HOMES[name]}"), _NAMED.get(name, name))
    raise AttributeError(f"module 'visualize' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
