"""The forest of one iteration for LaTeX: a document that pdflatex compiles as it is; it needs only TikZ."""

import re
from collections.abc import Iterator

from visualize.drawings import geometry
from visualize.drawings.captions import label
from visualize.drawings.geometry import PITCH, x_of, y_of
from visualize.look.sizes import SIZES
from visualize.look.states import MARKS, YIELDED, mark_of, mark_style
from visualize.scenes.records import LayerScene, NodeScene, Scene
from visualize.scenes.source import Source, check_iteration, scene_of

UNIT = 0.6
"""Points per pixel of the drawing: labels of eight points fit their columns."""
DASHES = {"solid": "", "dash": ", dashed", "dot": ", dotted", "dashdot": ", dash dot"}
_ISOLATES = "\u2068\u2069"
_SPECIAL = {
    "\\": r"\textbackslash{}", "{": r"\{", "}": r"\}", "$": r"\$", "&": r"\&", "#": r"\#", "_": r"\_", "%": r"\%",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "<": r"\textless{}", ">": r"\textgreater{}",
    "|": r"\textbar{}", "`": r"\`{}", "-": "{-}", "␣": r"\textvisiblespace{}",
    "⏎": r"\ensuremath{\hookleftarrow}", "⇥": r"\ensuremath{\mapsto}", "…": r"\ldots{}", "×": r"\ensuremath{\times}",
    "≥": r"\ensuremath{\geq}", "≤": r"\ensuremath{\leq}", "−": r"\ensuremath{-}", "·": r"\ensuremath{\cdot}",
    "′": r"\ensuremath{'}", "⟨": r"\ensuremath{\langle}", "⟩": r"\ensuremath{\rangle}", "⁻": r"\ensuremath{^{-}}",
    "∅": r"\ensuremath{\emptyset}", **{sign: rf"\ensuremath{{^{at}}}" for at, sign in enumerate("⁰¹²³⁴⁵⁶⁷⁸⁹")},
}  # fmt: skip
_ACCENTED = set("ÀÁÂÃÄÅÆÇÈÉÊËÌÍÎÏÑÒÓÔÕÖØÙÚÛÜÝßàáâãäåæçèéêëìíîïñòóôõöøùúûüýÿ")

_CIRCLE = re.compile(r"M([\d.]+),0A[^Z]*Z")
LABEL_COLUMNS = 18
"""Room of a label; a written-out code point takes eight."""

_DOCUMENT = r"""%% One iteration as a TikZ picture: compile with pdflatex, or copy the tikzpicture into your own,
%% which needs \usepackage{tikz}, \usetikzlibrary{svg.path} and the colours defined here.
\documentclass{article}
\usepackage[utf8]{inputenc}
\usepackage{tikz}
\usetikzlibrary{svg.path}
\usepackage[paperwidth=%WIDTHpt,paperheight=%HEIGHTpt,margin=0pt]{geometry}
\pagestyle{empty}
\parindent=0pt
%COLORS
\begin{document}
\begin{tikzpicture}[x=%UNITpt, y=-%UNITpt, inner sep=0pt, outer sep=0pt, font=\footnotesize]
%PICTURE
\end{tikzpicture}
\end{document}
"""


def forest_tikz(source: Source | Scene, iteration: int = 0) -> str:
    """Return the forest of one iteration, from 0, as a LaTeX document.

    Characters that pdflatex's fonts do not have are written as their code points.

    Example:
        >>> visualize.forest_tikz(trace, iteration=4)

    Raises:
        TraceError: no such iteration, or no such trace.
    """
    scene = scene_of(source)
    if not scene.iterations:
        return _document(480, 80, [rf"\node[anchor=west] at (24,40) {{{tex(scene.strings['ui.empty'])}}};"])
    chosen = scene.iterations[check_iteration(iteration, len(scene.iterations))]
    width, height = geometry.size(chosen)
    parts = [part for layer in chosen.layers for part in _layer(layer, height)]
    parts += [_edge(chosen.nodes[node.parent], node) for node in chosen.nodes if node.parent >= 0]
    parts += [part for node in chosen.nodes for part in _node(node, scene.strings)]
    legend = geometry.legend(chosen.nodes, scene.strings, width, room=40, letter=8)
    for mark, name, x, line in legend:
        y = height + 14 + 30 * line
        parts += [_symbol(mark, x, y, 6), _text(x + 14, y, tex(name), ", dsbd-soft")]
    return _document(width, height + 30 * (legend[-1][3] + 1 if legend else 1), parts)


def tex(text: str) -> str:
    """Return text that LaTeX shows literally, whatever it contains."""
    return "".join(_tex_character(character) for character in text if character not in _ISOLATES)


def _tex_character(character: str) -> str:
    if character in _SPECIAL:
        return _SPECIAL[character]
    if (character.isascii() and character.isprintable()) or character in _ACCENTED:
        return character
    return rf"\textless{{}}U+{ord(character):04X}\textgreater{{}}"


