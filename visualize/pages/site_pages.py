"""Makes the HTML of a static site's pages; every text of a trace is escaped here."""

import html
from collections.abc import Iterator
from dataclasses import dataclass

from visualize.pages.compressed import packed_json
from visualize.pages.document import document, packed_element
from visualize.pages.trace_page import START
from visualize.pages.viewer_parts import shared_kit
from visualize.scenes.records import Scene
from visualize.scenes.to_json import scene_json
from visualize.words.words import Words, number

VIEWER = "viewer/"
PROMPT_CHARACTERS = 160
FRAME = 1100, 720
"""Width and height of an embedded page, in pixels."""
FIGURES = ("iterations", "layers_per_iteration", "acceptance_rate", "mean_width")


@dataclass(frozen=True)
class Card:
    """A trace on the index."""

    title: str
    page: str
    """Address of its page below the site."""
    download: str
    """Address of its trace beside its page."""
    scene: Scene


@dataclass(frozen=True)
class LessonLink:
    """A lesson on the index."""

    page: str
    title: str
    summary: str
    cards: int
    picture: str
    """Addresses of its pictures below the site, without ``.svg`` and ``.dark.svg``."""


def index_page(cards: list[Card], lessons: list[LessonLink], *, title: str, language: str) -> str:
    """Return the first page: lessons, then a card for every trace."""
    words, kit = Words(language), shared_kit(VIEWER)
    body = [f"<main><h1>{html.escape(title)}</h1>", f'<p class="about">{words("page.site.about")}</p>']
    if lessons:
        body += [
            f"<h2>{words('page.site.lessons')}</h2>",
            '<ol class="cards">',
            *(_lesson(number, one, words) for number, one in enumerate(lessons, 1)),
        ]
        body.append("</ol>")
    body += [f"<h2>{words('page.site.decodes')}</h2>", '<ul class="cards">', *(_card(card, words) for card in cards)]
    return _site_document(title, [*body, "</ul></main>"], language, kit.head)


def _lesson(number: int, lesson: LessonLink, words: Words) -> str:
    return (
        f'<li>{_drawn(lesson.picture, words)}<div class="inside">'
        f'<h3><span class="number">{number}</span><a href="{lesson.page}">{html.escape(lesson.title)}</a></h3>'
        f'<p>{html.escape(lesson.summary)}</p><p class="method">'
        f"{words('page.site.cards', count=lesson.cards)}</p></div></li>"
    )


def _card(card: Card, words: Words) -> str:
    scene, picture = card.scene, card.page.removesuffix(".html")
    figures = "".join(f"<div><dt>{html.escape(name)}</dt><dd>{value}</dd></div>" for name, value in _figures(scene))
    method = html.escape(scene.strings.get(f"method.{scene.title}", scene.title))
    return (
        f'<li>{_drawn(picture, words)}<div class="inside"><h3><a href="{card.page}">{html.escape(card.title)}</a></h3>'
        f'<p class="method">{method}</p><p><bdi>{html.escape(_prompt(scene))}</bdi></p><dl>{figures}</dl></div></li>'
    )


def _drawn(picture: str, words: Words) -> str:
    """Return the picture of a forest in both themes."""
    dark = f'<source srcset="{picture}.dark.svg" media="(prefers-color-scheme: dark)">'
    return f'<picture>{dark}<img src="{picture}.svg" alt="{words("page.site.picture")}" loading="lazy"></picture>'


def _figures(scene: Scene) -> Iterator[tuple[str, str]]:
    """Yield names and figures of the decode; a dash for an unknown figure."""
    known = scene.statistics.to_dict()
    for name in FIGURES:
        value = known[name]
        yield scene.strings[f"stat.{name}"], "–" if value is None else number(value)


def _prompt(scene: Scene) -> str:
    text = "".join(scene.prompt)
    return text if len(text) <= PROMPT_CHARACTERS else text[: PROMPT_CHARACTERS - 1] + "…"


def trace_page(card: Card, *, site: str, name: str, language: str) -> str:
    """Return the page of one trace: the viewer, a link to download the trace, and text to embed the viewer."""
    words, kit = Words(language), shared_kit("../" + VIEWER)
    embed = html.escape(_frame(f"{name}.html", card.title))
    title = html.escape(card.title)
    body = [
        f'<main><header class="around"><p><a href="../index.html">{words("page.site.all")}</a></p>',
        f"<h1>{title}</h1></header>",
        '<div id="viewer" data-scene="dsbd-scene-0" data-address></div>',
        f'<noscript><img src="{name}.svg" alt="{words("page.site.picture")}"></noscript>',
        '<footer class="around"><div class="links">',
        f'<a href="{card.download}" download>{words("page.site.download")}</a></div>',
        f"<details><summary>{words('page.site.embed')}</summary>",
        f'<textarea readonly aria-label="{words("page.site.embed")}">{embed}</textarea></details></footer></main>',
        packed_element("dsbd-scene-0", packed_json(scene_json(card.scene))),
        kit.body,
        START,
    ]
    return _site_document(f"{card.title} · {site}", body, language, kit.head)


def _frame(address: str, title: str) -> str:
    """Return HTML that shows a page inside another page."""
    return (
        f'<iframe src="{html.escape(address)}" title="{html.escape(title)}" width="{FRAME[0]}" height="{FRAME[1]}" '
        'style="border:0;max-width:100%" loading="lazy" allowfullscreen></iframe>'
    )


def _site_document(title: str, body: list[str], language: str, head: str) -> str:
    inside = '<div class="site">' + "\n".join(body) + "</div>"
    return document(title, inside, language=language, head=head, scripts=" 'self' file:", files=True)
