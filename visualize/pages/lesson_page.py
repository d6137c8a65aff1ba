"""Makes the page of a lesson (cards beside the viewer, verdicts hidden until answered, a printed hand-out) and of an
article (a lesson without questions, whose cards scroll past one viewer; cards with a lab stand below)."""

import base64
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Any, NamedTuple

from markupsafe import Markup

from dsbd.errors import DsbdError, LessonError, TraceError
from dsbd.tracing.trace import Trace
from dsbd.util import check_output
from visualize.files import write
from visualize.forest import forest_graph, steps_of
from visualize.pages.document import fragment, packed, render
from visualize.pages.lesson import Block, Lesson, LessonCard, Place, markdown, place_in, read_lesson, read_tables
from visualize.pages.live import live_element
from visualize.svg import describe, forest_svg
from visualize.viewer.bundle import classic
from visualize.words import Words

LAB_DECODES = 5000
LAB_ENTRY = "pages/lab/lab.js"


class Stop(NamedTuple):
    """The place a card shows, and the place its answer leads to: the same one if the card asks no question."""

    at: Place
    answer: Place


def export_lesson(source: str | Path, path: str | Path) -> None:
    """Write a lesson file (Markdown, see docs/teaching.md) as one HTML page.

    Example:
        >>> visualize.export_lesson("assets/lessons/1-speculative-decoding.md", "lesson.html")

    Raises:
        LessonError: the lesson has a mistake; the message names file and line.
        TraceError: its trace cannot be read, or the page cannot be written.
        ArgumentError: the path names another format, or a file that is read.
    """
    lesson = read_lesson(source)
    check_output(path, "HTML", source, lesson.trace)
    write(path, lesson_page(lesson))


def lesson_page(lesson: Lesson, folder: str = "", *, back: str = "", live: str = "") -> str:
    """Return the page as a string.

    Args:
        lesson: as :func:`read_lesson` returns it.
        folder: as for :func:`render`.
        back: address of the page that lists all lessons; empty = no link to it.
        live: address of the folder of ``live_files``, with a slash, for decoding in the browser; empty = none.

    Raises:
        LessonError: a card names what the trace does not have, or the trace cannot be read.
    """
    live = live if any("live" in card.blocks for card in lesson.cards) else ""
    labels = Words(lesson.language).below("page.lesson.")
    return _page(lesson, folder=folder, live=live, labels=labels, is_article=False, back=back)


def article_page(lesson: Lesson, folder: str, links: dict[str, str]) -> str:
    """Return the page as a string; ``links`` are those at its end: their texts, by address.

    Raises: LessonError: a card asks a question, or names what the trace does not have, or the trace cannot be read.
    """
    if question := next((card for card in lesson.cards if card.options), None):
        raise LessonError(f"{lesson.path.name}, line {question.line}: an article asks nothing; leave the options out")
    return _page(lesson, folder=folder, live="", labels={}, is_article=True, links=links)


def _page(lesson: Lesson, *, live: str, **values: Any) -> str:
    try:
        trace, words = Trace.load(lesson.trace), Words(lesson.language)
    except TraceError as error:
        raise LessonError(f"{lesson.path.name}: trace: {error}") from None
    stops = stops_of(lesson, trace)
    has_lab = any("lab" in card.blocks for card in lesson.cards)
    stopped = zip(lesson.cards, stops, printed_steps(lesson, stops), strict=True)
    cards = [("lab" in card.blocks, _card(lesson, card, stop, printed, trace, words, live))
             for card, stop, printed in stopped]  # fmt: skip
    return render(
        "lesson.html", live=live, language=lesson.language, title=lesson.title, lesson=lesson, cards=cards, trace=trace,
        lab=packed(classic(LAB_ENTRY)) if has_lab else "", **values,
    )  # fmt: skip


