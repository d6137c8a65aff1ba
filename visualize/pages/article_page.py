"""Makes an article: a lesson without questions whose cards scroll past one viewer; what has a lab stands below."""

import html

from dsbd.errors import LessonError
from visualize.pages import page_file
from visualize.pages.document import Kit, document, embedded_json, script, style
from visualize.pages.lesson import Lesson
from visualize.pages.lesson_page import card_element, lab_parts, printed_steps, read_scene, stops_of
from visualize.pages.viewer_parts import scene_element
from visualize.words.words import Words


def article_page(lesson: Lesson, kit: Kit, links: dict[str, str]) -> str:
    """Return the page as a string; ``links`` are where it leads at its end: words by address.

    Raises:
        LessonError: a card asks a question, or names what the trace does not have.
        TraceError: the trace cannot be read.
    """
    asking = next((card for card in lesson.cards if card.question), None)
    if asking:
        raise LessonError(f"{lesson.path.name}, line {asking.line}: an article asks nothing; leave the options out")
    scene, words = read_scene(lesson), Words(lesson.language)
    stops = stops_of(lesson, scene)
    printed = printed_steps(lesson, stops)
    told = [card_element(lesson, at, stop, printed[at], scene, words) for at, stop in enumerate(stops)]
    beside = [at for at, card in enumerate(lesson.cards) if "lab" not in card.blocks]
    below = [at for at, card in enumerate(lesson.cards) if "lab" in card.blocks]
    places = [{"it": stops[at].it, "step": stops[at].step} for at in beside]
    title = html.escape(lesson.title)
    body = [
        f'<div class="lesson article"><header><h1>{title}</h1>',
        f'<p class="summary">{html.escape(lesson.summary)}</p></header>',
        f'<main><section class="cards" aria-label="{title}">{"".join(told[at] for at in beside)}</section>',
        '<section class="forest"><div id="viewer" data-scene="dsbd-scene-0"></div></section></main>',
        f'<section class="cards after">{"".join(told[at] for at in below)}',
        f'<p class="end">{"".join(f"<a href={chr(34)}{to}{chr(34)}>{name}</a>" for to, name in links.items())}</p>',
        "</section></div>",
        f'<script id="lesson" type="application/json">{embedded_json(places)}</script>',
        scene_element(scene),
        *lab_parts(lesson),
        kit.body,
        script(page_file("cards.js")),
        script(page_file("article.js")),
    ]
    styles = style(page_file("lesson.css"), page_file("lab.css"), page_file("article.css"))
    return document(lesson.title, body, kit, language=lesson.language, head=styles)
