"""Makes a lesson page: cards beside the viewer, verdicts hidden until answered, teacher mode, printed hand-out."""

import base64
import html
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from dsbd.errors import DsbdError, LessonError, TraceError
from visualize.drawings.svg import forest_svg
from visualize.pages import page_file
from visualize.pages.compressed import packed
from visualize.pages.document import Kit, document, embedded_json, packed_element, script, style
from visualize.pages.lab_parts import lab_element, lab_script, read_tables
from visualize.pages.lesson import CardQuestion, Lesson, LessonCard, read_lesson
from visualize.pages.live_parts import live_element, live_kit
from visualize.pages.markdown import markdown, markdown_line
from visualize.pages.plotly_script import PlotlyFrom
from visualize.pages.trace_page import write_page
from visualize.pages.viewer_parts import carried_kit, scene_element
from visualize.scenes.place import Position, step_of
from visualize.scenes.records import Scene
from visualize.scenes.source import scene_of
from visualize.words.words import Words

LETTERS = "ABCDEFGHIJKLMNOPQRSTUVWXYZ"
LESSON = "page.lesson."
"""How the keys of a lesson page's words start."""
_ICONS = {"previous": "←", "next": "→"}
Step = tuple[int, int]
"""An iteration and a step of it."""


@dataclass(frozen=True)
class Stop:
    """The place that the viewer shows for a card."""

    it: int
    step: int
    answer_it: int
    answer_step: int
    """The step that an answer leads to; equal to ``step`` if nothing is asked."""
    asks: bool


def export_lesson(source: str | Path, path: str | Path, *, plotly: PlotlyFrom = "beside") -> None:
    """Write a lesson file (Markdown, see docs/teaching.md) as one HTML page; ``plotly`` as for
    :func:`visualize.export_html`.

    Example:
        >>> visualize.export_lesson("assets/lessons/1-speculative-decoding.md", "lesson.html")

    Raises:
        LessonError: the lesson has a mistake; the message names file and line.
        TraceError: its trace cannot be read, or the page cannot be written.
        ValueError: ``plotly`` is unknown.
    """
    lesson = read_lesson(source)
    write_page(path, lesson_page(lesson, carried_kit(plotly, page_file("lesson.css"))), plotly)


def lesson_page(lesson: Lesson, kit: Kit, *, back: str = "", live: str = "") -> str:
    """Return the page as a string.

    Args:
        lesson: as read.
        kit: what the page needs.
        back: address of the page that lists all lessons; empty = no link to it.
        live: address of the folder with which a browser decodes (``write_live``), with a slash; empty = there is none.

    Raises:
        LessonError: a card names what the trace does not have.
        TraceError: the trace cannot be read.
    """
    scene = read_scene(lesson)
    words = Words(lesson.language)
    stops = stops_of(lesson, scene)
    with _naming(lesson, 1):
        introduction = markdown(lesson.introduction, lesson.path.parent)
    cards = [f'<article tabindex="-1"><div class="text">{introduction}</div></article>'] if introduction else []
    printed = printed_steps(lesson, stops)
    cards += [
        card_element(lesson, place, stops[place], printed[place], scene, words, live)
        for place in range(len(lesson.cards))
    ]
    data = [vars(stop) for stop in stops]
    if lesson.introduction:
        it, step = stops[0].it, stops[0].step
        data.insert(0, vars(Stop(it, step, it, step, asks=False)))
    labels = {key.removeprefix(LESSON): text for key, text in words.table.items() if key.startswith(LESSON)}
    buttons = "".join(
        f'<button type="button" class="{name}" aria-label="{words(f"page.lesson.{name}")}">{icon}</button>'
        for name, icon in _ICONS.items()
    )
    ends = "".join(
        f'<button type="button" class="{name}">{words(f"page.lesson.{name}")}</button>' for name in ("full", "end")
    )
    body = [
        f'<div class="lesson">{_head(lesson, words, back)}<main>',
        f'<section class="cards" aria-label="{html.escape(lesson.title)}">{"".join(cards)}',
        f'<nav>{buttons}<span class="count"></span>{ends}</nav></section>',
        '<section class="forest"><div id="viewer" data-scene="dsbd-scene-0"></div></section></main></div>',
        f'<script id="lesson" type="application/json">{embedded_json({"cards": data, "words": labels})}</script>',
        scene_element(scene),
    ]
    if live and any("live" in card.blocks for card in lesson.cards):
        kit = live_kit(kit, live)
    scripts = [script(page_file(name)) for name in ("cards.js", "slides.js", "lesson.js")]
    body += [*lab_parts(lesson), kit.body, *scripts]
    return document(lesson.title, body, kit, language=lesson.language, head=style(page_file("lab.css")))


