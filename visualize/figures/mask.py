"""The forest attention mask of one iteration: which token sees which."""

from dataclasses import dataclass
from html import escape

from dsbd.tracing.records import ROOT, path_to
from visualize.drawings.captions import isolated
from visualize.figures.chart_style import dress, empty_figure
from visualize.figures.pictured import PicturedFigure
from visualize.look.states import Theme
from visualize.look.theme import palette
from visualize.scenes.source import Source, check_iteration, load_trace
from visualize.scenes.tokens import piece_label, shorten
from visualize.words.words import Words

CELL = 19
"""Pixels of a token."""
LEFT, TOP, BOTTOM = 156, 56, 190
"""Pixels for labels and titles."""
MOST_LABELS = 160
LANGUAGE = "en"


@dataclass(frozen=True)
class MaskInfo:
    """One forward of the target: which columns the token of each row sees."""

    title: str
    queries: tuple[str, ...]
    """The last token of every input beam, then the nodes of the forest, as they were fed."""
    keys: tuple[str, ...]
    """The prompt in one column, the tokens of the input beams, the nodes of the forest."""
    sees: tuple[tuple[bool, ...], ...]
    """A row per query."""


def mask_figure(
    source: Source, iteration: int = 0, *, theme: Theme = "light", language: str = LANGUAGE
) -> PicturedFigure:
    """Draw which token sees which in the forward of one iteration: the prompt, its ancestors, and itself.

    Iterations count from 0. A trace without iterations gives a titled empty figure.

    Example:
        >>> visualize.mask_figure(trace, iteration=4)

    Raises:
        TraceError: no such iteration, or no such trace.
        ValueError: there are no words in this language.
    """
    info, words = mask_info(source, iteration, language=language), Words(language)
    if info is None:
        return empty_figure(words("page.mask.title", index="–"), theme, words)
    return _plot(info, theme, words)


def mask_info(source: Source, iteration: int = 0, *, language: str = LANGUAGE) -> MaskInfo | None:
    """Return the data of :func:`mask_figure`; None for a trace without iterations. Raises: TraceError, ValueError."""
    words, trace = Words(language), load_trace(source)
    if not trace.iterations:
        return None
    chosen, known = trace.iterations[check_iteration(iteration, len(trace.iterations))], trace.node_index()
    forest = [node.id for node in chosen.nodes if node.kind != "drawn"]
    beams = [beam.node for beam in chosen.input_beams]
    queries = [*beams, *forest]
    paths = {query: [node.id for node in path_to(query, known)] for query in queries}
    before = dict.fromkeys(node for beam in beams for node in paths[beam])  # each token once, in reading order
    keys = [ROOT, *before, *forest]
    count = len(trace.prompt.pieces)
    names = {node: shorten(piece_label(known[node])) for node in keys if node != ROOT}
    names[ROOT] = words("page.mask.prompt", count=count) if count else words("node.prompt")
    return MaskInfo(
        words("page.mask.title", index=chosen.index + 1),
        tuple(names[query] for query in queries),
        tuple(names[key] for key in keys),
        tuple(tuple(key in (ROOT, *paths[query]) for key in keys) for query in queries),
    )


def _plot(info: MaskInfo, theme: Theme, words: Words) -> PicturedFigure:
    """Draw a filled square wherever the row sees the column."""
    colors, figure = palette(theme), PicturedFigure()
    cells = [(x, y) for y, row in enumerate(info.sees) for x, seen in enumerate(row) if seen]
    told = [words("page.mask.sees", query=info.queries[y], key=info.keys[x]) for x, y in cells]
    figure.add_scatter(
        x=[x for x, _ in cells],
        y=[y for _, y in cells],
        mode="markers",
        marker={"symbol": "square", "size": CELL - 5, "color": colors.accent},
        hovertext=[escape(text, quote=False) for text in told],
        hoverinfo="text",
        showlegend=False,
    )
    dress(figure, info.title, theme)
    grid = {"showgrid": True, "gridcolor": colors.band, "rangemode": "normal"}
    across, down = len(info.keys), len(info.queries)
    figure.update_xaxes(**grid, **_labels(info.keys, -60), range=[-0.6, across - 0.4], title=words("page.mask.key"))
    figure.update_yaxes(**grid, **_labels(info.queries), range=[down - 0.4, -0.6], title=words("page.mask.query"))
    size = {"width": CELL * max(across, 16) + LEFT, "height": CELL * max(down, 6) + TOP + BOTTOM}
    return figure.update_layout(**size, margin={"l": LEFT - 16, "r": 16, "t": TOP, "b": BOTTOM})


def _labels(names: tuple[str, ...], angle: int = 0) -> dict[str, object]:
    """Label every token, unless there are too many labels to read."""
    if len(names) > MOST_LABELS:
        return {"showticklabels": False}
    shown = [escape(isolated(name), quote=False) for name in names]
    return {"tickvals": list(range(len(names))), "ticktext": shown, "tickfont": {"size": 11}, "tickangle": angle}
