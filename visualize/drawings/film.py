"""A decode as a short film, a GIF, for slides and chats that cannot hold a page.

Each pass has three pictures: the guesses, what became of each, and the text that stays. Pillow draws them.
"""

import io
import math
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import takewhile
from operator import itemgetter
from pathlib import Path
from unicodedata import bidirectional

from PIL import Image, ImageDraw

from visualize.drawings.decode_svg import decode_quality, decode_title
from visualize.drawings.geometry import Edge, size_factor
from visualize.drawings.lettering import written
from visualize.drawings.svg import at_step
from visualize.files import write
from visualize.look.sizes import SIZES
from visualize.look.states import MARKS, YIELDED, Theme, mark_of, mark_style
from visualize.look.theme import palette
from visualize.scenes.records import IterationScene, NodeScene, Scene
from visualize.scenes.source import Source, check_iteration, scene_of
from visualize.scenes.tokens import MARKS as SPACES
from visualize.words.words import Words

WIDTH, HEIGHT, SIDE = 1200, 675, 32
CAPTION, FOREST, LEGEND = 46, 186, 648
"""Middle of the caption, top of the forest, and middle of the legend."""
LETTERS, LARGE = 25, 34
"""Sizes of letters: of the text, and of the text at the end."""
LINE = 1.44
"""Distance of two lines, in letters."""
PROMPT = 400
"""How many characters of a prompt are shown, the last ones."""
PITCH, ROW = 236, 44
"""The largest distances between two columns and two rows."""
SMALLEST, LARGEST = 9, 19
"""Sizes of labels; where rows are too narrow even for the smallest, marks stand alone."""
FINE = 2
"""A picture is drawn this many times as large and then made small: its lines are smooth."""
FADED = 0.65
"""How far what is dropped fades into the paper."""
SHADES = 6
GUESSED, DECIDED, STAYED, END = 0.7, 1.2, 0.8, 4.0
"""Seconds of each picture."""
LONGEST = 40.0
"""Seconds of a film without its end; a long decode plays faster."""
MOST_PASSES = 100


@dataclass(frozen=True)
class Shot:
    """One picture of the film."""

    forest: IterationScene | None
    caption: str
    text: str
    known: int
    """How many characters of the text stood before."""
    seconds: float
    has_settled: bool = False
    """Whether only what leads to the beams that go on keeps its colour."""


def export_gif(source: Source | Scene, path: str | Path, iteration: int = 0, *, theme: Theme = "light") -> None:
    """Write the decode as a film, a GIF of 1200×675 that plays once: from ``iteration`` on, at most 100 passes.

    A character that no font of this machine has is written as its number: ``\\u4f60``.

    Example:
        >>> visualize.export_gif(trace, "decode.gif")

    Raises:
        TraceError: no such iteration, no such trace, or the file cannot be written.
        ValueError: ``theme`` is invalid.
    """
    scene = scene_of(source)
    if scene.iterations:
        check_iteration(iteration, len(scene.iterations))
    shots = list(shots_of(scene, iteration))
    camera = _Camera(scene, theme)
    first, *more = [camera.picture(shot) for shot in shots]
    pace = min(1.0, LONGEST / sum(shot.seconds for shot in shots))
    times = [*(round(100 * pace * shot.seconds) * 10 for shot in shots[:-1]), round(1000 * END)]
    film = io.BytesIO()
    first.save(film, "GIF", save_all=True, append_images=more, duration=times, disposal=1)
    write(path, film.getvalue())


def shots_of(scene: Scene, first: int) -> Iterator[Shot]:
    """Yield the pictures of the passes from ``first``, and the end of the decode."""
    words, strings = Words(scene.strings["language"]), scene.strings
    shown = scene.iterations[first : first + MOST_PASSES]
    text = _text(scene, shown[0].beams_before[0].node) if shown else ""
    for one in shown:
        won = one.before + len(one.layers)
        before, after = (
            f"{words('figure.forest', index=one.index + 1)} · {words.counted('tokens', count)}"
            for count in (one.before, won)
        )
        if one.scored_step:
            yield Shot(at_step(one, one.scored_step - 1, words), before, text, len(text), GUESSED)
        yield Shot(one, before, text, len(text), DECIDED)
        known, text = text, _text(scene, (one.beams_after or one.beams_before)[0].node)
        yield Shot(one, after, text, _alike(known, text), STAYED, has_settled=True)
    if not shown or shown[-1] is scene.iterations[-1]:
        text = _text(scene, scene.result[0].node) if scene.result else text
        yield Shot(None, decode_title(scene, words) if shown else strings["ui.empty"], text, len(text), END)


