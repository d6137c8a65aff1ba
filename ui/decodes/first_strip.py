"""The whole decode as a strip, in the first paint: a small twin of the viewer's, stretched by the browser to its room.

Positions are stretched; pixels of height, lines and dots are not. So the server need not know how wide the page is.
"""

from html import escape

from visualize.drawings.decode_svg import decode_title
from visualize.look.states import PLAIN_MARKS, mark_of, mark_style
from visualize.scenes.records import Scene
from visualize.scenes.whole_records import TreeNode, WholeScene
from visualize.words.words import Words, number

HEIGHT, LINE, ROW = 112, 34, 8
"""Pixels: of the strip, from its top to the text, and between two rows where there is room. As in the viewer."""


def first_strip(scene: Scene) -> str:
    """Markup; empty where the viewer shows no strip."""
    whole, words = scene.whole, Words(scene.strings["language"])
    if len(whole.bands) < 2:
        return ""
    ratio = words("figure.per_pass", ratio=number(whole.bands[-1].last / len(whole.bands)))
    colors = "".join(
        f"--{mark}:{mark_style(mark).color('light')};--{mark}-dark:{mark_style(mark).color('dark')};"
        for mark in PLAIN_MARKS
    )
    columns = max(whole.last_position, 1)
    return (
        f'<p class="first-whole"><b>{escape(decode_title(scene, words))}</b><span>{escape(ratio)}</span></p>'
        f'<svg class="first-strip" style="--columns:{columns + 0.5};{colors}" viewBox="0 0 {columns + 0.5} {HEIGHT}" '
        f'preserveAspectRatio="none">{"".join(_drawn(whole))}</svg>'
    )


def _drawn(whole: WholeScene) -> list[str]:
    row = min(ROW, (HEIGHT - LINE - 8) / max(whole.last_row, 1))
    places: dict[int, tuple[float, float]] = {0: (0, LINE)}
    places |= {node.id: (node.position, round(LINE + node.row * row, 1)) for node in whole.nodes}
    bands = [
        f'<rect x="{band.first - 0.5}" y="1" width="{band.won}" height="{HEIGHT - 2}"/>'
        for place, band in enumerate(whole.bands)
        if place % 2 and band.won > 0
    ]
    last = max((node.position for node in whole.nodes if not node.row), default=0)
    twigs, dots, text = [], [], []
    for mark in PLAIN_MARKS:
        of_mark = [node for node in whole.nodes if mark_of(node.state) == mark]
        dead = [node for node in of_mark if node.row]
        twigs.append(_path(mark, "twig", [_twig(places[node.parent], places[node.id]) for node in dead]))
        dots.append(_path(mark, "dead", _dots(dead, places)))
        text.append(_path(mark, "alive", _dots([node for node in of_mark if not node.row], places)))
    return [*bands, *twigs, f'<path class="line" d="M0,{LINE}H{last}"/>', *dots, *text]


def _path(mark: str, kind: str, pieces: list[str]) -> str:
    return f'<path class="{mark} {kind}" d="{"".join(pieces)}"/>' if pieces else ""


def _twig(start: tuple[float, float], end: tuple[float, float]) -> str:
    middle = (start[0] + end[0]) / 2
    return f"M{start[0]},{start[1]}C{middle},{start[1]} {middle},{end[1]} {end[0]},{end[1]}"


def _dots(nodes: list[TreeNode], places: dict[int, tuple[float, float]]) -> list[str]:
    return [f"M{places[node.id][0]},{places[node.id][1]}h0" for node in nodes]
