"""The whole decode as one Plotly tree: info, drawing, one public function."""

from dataclasses import dataclass
from html import escape
from typing import Any

from visualize.drawings.captions import hover_lines, isolated
from visualize.drawings.decode_svg import band_title, decode_svg, decode_title
from visualize.drawings.folded import ROW, TOKENS_PER_LINE, WORD_ANGLE, WORD_GAP, BandPart, Folded, word
from visualize.figures.chart_style import empty_figure
from visualize.figures.pictured import PicturedFigure
from visualize.look.states import PLAIN_MARKS, Theme, mark_of, mark_style
from visualize.look.theme import FONT, palette
from visualize.scenes.records import NodeScene, Scene
from visualize.scenes.source import Source, scene_of
from visualize.words.words import Words

TOP, BOTTOM = 76, 12
"""Pixels above and below the drawing."""
FAINT = 0.55
ON_LINE, IN_TWIG = 10, 6
"""Pixels across a mark."""
QUIET = ["autoScale2d", "hoverClosestCartesian", "hoverCompareCartesian", "toggleSpikelines"]
"""Buttons that the figure goes without."""


@dataclass(frozen=True)
class MarkGroup:
    """All nodes of one plain mark: one entry of the legend."""

    mark: str
    name: str
    x: tuple[float, ...]
    y: tuple[float, ...]
    hovers: tuple[str, ...]
    """Escaped for Plotly; ``<br>`` joins the lines."""
    dead: tuple[bool, ...]
    """True below the text."""
    places: tuple[tuple[int, int], ...]
    """The recorded index of the iteration, and the id of the node."""
    twigs_x: tuple[float | None, ...]
    twigs_y: tuple[float | None, ...]
    """The edges to the dead ones, as one line with gaps (None)."""


@dataclass(frozen=True)
class DecodeInfo:
    """What the figure shows. ``x`` counts tokens of a line, ``y`` pixels downwards."""

    title: str
    columns: int
    height: float
    bands: tuple[BandPart, ...]
    band_titles: tuple[str, ...]
    """Escaped for Plotly."""
    text_x: tuple[float | None, ...]
    text_y: tuple[float | None, ...]
    words: tuple[tuple[float, float, str], ...]
    """Where each word begins, and the word, escaped for Plotly."""
    groups: tuple[MarkGroup, ...]


def decode_figure(
    source: Source | Scene, *, theme: Theme = "light", language: str = "en", tokens_per_line: int = TOKENS_PER_LINE
) -> PicturedFigure:
    """Draw the whole decode as one tree: the text as a line under its words, every other guess as a twig below it.

    Each band is one pass of the large model. Hovering tells the exact state of a node and its arithmetic. Marks, bands
    and numbers of passes carry ``customdata``: the recorded index of the iteration, and the id of the node or None.

    Args:
        source: a trace, the path of a trace file, a recorded result or a scene; one that still grows too.
        theme: ``light`` or ``dark``.
        language: of title, marks and sentences; a scene has its own.
        tokens_per_line: longer decodes are folded into lines of at most this many tokens, 8 to 4096.

    Returns: the figure, as wide as its place; a titled empty one if the trace has no iterations. In a saved notebook it
        leaves :func:`visualize.decode_svg`.

    Raises:
        TraceError: no such trace.
        ValueError: ``theme``, ``language`` or ``tokens_per_line`` is none of these.
    """
    scene = scene_of(source, language)
    words = Words(scene.strings["language"])
    if scene.iterations:
        figure = plot_decode(decode_info(scene, tokens_per_line), theme)
    else:
        figure = PicturedFigure(empty_figure(decode_title(scene, words), theme, words))
    return figure.with_picture(lambda: decode_svg(scene, theme=theme, tokens_per_line=tokens_per_line))


def decode_info(source: Source | Scene, tokens_per_line: int = TOKENS_PER_LINE) -> DecodeInfo:
    """Return the data of :func:`decode_figure`. Raises: TraceError, ValueError."""
    scene = scene_of(source)
    words = Words(scene.strings["language"])
    folded = Folded(scene.whole, tokens_per_line)
    bands = tuple(folded.bands())
    text_x, text_y = _with_gaps(folded.text())
    line = [node for node in scene.whole.nodes if node.row == 0]
    told = {(it.index, node.id): node for it in scene.iterations for node in it.nodes if node.parent >= 0}
    return DecodeInfo(
        decode_title(scene, words),
        folded.columns,
        folded.height,
        bands,
        tuple(escape(band_title(part, words), quote=False) for part in bands),
        text_x,
        text_y,
        tuple((*folded.place(node), escape(isolated(word(node)), quote=False)) for node in line),
        tuple(_group(mark, folded, told, words) for mark in PLAIN_MARKS),
    )