def lab_parts(lesson: Lesson) -> list[str]:
    """Return the element with the script of the labs, if the lesson has one."""
    return (
        [packed_element("lab-script", packed(lab_script()))]
        if any("lab" in card.blocks for card in lesson.cards)
        else []
    )


def read_scene(lesson: Lesson) -> Scene:
    """Return the scene of a lesson's trace. Raises: LessonError."""
    try:
        return scene_of(lesson.trace, lesson.language)
    except TraceError as error:
        raise LessonError(f"{lesson.path.name}: trace: {error}") from None
    except ValueError as error:
        raise LessonError(f"{lesson.path.name}: language: {error}") from None


def stops_of(lesson: Lesson, scene: Scene) -> list[Stop]:
    """Return the place of each card. Raises: LessonError; it names the line of a card whose place does not exist."""
    stops: list[Stop] = []
    it, step = 0, 0
    for card in lesson.cards:
        if card.position is not None:
            with _naming(lesson, card.line):
                it, step = card.position.it, step_of(scene, card.position)
        before = _before(scene, it, step) if card.question and card.position else (it, step)
        stops.append(Stop(*before, it, step, card.question is not None))
    return stops


def _before(scene: Scene, it: int, step: int) -> tuple[int, int]:
    """Return the step before, perhaps in the iteration before; for the first step itself."""
    if step > 0:
        return it, step - 1
    return (it - 1, len(scene.iterations[it - 1].steps) - 1) if it > 0 else (0, 0)


def _head(lesson: Lesson, words: Words, back: str) -> str:
    link = f'<a class="around" href="{html.escape(back)}">{words("page.site.all")}</a>' if back else ""
    blank = f'<p class="blanks">{words("page.lesson.name")} <span></span> {words("page.lesson.date")} <span></span></p>'
    return (
        f'<header>{link}<h1>{html.escape(lesson.title)}</h1><div class="tools">'
        f'<button type="button" class="teach" aria-pressed="false">{words("page.lesson.teacher")}</button>'
        f'<button type="button" class="slides">{words("page.lesson.slides")}</button>'
        f'<button type="button" class="print">{words("page.lesson.print")}</button></div>{blank}'
        f'<p class="teacher-note">{words("page.lesson.teacher_note")}</p></header>'
    )


def printed_steps(lesson: Lesson, stops: list[Stop]) -> list[Step | None]:
    """Return the step that each card's picture shows in the hand-out.

    All cards of a hand-out can be seen at once, so a picture stops before the first verdict that a question asks for.
    None: the card names no place, or an earlier card has this picture.
    """
    first: dict[int, int] = {}
    for stop in stops:
        if stop.asks and (stop.it, stop.step) != (stop.answer_it, stop.answer_step):
            first[stop.answer_it] = min(first.get(stop.answer_it, stop.answer_step), stop.answer_step)
    steps: list[Step | None] = []
    for card, stop in zip(lesson.cards, stops, strict=True):
        end = first.get(stop.it, stop.step + 1)
        step = (stop.it, min(stop.step, end - 1))
        steps.append(None if card.position is None or step[1] < 0 or step in steps else step)
    return steps