def _shortened(text: str) -> str:
    """A label cut to its room; characters written as code points take more of it."""
    kept, room = "", LABEL_COLUMNS
    for character in text:
        known = character in _SPECIAL or character in _ACCENTED or character.isascii()
        room -= 0 if character in _ISOLATES else 1 if known else 8
        if room < 0:
            return kept + "…"
        kept += character
    return kept


def _document(width: float, height: float, parts: list[str]) -> str:
    colors = {"ink": "#22272e", "soft": "#5b6470", "band": "#f3f5f7", "accent": "#2f6fae", "faint": "#98a1ac"}
    colors |= {mark: mark_style(mark).light for mark in MARKS}
    defined = "\n".join(
        rf"\definecolor{{dsbd-{name}}}{{HTML}}{{{value[1:].upper()}}}" for name, value in colors.items()
    )
    corners = rf"\path (0,0) rectangle ({width},{height});"
    values = {"WIDTH": f"{width * UNIT + 2:.1f}", "HEIGHT": f"{height * UNIT + 2:.1f}", "UNIT": str(UNIT),
              "COLORS": defined, "PICTURE": "\n".join([corners, *parts])}  # fmt: skip
    text = _DOCUMENT.replace("%%", "\0")
    for name, value in values.items():
        text = text.replace(f"%{name}", value)
    return text.replace("\0", "%")


def _text(x: float, y: float, text: str, more: str = "") -> str:
    return rf"\node[anchor=west{more}] at ({x},{y}) {{\strut {text}}};"


def _layer(layer: LayerScene, height: int) -> Iterator[str]:
    left = x_of(layer.layer + SIZES.band_start)
    yield rf"\fill[dsbd-band] ({left},8) rectangle ({left + SIZES.band_width * PITCH:.1f},{height - 4});"
    yield _text(left + 10, 24, rf"\bfseries {tex(layer.title)}", ", dsbd-ink")
    yield _text(left + 10, 42, rf"\scriptsize {tex(layer.caption)}", ", dsbd-soft")
    bars = geometry.bars(layer)
    for x, width, value, is_kept in bars:
        start, top, color = left + 10 + x, 104 - max(48 * value, 0.8), "accent" if is_kept else "faint"
        yield rf"\fill[dsbd-{color}] ({start:.1f},104) rectangle ({start + width:.1f},{top:.1f});"
    if layer.threshold is not None and bars:
        y, right = 104 - 48 * layer.threshold, left + 12 + bars[-1][0] + bars[-1][1] / SIZES.bar
        yield rf"\draw[dsbd-soft, densely dotted] ({left + 6:.1f},{y:.1f}) -- ({right:.1f},{y:.1f});"


def _edge(parent: NodeScene, node: NodeScene) -> str:
    edge, mark = geometry.edge(parent, node), mark_of(node.state)
    start, bend, end = x_of(edge.start), x_of(edge.bend), x_of(edge.end)
    above, below = y_of(edge.from_row), y_of(edge.to_row)
    middle, line = round((bend + end) / 2, 1), "1.4pt" if node.state in YIELDED else "0.6pt"
    return (
        rf"\draw[dsbd-{mark}, line width={line}{DASHES[mark_style(mark).dash]}] ({start},{above}) -- ({bend},{above}) "
        rf".. controls ({middle},{above}) and ({middle},{below}) .. ({end},{below});"
    )


def _curves(circle: re.Match[str]) -> str:
    """A circle without arcs, which TeX's arithmetic draws short."""
    r = float(circle[1])
    k = round(0.5523 * r, 4)
    return f"M{r},0C{r},{k},{k},{r},0,{r}C{-k},{r},{-r},{k},{-r},0C{-r},{-k},{-k},{-r},0,{-r}C{k},{-r},{r},{-k},{r},0Z"


def _symbol(mark: str, x: float, y: float, radius: float) -> str:
    style, r = mark_style(mark), f"{radius * UNIT:.2f}"
    path = _CIRCLE.sub(_curves, style.path)
    drawn = f"fill=dsbd-{mark}" if style.filled else f"draw=dsbd-{mark}, line width=0.9pt"
    return rf"\path[{drawn}, shift={{({x},{y})}}, xscale={r}, yscale=-{r}] svg {{{path}}};"


def _node(node: NodeScene, strings: dict[str, str]) -> Iterator[str]:
    x, y = x_of(node.column), y_of(node.row)
    mark = mark_of(node.state)
    yield _symbol(mark, x, y, mark_style(mark).size * geometry.size_factor(node) / 2)
    color = "ink" if node.state in (*YIELDED, "input") else mark
    yield _text(x + SIZES.label_gap, y, rf"\ttfamily {tex(_shortened(label(node, strings)))}", f", dsbd-{color}")
