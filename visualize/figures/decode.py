"""Charts of a whole decode: its tokens by origin, its widths, and the seconds of each phase."""

import math
from html import escape

from dsbd.results import ITERATION_PHASES
from visualize.drawings.captions import isolated
from visualize.figures.chart_style import dress, empty_figure
from visualize.figures.pictured import PicturedFigure
from visualize.look.states import Theme, mark_of, mark_style
from visualize.look.theme import palette
from visualize.scenes.build import build_scene
from visualize.scenes.source import Source, load_trace
from visualize.scenes.tokens import piece_label
from visualize.words.words import Words, number

PATTERNS = {"kept": "", "picked": "/"}
"""The pattern of the bars, for readers who cannot tell the colours apart."""
PHASE_STYLES = {
    "draft": ("#56b4e9", "/"),
    "score": ("#b88000", ""),
    "verify": ("#009e73", "."),
    "commit": ("#8a939e", "x"),
}


def tokens_figure(source: Source, *, theme: Theme = "light", language: str = "en") -> PicturedFigure:
    """Draw each token of the returned text: the target's raw p(token | before) and where the token came from.

    Without a result it draws the best beam so far.

    Example:
        >>> visualize.tokens_figure(trace)

    Raises: TraceError; ValueError for a language without a table.
    """
    trace, words = load_trace(source), Words(language)
    scene, index = build_scene(trace), trace.node_index()
    path = [index[node.id] for node in scene.whole.nodes if node.row == 0]
    if not path:
        return empty_figure(words("figure.tokens"), theme, words)
    figure, labels = PicturedFigure(), [piece_label(node) for node in path]
    origins = {token.id: mark_of(token.origin) for token in scene.tokens}
    heights = [0.0 if node.target_log_prob is None else math.exp(node.target_log_prob) for node in path]
    for mark, pattern in PATTERNS.items():
        places = [place for place, node in enumerate(path) if origins.get(node.id, "kept") == mark]
        texts = [f"{labels[place]}, P {number(heights[place])}" for place in places]
        figure.add_bar(
            x=places,
            y=[heights[place] for place in places],
            width=0.78,
            name=words(f"mark.{mark}"),
            hovertext=[escape(text, quote=False) for text in texts],
            hoverinfo="text",
            marker={"color": mark_style(mark).color(theme), "pattern": _pattern(pattern)},
        )
    ticks = [escape(isolated(label), quote=False) for label in labels]
    figure.update_xaxes(tickvals=list(range(len(ticks))), ticktext=ticks, tickangle=-60)
    dress(figure, words("figure.tokens"), theme)
    return figure.update_layout(barmode="overlay", yaxis={"range": [0, 1], "title": words("ui.target")})


def width_figure(source: Source, *, theme: Theme = "light", language: str = "en") -> PicturedFigure:
    """Draw the chosen width of each layer, and how many layers of each iteration became final.

    Example:
        >>> visualize.width_figure(trace)

    Raises: TraceError; ValueError for a language without a table.
    """
    iterations, words = load_trace(source).iterations, Words(language)
    if not iterations:
        return empty_figure(words("figure.width"), theme, words)
    colors, figure = palette(theme), PicturedFigure()
    widths = {iteration.index + 1: [layer.width for layer in iteration.layers] for iteration in iterations}
    figure.add_bar(
        x=list(widths),
        y=[len(found) for found in widths.values()],
        name=words("figure.layers"),
        marker_color=colors.faint,
        opacity=0.55,
    )
    figure.add_scatter(
        x=[iteration for iteration, found in widths.items() for _ in found],
        y=[width for found in widths.values() for width in found],
        mode="markers",
        name=words("figure.layer_width"),
        marker={"symbol": "circle-open", "size": 9, "color": colors.accent, "line": {"width": 1.5}},
    )
    figure.add_scatter(
        x=list(widths),
        y=[sum(found) / len(found) if found else None for found in widths.values()],
        mode="lines+markers",
        name=words("figure.mean_width"),
        line={"color": colors.accent, "width": 2},
        marker={"size": 5},
    )
    dress(figure, words("figure.width"), theme)
    axis = {"title": words("figure.iteration"), "dtick": max(1, len(iterations) // 16)}
    return figure.update_layout(xaxis=axis, bargap=0.3)


def timeline_figure(source: Source, *, theme: Theme = "light", language: str = "en") -> PicturedFigure:
    """Draw the wall-clock seconds of draft, score, verify and commit of each iteration, stacked.

    Example:
        >>> visualize.timeline_figure(trace)

    Raises: TraceError; ValueError for a language without a table.
    """
    iterations, words = load_trace(source).iterations, Words(language)
    if not iterations:
        return empty_figure(words("figure.timeline"), theme, words)
    figure = PicturedFigure()
    for phase in ITERATION_PHASES:
        color, pattern = PHASE_STYLES[phase]
        figure.add_bar(
            x=[iteration.index + 1 for iteration in iterations],
            y=[getattr(iteration.phases, f"{phase}_seconds") for iteration in iterations],
            name=words(f"bar.{phase}"),
            marker={"color": color, "pattern": _pattern(pattern)},
            hovertemplate="%{y:.4f} s<extra>" + words(f"bar.{phase}") + "</extra>",
        )
    dress(figure, words("figure.timeline"), theme)
    axes = {"xaxis": {"title": words("figure.iteration")}, "yaxis": {"title": words("figure.seconds")}}
    return figure.update_layout(barmode="stack", bargap=0.25, **axes)


def _pattern(shape: str) -> dict[str, str | int]:
    return {"shape": shape, "fillmode": "overlay", "size": 6}