def stops_of(lesson: Lesson, trace: Trace) -> list[Stop]:
    """Return the stop of each card. Raises: LessonError; it names the line of a card whose place does not exist."""
    stops: list[Stop] = []
    place = (0, 0)
    for card in lesson.cards:
        if card.place is not None:
            with _naming(lesson, card.line):
                place = place_in(trace, card.place)
        before = _before(trace, *place) if card.options and card.place is not None else place
        stops.append(Stop(before, place))
    if not lesson.cards[0].title:  # the introduction shows what the first card begins with
        stops[0] = Stop(stops[1].at, stops[1].at)
    return stops


def _before(trace: Trace, it: int, step: int) -> Place:
    """Return the step before, perhaps in the iteration before; for the first step of all, that step."""
    if step > 0 or it == 0:
        return it, max(step - 1, 0)
    return it - 1, len(steps_of(trace.iterations[it - 1], trace.settings)) - 1


def printed_steps(lesson: Lesson, stops: list[Stop]) -> list[Place | None]:
    """Return the step that each card's picture shows in the hand-out.

    All cards of a hand-out are visible at once, so a picture stops before the first verdict that a question asks for.
    None: the card names no place, or an earlier card has this picture.
    """
    first: dict[int, int] = {}
    for it, step in (stop.answer for stop in stops if stop.at != stop.answer):
        first[it] = min(first.get(it, step), step)
    steps: list[Place | None] = []
    for card, ((it, at), _) in zip(lesson.cards, stops, strict=True):
        place = (it, min(at, first.get(it, at + 1) - 1))
        steps.append(None if card.place is None or place[1] < 0 or place in steps else place)
    return steps


def _card(
    lesson: Lesson, card: LessonCard, stop: Stop, printed: Place | None, trace: Trace, words: Words, live: str
) -> Markup:
    """Return a card; its pictures are for print and for pages without scripts, those ``told`` for the teacher."""
    answer = None if card.place is None else stop.answer
    pictures = [(answer, "told both" if answer == printed else "told"), (None if printed == answer else printed, "")]
    with _naming(lesson, card.line):
        return fragment(
            "card.html", card=card, stop=stop, words=words, markdown=partial(markdown, folder=lesson.path.parent),
            blocks=[_block(kind, block, lesson, trace, words, live) for kind, block in card.blocks.items()],
            pictures=[(f"still {kind}".strip(), *_picture(trace, place, words)) for place, kind in pictures if place],
        )  # fmt: skip


def _block(kind: str, block: Block, lesson: Lesson, trace: Trace, words: Words, live: str) -> tuple[Markup, str, str]:
    """Return a block, and what replaces it on paper and without scripts: its class, and Markdown."""
    element = Markup()
    if kind == "lab":
        pair = read_tables(lesson.path.parent / block.argument)
        element = fragment("lab.html", data={"pair": pair, "runs": LAB_DECODES, "words": words.below("page.lab.")})
    elif kind == "cut":
        it, step = place_in(trace, block.argument)
        layer = steps_of(trace.iterations[it], trace.settings)[step].layer
        verified = (one for one in trace.iterations[it].layers if one.layer == layer)
        if not any(candidate.draft_prob for one in verified for candidate in one.alternatives):
            raise LessonError("cut: the trace has no guesses there; write ```cut iteration=1 layer=1")
        element = Markup('<div class="cut" data-it="{}" data-layer="{}"></div>').format(it, layer)
    elif kind == "live" and live:
        element = live_element([trace], live, lesson.language, prompt=block.argument, is_small=True)
    name = f"lanes {block.argument}".rstrip() if kind == "lanes" else f"{kind}-instead" if element else ""
    return element, f"text {name}".rstrip(), block.instead


def _picture(trace: Trace, place: Place, words: Words) -> tuple[str, str]:
    """Describe and draw the forest at a place."""
    it, step = place
    svg = forest_svg(trace, it, step=step, language=words.language)
    source = base64.b64encode(svg.encode("utf-8")).decode("ascii")
    return describe(forest_graph(trace, it, step=step), words), source


@contextmanager
def _naming(lesson: Lesson, line: int) -> Iterator[None]:
    """Turn an error into one that names the lesson and the card. Raises: LessonError."""
    try:
        yield
    except (DsbdError, ValueError) as error:
        raise LessonError(f"{lesson.path.name}, card of line {line}: {error}") from None