def _group(mark: str, folded: Folded, told: dict[tuple[int, int], NodeScene], words: Words) -> MarkGroup:
    nodes = [node for node in folded.whole.nodes if mark_of(node.state) == mark]
    places = [folded.place(node) for node in nodes]
    twigs_x, twigs_y = _with_gaps(folded.twigs(mark))
    return MarkGroup(
        mark,
        words(f"mark.{mark}"),
        tuple(x for x, _ in places),
        tuple(y for _, y in places),
        tuple(_hover(told[node.iteration, node.id], node.iteration, words) for node in nodes),
        tuple(node.row > 0 for node in nodes),
        tuple((node.iteration, node.id) for node in nodes),
        twigs_x,
        twigs_y,
    )


def _hover(node: NodeScene, iteration: int, words: Words) -> str:
    lines = [*hover_lines(node, words.table), words("figure.forest", index=iteration + 1)]
    return "<br>".join(escape(line, quote=False) for line in lines)


def _with_gaps(pieces: Any) -> tuple[tuple[float | None, ...], tuple[float | None, ...]]:
    """Pieces of lines as one: x and y with None after each piece."""
    points = [point for piece in pieces for point in (*piece, (None, None))]
    return tuple(x for x, _ in points), tuple(y for _, y in points)


def plot_decode(info: DecodeInfo, theme: Theme = "light") -> PicturedFigure:
    """Draw a :class:`DecodeInfo`."""
    figure, colors = PicturedFigure(), palette(theme)
    _draw_bands(figure, info, theme)
    for group in info.groups:
        line = {"color": mark_style(group.mark).color(theme), "width": 1}
        figure.add_scatter(
            x=group.twigs_x, y=group.twigs_y, mode="lines", line=line, opacity=FAINT, hoverinfo="skip", showlegend=False
        )
    ink = {"color": colors.ink, "width": 3}
    figure.add_scatter(x=info.text_x, y=info.text_y, mode="lines", line=ink, hoverinfo="skip", showlegend=False)
    for group in info.groups:
        _draw_marks(figure, group, theme)
    for x, y, text in info.words:
        figure.add_annotation(
            x=x, y=y, text=text, textangle=-WORD_ANGLE, xanchor="left", yanchor="bottom", xshift=-4,
            yshift=WORD_GAP - 2, showarrow=False, borderpad=0, font={"size": 11, "color": colors.ink},
        )  # fmt: skip
    hidden = {"visible": False}
    return figure.update_layout(
        title={"text": info.title, "x": 0, "xref": "paper", "xanchor": "left", "y": 1, "yref": "container",
               "yanchor": "top", "pad": {"t": 14}, "font": {"size": 16}},
        autosize=True, height=round(info.height) + TOP + BOTTOM,
        margin={"l": 8, "r": 8, "t": TOP, "b": BOTTOM},
        font={**FONT, "color": colors.ink}, paper_bgcolor=colors.paper, plot_bgcolor=colors.paper,
        hovermode="closest", dragmode="pan", bargap=0,
        hoverlabel={"align": "left", "font": {"size": 12}},
        modebar={"remove": QUIET, "bgcolor": "rgba(0,0,0,0)", "color": colors.faint, "activecolor": colors.accent},
        xaxis={**hidden, "range": [-0.4, info.columns + 0.9]},
        yaxis={**hidden, "range": [info.height, 0]},
        legend={"orientation": "h", "x": 0, "xanchor": "left", "y": 1, "yanchor": "bottom", "itemsizing": "constant"},
    )  # fmt: skip


def _draw_bands(figure: PicturedFigure, info: DecodeInfo, theme: Theme) -> None:
    """Draw the bands as bars, which can be hovered over and clicked on, and their numbers."""
    colors = palette(theme)
    middles = [(part.start + part.end) / 2 for part in info.bands]
    iterations = [(part.band.iteration, None) for part in info.bands]
    figure.add_bar(
        x=middles,
        y=[part.line.bottom - part.line.top for part in info.bands],
        base=[part.line.top for part in info.bands],
        width=[part.end - part.start for part in info.bands],
        marker={"color": [(colors.paper, colors.band)[part.band.iteration % 2] for part in info.bands],
                "line": {"width": 0}},
        customdata=iterations, hovertext=info.band_titles, hoverinfo="text", showlegend=False,
    )  # fmt: skip
    figure.add_scatter(
        x=middles,
        y=[part.line.top + ROW * 0.7 for part in info.bands],
        mode="text",
        text=[str(part.band.iteration + 1) for part in info.bands],
        textfont={"size": 11, "color": colors.soft},
        customdata=iterations, hovertext=info.band_titles, hoverinfo="text", showlegend=False,
    )  # fmt: skip


def _draw_marks(figure: PicturedFigure, group: MarkGroup, theme: Theme) -> None:
    style = mark_style(group.mark)
    color = style.color(theme)
    figure.add_scatter(
        x=group.x,
        y=group.y,
        mode="markers",
        name=group.name,
        marker={
            "symbol": style.symbol if style.filled else f"{style.symbol}-thin",
            "size": [IN_TWIG if dead else ON_LINE for dead in group.dead],
            "opacity": [FAINT if dead else 1 for dead in group.dead],
            "color": color,
            "line": {"width": 0 if style.filled else 1.4, "color": color},
        },
        customdata=group.places, hovertext=group.hovers, hoverinfo="text",
    )  # fmt: skip