def card_element(
    lesson: Lesson, place: int, stop: Stop, printed: Step | None, scene: Scene, words: Words, live: str = ""
) -> str:
    """Return a card: its text, its pictures, its question; ``live`` as for :func:`lesson_page`. Raises: LessonError."""
    card = lesson.cards[place]
    told = (stop.answer_it, stop.answer_step) if card.position else None
    pictures = [_picture(scene, told, "told both" if told == printed else "told")] if told else []
    if printed and printed != told:
        pictures.append(_picture(scene, printed, ""))
    folder = lesson.path.parent
    with _naming(lesson, card.line):
        return (
            f'<article tabindex="-1"><h2>{markdown_line(card.title, folder)}</h2>'
            f'<div class="text">{markdown(card.text, folder)}</div>{_blocks(lesson, card, scene, words, live)}'
            f"{''.join(pictures)}{_asked(card.question, folder, words) if card.question else ''}</article>"
        )


def _blocks(lesson: Lesson, card: LessonCard, scene: Scene, words: Words, live: str) -> str:
    """Return the blocks of a card, each with what is shown instead on paper and without scripts."""
    folder, parts = lesson.path.parent, []
    for kind, block in card.blocks.items():
        instead = markdown(block.instead, folder)
        if kind == "lab":
            element = lab_element(read_tables(folder / block.given), words)
        elif kind == "cut":
            element = _cut(Position.parse(block.given), scene)
        elif kind == "live" and live:
            element = live_element(scene, live, lesson.language, prompt=block.given, is_small=True)
        else:
            lanes = f" lanes {block.given}".rstrip() if kind == "lanes" else ""
            parts.append(f'<div class="text{lanes}">{instead}</div>')
            continue
        parts.append(f'{element}<div class="text {kind}-instead">{instead}</div>')
    return "".join(parts)


def _cut(position: Position, scene: Scene) -> str:
    """Return the place of the picture of a layer."""
    layers = scene.iterations[position.it].record.layers if position.it < len(scene.iterations) else []
    if not any(one.layer == position.layer and any(pair.draft_prob for pair in one.alternatives) for one in layers):
        raise LessonError("cut: the trace has no guesses there; write ```cut iteration=1 layer=1")
    return f'<div class="cut" data-it="{position.it}" data-layer="{position.layer}"></div>'


def _picture(scene: Scene, place: Step, kind: str) -> str:
    """Draw the forest at a place, for print and for pages without scripts; the kind ``told`` is for the teacher."""
    it, step = place
    sentence = scene.iterations[it].steps[step].sentence if scene.iterations else ""
    drawn = base64.b64encode(forest_svg(scene, it, step=step).encode("utf-8")).decode("ascii")
    name = f"still {kind}".strip()
    return f'<img class="{name}" alt="{html.escape(sentence)}" src="data:image/svg+xml;base64,{drawn}">'


def _asked(question: CardQuestion, folder: Path, words: Words) -> str:
    options = "".join(
        f'<li><button type="button" data-right="{"yes" if at == question.right else "no"}"><b>{LETTERS[at % 26]}</b> '
        f"<span>{markdown_line(text, folder)}</span></button></li>"
        for at, text in enumerate(question.options)
    )
    answer = (
        f'<p><strong class="verdict"></strong> {words("page.lesson.answer")}: <b>{LETTERS[question.right % 26]}</b></p>'
    )
    explained = markdown(question.explanation, folder)
    return f'<ol class="options">{options}</ol><div class="answer" role="status">{answer}{explained}</div>'


@contextmanager
def _naming(lesson: Lesson, line: int) -> Iterator[None]:
    """Name the lesson and the card in an error. Raises: LessonError."""
    try:
        yield
    except (DsbdError, ValueError) as error:
        raise LessonError(f"{lesson.path.name}, card of line {line}: {error}") from None
