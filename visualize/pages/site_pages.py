"""Makes the HTML of a static site's pages; every text of a trace is escaped here."""

import html
from dataclasses import dataclass

from visualize.pages.compressed import packed_json
from visualize.pages.document import document, packed_element
from visualize.pages.lesson import Lesson
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
    """A trace of the site."""

    title: str
    picture: str
    """Address of its pictures below the site, without ``.svg`` and ``.dark.svg``."""
    download: str
    """Address of its file beside its page."""
    content: bytes
    """Its file."""
    scene: Scene

    @property
    def page(self) -> str:
        """Address of its page below the site."""
        return f"{self.picture}.html"


def index_page(cards: list[Card], lessons: dict[str, Lesson], *, title: str, language: str) -> str:
    """Return the first page: lessons by address, then a card for every trace."""
    words, kit = Words(language), shared_kit(VIEWER)
    body = [
        f'<div class="site"><main><h1>{html.escape(title)}</h1>',
        f'<p class="about">{words("page.site.about")}</p>',
    ]
    if lessons:
        body += [
            f"<h2>{words('page.site.lessons')}</h2>",
            '<ol class="cards">',
            *(_lesson(number, page, lesson, words) for number, (page, lesson) in enumerate(lessons.items(), 1)),
        ]
        body.append("</ol>")
    body += [f"<h2>{words('page.site.decodes')}</h2>", '<ul class="cards">', *(_card(card, words) for card in cards)]
    return document(title, [*body, "</ul></main></div>"], kit, language=language)


def _lesson(number: int, page: str, lesson: Lesson, words: Words) -> str:
    return (
        f'<li>{_drawn(page.removesuffix(".html"), words)}<div class="inside">'
        f'<h3><span class="number">{number}</span><a href="{page}">{html.escape(lesson.title)}</a></h3>'
        f'<p>{html.escape(lesson.summary)}</p><p class="method">'
        f"{words('page.site.cards', count=lesson.count)}</p></div></li>"
    )


def _card(card: Card, words: Words) -> str:
    scene, known = card.scene, card.scene.statistics.to_dict()
    values = {name: "–" if known[name] is None else number(known[name]) for name in FIGURES}  # type: ignore[arg-type]
    figures = "".join(
        f"<div><dt>{html.escape(scene.strings[f'stat.{name}'])}</dt><dd>{value}</dd></div>"
        for name, value in values.items()
    )
    method = html.escape(scene.strings.get(f"method.{scene.title}", scene.title))
    prompt = "".join(scene.prompt)
    if len(prompt) > PROMPT_CHARACTERS:
        prompt = prompt[: PROMPT_CHARACTERS - 1] + "…"
    return (
        f'<li>{_drawn(card.picture, words)}<div class="inside">'
        f'<h3><a href="{card.page}">{html.escape(card.title)}</a></h3>'
        f'<p class="method">{method}</p><p><bdi>{html.escape(prompt)}</bdi></p><dl>{figures}</dl></div></li>'
    )


def _drawn(picture: str, words: Words) -> str:
    """Return the picture of a forest in both themes."""
    dark = f'<source srcset="{picture}.dark.svg" media="(prefers-color-scheme: dark)">'
    return f'<picture>{dark}<img src="{picture}.svg" alt="{words("page.site.picture")}" loading="lazy"></picture>'


def trace_page(card: Card, *, site: str, language: str) -> str:
    """Return the page of one trace: the viewer, a link to download the trace, and text to embed the viewer."""
    words, kit = Words(language), shared_kit("../" + VIEWER)
    title, name = html.escape(card.title), card.picture.rpartition("/")[2]
    frame = (
        f'<iframe src="{name}.html" title="{title}" width="{FRAME[0]}" height="{FRAME[1]}" '
        'style="border:0;max-width:100%" loading="lazy" allowfullscreen></iframe>'
    )
    body = [
        f'<div class="site"><main><header class="around"><p><a href="../index.html">{words("page.site.all")}</a></p>',
        f"<h1>{title}</h1></header>",
        '<div id="viewer" data-scene="dsbd-scene-0" data-address></div>',
        f'<noscript><img src="{name}.svg" alt="{words("page.site.picture")}"></noscript>',
        '<footer class="around"><div class="links">',
        f'<a href="{card.download}" download>{words("page.site.download")}</a></div>',
        f"<details><summary>{words('page.site.embed')}</summary>",
        f'<textarea readonly aria-label="{words("page.site.embed")}">{html.escape(frame)}</textarea></details>',
        "</footer></main>",
        packed_element("dsbd-scene-0", packed_json(scene_json(card.scene))),
        kit.body,
        START + "</div>",
    ]
    return document(f"{card.title} · {site}", body, kit, language=language)
