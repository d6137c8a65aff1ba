"""A chart of a whole decode: its widths."""

from visualize.figures.chart_style import dress, empty_figure
from visualize.figures.pictured import PicturedFigure
from visualize.look.states import Theme
from visualize.look.theme import palette
from visualize.scenes.source import Source, load_trace
from visualize.words.words import Words


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
