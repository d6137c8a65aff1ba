"""Charts of a whole decode: tokens by origin, widths, seconds. Each has an info, a drawing and a public function."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go

from dsbd.tracing.records import Node, path_to
from dsbd.tracing.trace import Trace
from visualize.drawings.captions import isolated
from visualize.figures.chart_style import dress, empty_figure
from visualize.look.states import YIELDED, Theme, styles
from visualize.look.theme import palette
from visualize.scenes.build import build_scene
from visualize.scenes.source import Source, load_trace
from visualize.scenes.tokens import piece_label
from visualize.words.words import Words, number

PATTERNS = {"accepted": "", "carried": "|", "recovered": "/", "fresh": ".", "bonus": "x"}
"""The pattern of the bars, for readers who cannot tell the colours apart."""
PHASE_STYLES = {
    "draft": ("#56b4e9", "/"),
    "score": ("#0072b2", ""),
    "verify": ("#009e73", "."),
    "commit": ("#e69f00", "x"),
}


@dataclass(frozen=True)
class TokensInfo:
    """The tokens of the returned text, or of the best beam so far if there is no result."""

    labels: tuple[str, ...]
    origins: tuple[str, ...]
    probabilities: tuple[float, ...]
    """The target's raw p(token | before)."""


def tokens_figure(source: Source, *, theme: Theme = "light", language: str = "en") -> go.Figure:
    """Draw each token of the returned text: its probability under the target, and where it came from.

    Raises: TraceError; ValueError for a language without a table.
    """
    info = tokens_info(source)
    words = Words(language)
    return plot_tokens(info, theme, words) if info.labels else empty_figure(words("figure.tokens"), theme, words)


def tokens_info(source: Source) -> TokensInfo:
    """Return the data of :func:`tokens_figure`. Raises: TraceError."""
    trace = load_trace(source)
    path = _best_path(trace)
    scene = build_scene(trace)
    origins = {token.id: token.origin for token in scene.tokens}
    return TokensInfo(
        tuple(piece_label(node) for node in path),
        tuple(origins.get(node.id, "accepted") for node in path),
        tuple(math.exp(node.target_log_prob) if node.target_log_prob is not None else 0.0 for node in path),
    )


def _best_path(trace: Trace) -> list[Node]:
    if trace.result is not None and trace.result.beams:
        best = trace.result.beams[0].node
    else:
        beams = trace.iterations[-1].output_beams if trace.iterations else []
        best = max(beams, key=lambda beam: beam.log_weight).node if beams else 0
    return list(path_to(best, trace.node_index()))


def plot_tokens(info: TokensInfo, theme: Theme = "light", words: Words | None = None) -> go.Figure:
    """Draw a :class:`TokensInfo`."""
    words, figure = words or Words(), go.Figure()
    for origin in YIELDED:
        places = [place for place, found in enumerate(info.origins) if found == origin]
        texts = [f"{info.labels[place]}, P {number(info.probabilities[place])}" for place in places]
        figure.add_bar(
            x=places,
            y=[info.probabilities[place] for place in places],
            width=0.78,
            name=words(f"state.{origin}"),
            hovertext=[escape(text, quote=False) for text in texts],
            hoverinfo="text",
            marker={"color": styles()[origin].color(theme), "pattern": _pattern(PATTERNS[origin])},
        )
    ticks = [escape(isolated(label), quote=False) for label in info.labels]
    figure.update_xaxes(tickvals=list(range(len(ticks))), ticktext=ticks, tickangle=-60)
    dress(figure, words("figure.tokens"), theme)
    return figure.update_layout(barmode="overlay", yaxis={"range": [0, 1], "title": words("ui.target")})


@dataclass(frozen=True)
class WidthInfo:
    """For each iteration: how many layers became final, and the chosen width of each layer."""

    iterations: tuple[int, ...]
    layers: tuple[int, ...]
    widths: tuple[tuple[int, ...], ...]

    @property
    def means(self) -> tuple[float | None, ...]:
        """Return the mean chosen width of each iteration."""
        return tuple(sum(widths) / len(widths) if widths else None for widths in self.widths)


