"""A race as an SVG: a lane for every decoder on one measured clock, and its tokens at the moment they landed."""

from collections.abc import Mapping
from textwrap import wrap
from typing import Any
from xml.sax.saxutils import escape

from dsbd.evaluation.race_records import Lane, Race
from visualize.drawings.svg import svg_document
from visualize.look.states import Theme
from visualize.look.theme import Palette, palette
from visualize.scenes.race import BUSY, BUSY_WORDS, Busy, LaneScene, race_scene
from visualize.scenes.tokens import flowing

WIDTH = 1000
"""Units of the clock in a lane."""
HEIGHT = 38
"""Units of a lane: 24 for what the decoder is busy with, and the ticks of the tokens below."""
BAR = 24
MOST_TOKENS = 8
"""Tokens of one moment with the longest tick."""
TOPS: dict[Busy, int] = {"prefill": 0, "draft": 12, "score": 0, "verify": 18, "forward": 0}
"""Where each kind of bar begins: kinds differ in height too, not only in colour."""
COLORS: dict[Busy, tuple[str, str]] = {
    "prefill": ("#8a939e", "#79828d"),
    "draft": ("#0072b2", "#56b4e9"),
    "score": ("#b88000", "#f0b429"),
    "verify": ("#008a64", "#2fc79b"),
    "forward": ("#5b6470", "#a4adb8"),
}
TOP, ROW, MARGIN = 106, 94, 20
LINE = 108
"""Characters of a line of the sentence above the lanes."""
CHARACTERS = 118
"""Characters of the text below a lane."""


def bar_paths(lane: Lane, whole: float) -> dict[Busy, str]:
    """Return the path of all bars of each kind, in a lane of :data:`WIDTH` by :data:`HEIGHT` for ``whole`` seconds."""
    found: dict[Busy, list[str]] = {}
    for stretch in lane.stretches:
        busy = BUSY[stretch.phase]
        x, width = WIDTH * stretch.start / whole, WIDTH * (stretch.end - stretch.start) / whole
        found.setdefault(busy, []).append(f"M{x:.2f} {TOPS[busy]}h{width:.2f}V{BAR}h-{width:.2f}z")
    return {busy: "".join(parts) for busy, parts in found.items()}


def tick_path(lane: Lane, whole: float) -> str:
    """Return the path of the ticks: the more tokens land at a moment, the longer."""
    room = HEIGHT - BAR - 1
    return "".join(
        f"M{WIDTH * landing.seconds / whole:.2f} {BAR + 1}"
        f"v{room * (0.2 + 0.8 * min(landing.tokens, MOST_TOKENS) / MOST_TOKENS):.2f}"
        for landing in lane.landings
    )


def race_svg(race: Race | Mapping[str, Any], *, theme: Theme = "light") -> str:
    """Return a race, a record or its plain data, as a stand-alone SVG.

    Example:
        >>> visualize.race_svg(race)

    Raises:
        ValueError: the data is no race, or the theme is unknown.
    """
    scene, colors = race_scene(race), palette(theme)
    height = TOP + ROW * len(scene.lanes) + 34
    width = WIDTH + 2 * MARGIN
    parts = [
        f'<text x="{MARGIN}" y="{26 + 22 * place}" font-size="16" font-weight="600" fill="{colors.ink}">'
        f"{escape(line)}</text>"
        for place, line in enumerate(wrap(scene.sentence, LINE)[:2])
    ]
    parts += [_lane(lane, scene.seconds, TOP + ROW * place, theme, colors) for place, lane in enumerate(scene.lanes)]
    parts += [_axis(scene.seconds, height - 34, colors), _legend(scene.busy, theme, colors)]
    return svg_document(width, height, colors, scene.sentence, parts, font_size=14)


def _lane(lane: LaneScene, whole: float, top: int, theme: Theme, colors: Palette) -> str:
    side = 0 if theme == "light" else 1
    paths = bar_paths(lane.lane, whole).items()
    bars = "".join(f'<path d="{path}" fill="{COLORS[busy][side]}"/>' for busy, path in paths)
    text = lane.lane.text
    shown = text if len(text) <= CHARACTERS else f"{text[:CHARACTERS]} …"
    weight = 700 if lane.is_ours else 500
    return (
        f'<g transform="translate({MARGIN} {top})">'
        f'<text y="0" font-weight="{weight}" fill="{colors.ink}">{escape(lane.label)}</text>'
        f'<text x="{WIDTH}" y="0" text-anchor="end" fill="{colors.soft}">{escape(lane.said)}</text>'
        f'<g transform="translate(0 8)">{bars}'
        f'<path d="{tick_path(lane.lane, whole)}" stroke="{colors.ink}" stroke-width="1.5" fill="none"/></g>'
        f'<text y="64" font-size="13" fill="{colors.soft}">{escape(flowing(shown).replace(chr(10), " "))}</text></g>'
    )


def _axis(seconds: float, top: int, colors: Palette) -> str:
    marks = "".join(
        f'<text x="{MARGIN + WIDTH * part / 4}" y="{top + 22}" text-anchor="{anchor}" font-size="12" '
        f'fill="{colors.soft}">{seconds * part / 4:.2f} s</text>'
        for part, anchor in ((0, "start"), (1, "middle"), (2, "middle"), (3, "middle"), (4, "end"))
    )
    return f'<path d="M{MARGIN} {top + 4}h{WIDTH}" stroke="{colors.faint}"/>{marks}'


def _legend(busy: tuple[Busy, ...], theme: Theme, colors: Palette) -> str:
    side, x, parts = (0 if theme == "light" else 1), MARGIN, []
    for name in busy:
        top = 72 - (BAR - TOPS[name]) / 2
        parts.append(f'<rect x="{x}" y="{top}" width="14" height="{72 - top}" fill="{COLORS[name][side]}"/>')
        parts.append(f'<text x="{x + 20}" y="72" font-size="12" fill="{colors.soft}">{BUSY_WORDS[name]}</text>')
        x += 40 + 7 * len(BUSY_WORDS[name])
    return "".join(parts)