def _alike(one: str, other: str) -> int:
    """How many characters two texts begin with alike."""
    return sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False)))


def _text(scene: Scene, node: int) -> str:
    """The prompt and the text up to a node."""
    tokens, parts = {token.id: token for token in scene.tokens}, []
    while node in tokens:
        parts.append(tokens[node].text)
        node = tokens[node].parent
    prompt = "".join(scene.prompt)
    cut = prompt if len(prompt) <= PROMPT else f"…{prompt[-PROMPT:]}"
    return cut + "".join(reversed(parts))


class _Camera:
    """Draws shots. Lengths are pixels of the picture until they reach Pillow."""

    def __init__(self, scene: Scene, theme: Theme) -> None:
        self.strings, self.theme, self.colors = scene.strings, theme, palette(theme)
        self.quality = decode_quality(scene, Words(scene.strings["language"]))
        marks = [mark_style(one).color(theme) for one in MARKS]
        strong = [self.colors.ink, self.colors.soft, self.colors.accent, *marks]
        shades = [_mixed(one, self.colors.paper, step / SHADES) for one in strong for step in range(SHADES)]
        self.palette = Image.new("P", (1, 1))
        self.palette.putpalette([part for one in (self.colors.paper, self.colors.band, *shades) for part in _rgb(one)])

    def picture(self, shot: Shot) -> Image.Image:
        sheet = Image.new("RGB", (FINE * WIDTH, FINE * HEIGHT), self.colors.paper)
        self.draw = ImageDraw.Draw(sheet)
        self.say(SIDE, CAPTION, shot.caption, 28 if shot.forest else LARGE, self.colors.ink, WIDTH - 2 * SIDE)
        if shot.forest is None:
            self.tell(shot, LARGE, LEGEND - LARGE)
            self.say(SIDE, LEGEND, self.quality, LETTERS, self.colors.soft, WIDTH - 2 * SIDE)
        else:
            self.tell(shot, LETTERS, FOREST)
            self.forest(shot.forest, shot.has_settled)
            self.legend()
        return sheet.reduce(FINE).quantize(palette=self.palette, dither=Image.Dither.NONE)

    def say(self, x: float, y: float, text: str, size: float, color: str, room: float = math.inf) -> float:
        """Write text whose middle is at ``y``, cut to ``room``; return how long it is."""
        text, font = written(text, round(FINE * size))
        if font.getlength(text) > FINE * room:
            while text and font.getlength(f"{text}…") > FINE * room:
                text = text[:-1]
            text, font = written(f"{text}…", round(FINE * size))
        self.draw.text((FINE * x, FINE * y), text, color, font, anchor="lm")
        return float(font.getlength(text)) / FINE

    def tell(self, shot: Shot, letters: int, bottom: float) -> None:
        """Write the end of the text, as much as there is room for, with what is new in the colour of links."""
        each, known = LINE * letters, shot.known
        top = CAPTION + 1.7 * letters
        lines = list(_lines(shot.text, letters))[-int((bottom - top) / each + 0.5) :]
        for at, (start, line) in enumerate(lines):
            old, y = line[: max(known - start, 0)], top + at * each
            new = line[len(old) :]
            if any(bidirectional(one) in ("R", "AL") for one in line):  # in one piece: it runs to the left
                old, new = line, ""
            x = SIDE + (self.say(SIDE, y, old, letters, self.colors.ink) if old else 0)
            if new:
                self.say(x, y, new, letters, self.colors.accent)

    def forest(self, forest: IterationScene, has_settled: bool) -> None:
        pitch = min(PITCH, (WIDTH - 2 * SIDE) / (max(forest.last_column, 1) + 0.9))
        room = LEGEND - 24 - FOREST - ROW
        row = min(ROW, room / (forest.last_row + 1))
        size = min(LARGEST, 0.85 * row)
        top = FOREST + ROW + (room - row * forest.last_row) / 2
        for layer in forest.layers:
            left = SIDE + (layer.layer + SIZES.band_start) * pitch
            box = (left, FOREST, left + SIZES.band_width * pitch, LEGEND - 20)
            self.draw.rounded_rectangle([FINE * edge for edge in box], 4 * FINE, self.colors.band)
            self.say(left + 10, FOREST + 17, str(forest.before + layer.layer), 16, self.colors.soft)
        ends: list[tuple[float, float]] = []
        edges: list[tuple[tuple[bool, bool], list[tuple[float, float]], str]] = []
        for node in forest.nodes:
            x, y, style = SIDE + node.column * pitch + 8, top + row * node.row, mark_style(mark_of(node.state))
            color, yielded = style.color(self.theme), node.state in YIELDED
            if has_settled and not node.kept:
                color = _mixed(color, self.colors.paper, FADED)
            if node.parent >= 0:
                start, from_row = ends[node.parent]
                bend = max(start, x - (1 - SIZES.bend) * pitch)
                points = Edge(start, bend, x - SIZES.mark_gap, from_row, y).points()
                rank = (node.kept or not has_settled, yielded)
                edges.append((rank, [(FINE * at, FINE * row_at) for at, row_at in points], color))
            small = SIZES.cover if node.state == "cover" else 1
            self.mark(style.symbol, x, y, min(style.size * size_factor(node) / 2, 0.45 * row), color)
            end = x + SIZES.mark_gap
            if size * small >= SMALLEST:
                settled = (yielded or node.state == "input") and (node.kept or not has_settled)
                end = x + SIZES.label_gap
                end += self.say(end, y, _label(node), size * small, self.colors.ink if settled else color, 0.54 * pitch)
                if node.slots > 1:
                    count = self.strings["node.multiplicity"].format(count=node.slots)
                    end += 5 + self.say(end + 5, y, count, size * small, self.colors.soft)
            ends.append((end + SIZES.label_end, y))
        for (_, yielded), line, color in sorted(edges, key=itemgetter(0)):  # the strong ones above the others
            self.draw.line(line, color, round(FINE * (2.6 if yielded else 1.3)), joint="curve")

    def legend(self) -> None:
        x: float = SIDE + 8
        for mark in MARKS:
            style = mark_style(mark)
            self.mark(style.symbol, x, LEGEND, 6, style.color(self.theme))
            x += 44 + self.say(x + 14, LEGEND, self.strings[f"mark.{mark}"], 15, self.colors.soft)

    def mark(self, symbol: str, x: float, y: float, radius: float, color: str) -> None:
        x, y, r = FINE * x, FINE * y, FINE * radius
        box, thin = (x - r, y - r, x + r, y + r), max(1, round(0.3 * r))
        if symbol == "square":
            self.draw.rectangle((x - 0.8 * r, y - 0.8 * r, x + 0.8 * r, y + 0.8 * r), color)
        elif symbol == "diamond":
            self.draw.polygon([(x, y - r), (x + r, y), (x, y + r), (x - r, y)], color)
        elif symbol == "x-thin":
            self.draw.line(box, color, thin)
            self.draw.line((x - r, y + r, x + r, y - r), color, thin)
        elif symbol == "circle":
            self.draw.ellipse(box, color)
        else:
            self.draw.ellipse(box, None, color, thin)


def _label(node: NodeScene) -> str:
    """The label without the mark for the space before a word, which many fonts lack."""
    return node.label.removeprefix(SPACES[" "]) or node.label


def _rgb(color: str) -> tuple[int, int, int]:
    return int(color[1:3], 16), int(color[3:5], 16), int(color[5:7], 16)


def _mixed(color: str, paper: str, part: float) -> str:
    pairs = zip(_rgb(color), _rgb(paper), strict=True)
    return "#" + "".join(f"{round(one + (other - one) * part):02x}" for one, other in pairs)


def _lines(text: str, letters: int) -> Iterator[tuple[int, str]]:
    """Yield the lines of a text, each with the place of its first character."""

    def is_long(line: str) -> bool:
        text, font = written(line, FINE * letters)
        return bool(font.getlength(text) > FINE * (WIDTH - 2 * SIDE))

    start = 0
    while start < len(text):
        end = text.find("\n", start)
        end = len(text) if end < 0 else end
        while is_long(text[start:end]):
            space = text.rfind(" ", start + 1, end)
            end = end - 1 if space < 0 else space
        yield start, text[start:end]
        start = end + (text[end : end + 1] in (" ", "\n"))