def width_figure(source: Source, *, theme: Theme = "light", language: str = "en") -> go.Figure:
    """Draw the chosen widths and the accepted depth of each iteration.

    Raises: TraceError; ValueError for a language without a table.
    """
    info = width_info(source)
    words = Words(language)
    return plot_width(info, theme, words) if info.iterations else empty_figure(words("figure.width"), theme, words)


def width_info(source: Source) -> WidthInfo:
    """Return the data of :func:`width_figure`. Raises: TraceError."""
    iterations = load_trace(source).iterations
    return WidthInfo(
        tuple(iteration.index for iteration in iterations),
        tuple(len(iteration.layers) for iteration in iterations),
        tuple(tuple(layer.width for layer in iteration.layers) for iteration in iterations),
    )


def plot_width(info: WidthInfo, theme: Theme = "light", words: Words | None = None) -> go.Figure:
    """Draw a :class:`WidthInfo`."""
    words, colors, figure = words or Words(), palette(theme), go.Figure()
    numbers = _numbers(info.iterations)
    figure.add_bar(x=numbers, y=info.layers, name=words("figure.layers"), marker_color=colors.faint, opacity=0.55)
    x = [number for number, widths in zip(numbers, info.widths, strict=True) for _ in widths]
    y = [width for widths in info.widths for width in widths]
    dots = {"symbol": "circle-open", "size": 9, "color": colors.accent, "line": {"width": 1.5}}
    figure.add_scatter(x=x, y=y, mode="markers", name=words("figure.layer_width"), marker=dots)
    mean = {"color": colors.accent, "width": 2}
    figure.add_scatter(
        x=numbers,
        y=info.means,
        mode="lines+markers",
        name=words("figure.mean_width"),
        line=mean,
        marker={"size": 5},
    )
    dress(figure, words("figure.width"), theme)
    return figure.update_layout(
        xaxis={"title": words("figure.iteration"), "dtick": max(1, len(info.iterations) // 16)}, bargap=0.3
    )


@dataclass(frozen=True)
class TimelineInfo:
    """Wall-clock seconds of each phase, by iteration."""

    iterations: tuple[int, ...]
    seconds: dict[str, tuple[float, ...]]


def timeline_figure(source: Source, *, theme: Theme = "light", language: str = "en") -> go.Figure:
    """Draw the seconds of draft, score, verify and commit of each iteration, stacked.

    Raises: TraceError; ValueError for a language without a table.
    """
    info = timeline_info(source)
    words = Words(language)
    return (
        plot_timeline(info, theme, words) if info.iterations else empty_figure(words("figure.timeline"), theme, words)
    )


def timeline_info(source: Source) -> TimelineInfo:
    """Return the data of :func:`timeline_figure`. Raises: TraceError."""
    iterations = load_trace(source).iterations
    seconds = {
        phase: tuple(getattr(iteration.phases, f"{phase}_seconds") for iteration in iterations)
        for phase in PHASE_STYLES
    }
    return TimelineInfo(tuple(iteration.index for iteration in iterations), seconds)


def plot_timeline(info: TimelineInfo, theme: Theme = "light", words: Words | None = None) -> go.Figure:
    """Draw a :class:`TimelineInfo`."""
    words, figure = words or Words(), go.Figure()
    numbers = _numbers(info.iterations)
    for phase, (color, pattern) in PHASE_STYLES.items():
        marker = {"color": color, "pattern": _pattern(pattern)}
        hover = "%{y:.4f} s<extra>" + words(f"bar.{phase}") + "</extra>"
        figure.add_bar(x=numbers, y=info.seconds[phase], name=words(f"bar.{phase}"), marker=marker, hovertemplate=hover)
    dress(figure, words("figure.timeline"), theme)
    axes = {"xaxis": {"title": words("figure.iteration")}, "yaxis": {"title": words("figure.seconds")}}
    return figure.update_layout(barmode="stack", bargap=0.25, **axes)


def _numbers(indices: Sequence[int]) -> list[int]:
    """Return the iterations as readers count them, from 1."""
    return [index + 1 for index in indices]


def _pattern(shape: str) -> dict[str, str | int]:
    return {"shape": shape, "fillmode": "overlay", "size": 6}
