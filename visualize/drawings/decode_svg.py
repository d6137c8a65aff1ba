"""A static SVG of the whole decode as one tree, written without a browser."""

from collections.abc import Iterable
from xml.sax.saxutils import escape

from visualize.drawings.captions import isolated
from visualize.drawings.decode_tree import WORD_ANGLE, WORD_GAP, DecodeTree, word
from visualize.drawings.geometry import Point
from visualize.drawings.svg import svg_document, symbol
from visualize.look.states import TREE_MARKS, Theme, mark_of, mark_style
from visualize.look.theme import Palette, palette
from visualize.scenes.records import Band, Scene
from visualize.scenes.source import Source, scene_of
from visualize.words.words import Words

PITCH = 19.0
"""Pixels between two tokens."""
SIDE, TOP, BOTTOM = 20.0, 44.0, 44.0
ON_LINE, IN_TWIG = 4.2, 2.8
"""Half of a mark, in pixels."""


def decode_svg(source: Source | Scene, *, theme: Theme = "light", language: str = "en") -> str:
    """Return the whole decode as one tree: the text as a line under its words, every other guess as a twig below it.

    It is a stand-alone SVG document. A scene keeps its language.

    Example:
        >>> visualize.decode_svg(trace)

    Raises:
        TraceError: no such trace.
        ValueError: ``theme`` or ``language`` is invalid.
    """
    scene, colors = scene_of(source, language), palette(theme)
    words = Words(scene.strings["language"])
    tree = DecodeTree(scene.whole)
    title = decode_title(scene, words)
    parts = [f'<text x="{SIDE}" y="24" font-size="15" font-weight="600" fill="{colors.ink}">{escape(title)}</text>']
    parts += [_band(band, place, tree.height, colors, words) for place, band in enumerate(tree.bands)]
    for mark in TREE_MARKS:
        color = mark_style(mark).color(theme)
        parts.append(_path(tree.twigs(mark), f'stroke="{color}" stroke-width="1" opacity=".55"'))
    parts.append(_path(tree.text(), f'stroke="{colors.ink}" stroke-width="3" stroke-linecap="round"'))
    parts += [_mark(*tree.place(node), mark_of(node.state), bool(node.row), theme) for node in scene.whole.nodes]
    parts += _words(tree, colors)
    width, height = _x(tree.columns + 1) + SIDE, TOP + tree.height + BOTTOM
    parts += _legend(TOP + tree.height + 24, colors, theme, words)
    return svg_document(width, height, colors, title, parts, font_size=11)


def decode_title(scene: Scene, words: Words) -> str:
    """Return how many passes of the large model the text took, and how many the same law takes without guesses."""
    whole = scene.whole
    passes, alone = len(whole.bands), whole.bands[-1].last if whole.bands else 0
    return words(
        "figure.instead" if scene.settings.get("lossless") and passes < alone else "figure.decode",
        tokens=words.counted("tokens", whole.tokens),
        passes=words.counted("passes", passes),
        alone=alone,
    )


def decode_quality(scene: Scene, words: Words) -> str:
    """Return whose quality the text has; empty if the method keeps no law."""
    return words("figure.quality") if scene.settings.get("lossless") else ""


def band_title(band: Band, words: Words) -> str:
    """Return the number of a pass, from 1, and how many tokens it won."""
    return words("figure.pass", index=band.iteration + 1, tokens=words.counted("tokens", band.won))


def _x(x: float) -> float:
    return round(SIDE + x * PITCH, 1)


def _y(y: float) -> float:
    return round(TOP + y, 1)


def _band(band: Band, place: int, height: float, colors: Palette, words: Words) -> str:
    left, right = _x(band.first - 0.5), _x(band.last + 0.5)
    fill = colors.band if place % 2 else "none"
    number = f'<text x="{(left + right) / 2:.1f}" y="{_y(14)}" text-anchor="middle" fill="{colors.soft}">'
    return (
        f"<g><title>{escape(band_title(band, words))}</title>"
        f'<rect x="{left}" y="{TOP}" width="{right - left:.1f}" height="{height:.1f}" rx="3" '
        f'fill="{fill}" pointer-events="all"/>{number}{band.iteration + 1}</text></g>'
    )


def _path(pieces: Iterable[list[Point]], look: str) -> str:
    drawn = ["M" + "L".join(f"{_x(x)},{_y(y)}" for x, y in piece) for piece in pieces]
    return f'<path d="{"".join(drawn)}" fill="none" pointer-events="none" {look}/>'


def _mark(x: float, y: float, mark: str, dead: bool, theme: Theme) -> str:
    size, faint = (IN_TWIG, ' opacity=".55"') if dead else (ON_LINE, "")
    return symbol(mark_style(mark), _x(x), _y(y), size, theme, line=0.42, more=faint)


def _words(tree: DecodeTree, colors: Palette) -> list[str]:
    parts = []
    for node in tree.whole.nodes:
        if node.row == 0:
            x, y = tree.place(node)
            turned = f"translate({_x(x) + 1},{_y(y) - WORD_GAP}) rotate(-{WORD_ANGLE})"
            parts.append(f'<text transform="{turned}" fill="{colors.ink}">{escape(isolated(word(node)))}</text>')
    return parts


def _legend(y: float, colors: Palette, theme: Theme, words: Words) -> list[str]:
    parts, x = [], SIDE + 6
    for mark in TREE_MARKS:
        name = words(f"mark.{mark}")
        text = f'<text x="{x + 12}" y="{y + 4}" fill="{colors.soft}">{escape(name)}</text>'
        parts.append(symbol(mark_style(mark), x, y, 5, theme) + text)
        x += 40 + 6.6 * len(name)
    return parts
