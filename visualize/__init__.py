"""Drawings of a trace: figures, text, SVG, stand-alone pages, and the viewer they share.

Data flows one way: trace, scene, drawing, page. Nothing here needs torch or a model. A name is loaded when it is
first used, so ``import visualize`` is fast.
"""

from importlib import import_module
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from visualize.drawings.csv import export_csv as export_csv
    from visualize.drawings.csv import nodes_csv as nodes_csv
    from visualize.drawings.decode_svg import decode_svg as decode_svg
    from visualize.drawings.decode_svg import export_decode_svg as export_decode_svg
    from visualize.drawings.race import race_svg as race_svg
    from visualize.drawings.svg import export_svg as export_svg
    from visualize.drawings.svg import forest_svg as forest_svg
    from visualize.drawings.text import export_text as export_text
    from visualize.drawings.text import forest_text as forest_text
    from visualize.drawings.tikz import export_tikz as export_tikz
    from visualize.drawings.tikz import forest_tikz as forest_tikz
    from visualize.embed.notebook import show as show
    from visualize.embed.snippets import embed_snippet as embed_snippet
    from visualize.embed.widget import widget as widget
    from visualize.figures.bench import quality_figure as quality_figure
    from visualize.figures.bench import speed_figure as speed_figure
    from visualize.figures.decode import timeline_figure as timeline_figure
    from visualize.figures.decode import tokens_figure as tokens_figure
    from visualize.figures.decode import width_figure as width_figure
    from visualize.figures.dynamic_width import dynamic_width_figure as dynamic_width_figure
    from visualize.figures.forest import forest_figure as forest_figure
    from visualize.figures.mask import mask_figure as mask_figure
    from visualize.figures.pareto import pareto_figure as pareto_figure
    from visualize.figures.quality_width import quality_width_figure as quality_width_figure
    from visualize.figures.race import race_figure as race_figure
    from visualize.figures.whole import decode_figure as decode_figure
    from visualize.figures.width_histogram import width_histogram_figure as width_histogram_figure
    from visualize.pages.bench_page import export_bench as export_bench
    from visualize.pages.evaluation_page import export_evaluation as export_evaluation
    from visualize.pages.lesson_page import export_lesson as export_lesson
    from visualize.pages.site import export_site as export_site
    from visualize.pages.trace_page import export_html as export_html
    from visualize.scenes.build import SceneBuilder as SceneBuilder
    from visualize.scenes.build import build_scene as build_scene
    from visualize.scenes.diff import diff_scene as diff_scene
    from visualize.scenes.source import scene_of as scene  # noqa: F401 - the public name
    from visualize.scenes.to_json import scene_json as scene_json
    from visualize.viewer.assets import viewer_assets as viewer_assets

_HOMES = {
    "SceneBuilder": "scenes.build",
    "build_scene": "scenes.build",
    "decode_figure": "figures.whole",
    "decode_svg": "drawings.decode_svg",
    "diff_scene": "scenes.diff",
    "dynamic_width_figure": "figures.dynamic_width",
    "embed_snippet": "embed.snippets",
    "export_bench": "pages.bench_page",
    "export_csv": "drawings.csv",
    "export_decode_svg": "drawings.decode_svg",
    "export_evaluation": "pages.evaluation_page",
    "export_html": "pages.trace_page",
    "export_lesson": "pages.lesson_page",
    "export_site": "pages.site",
    "export_svg": "drawings.svg",
    "export_text": "drawings.text",
    "export_tikz": "drawings.tikz",
    "forest_figure": "figures.forest",
    "forest_svg": "drawings.svg",
    "forest_text": "drawings.text",
    "forest_tikz": "drawings.tikz",
    "mask_figure": "figures.mask",
    "nodes_csv": "drawings.csv",
    "pareto_figure": "figures.pareto",
    "quality_figure": "figures.bench",
    "quality_width_figure": "figures.quality_width",
    "race_figure": "figures.race",
    "race_svg": "drawings.race",
    "scene": "scenes.source",
    "scene_json": "scenes.to_json",
    "show": "embed.notebook",
    "speed_figure": "figures.bench",
    "timeline_figure": "figures.decode",
    "tokens_figure": "figures.decode",
    "viewer_assets": "viewer.assets",
    "widget": "embed.widget",
    "width_figure": "figures.decode",
    "width_histogram_figure": "figures.width_histogram",
}
_NAMED = {"scene": "scene_of"}
"""Public names that their module calls something else."""
__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name in _HOMES:
        return getattr(import_module(f"visualize.{_HOMES[name]}"), _NAMED.get(name, name))
    raise AttributeError(f"module 'visualize' has no attribute {name!r}")


def __dir__() -> list[str]:
    return [*globals(), *__all__]
