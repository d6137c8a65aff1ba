"""Writes a static site: an index, a viewer page per trace, lessons. It works on any file server, or from a disk.

Every text of a trace is escaped here.
"""

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from dsbd.errors import DsbdError, LessonError, TraceError
from visualize.drawings.svg import forest_svg
from visualize.files import write
from visualize.pages import page_file
from visualize.pages.article_page import article_page
from visualize.pages.document import Kit, document
from visualize.pages.lesson import Lesson, read_lesson
from visualize.pages.lesson_page import lesson_page
from visualize.pages.live_files import FOLDER, write_live
from visualize.pages.live_parts import live_element, live_kit
from visualize.pages.trace_page import START, copy_plotly
from visualize.pages.viewer_parts import scene_element, shared_kit, write_kit
from visualize.scenes.records import Scene
from visualize.scenes.source import scene_of
from visualize.words.words import Words, number

SUFFIXES = (".json.gz", ".json")
FORESTS, LESSONS, VIEWER = "forests", "lessons", "viewer"
ARTICLE, LIVE_PAGE = "article.html", "live.html"
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


def export_site(
    traces: str | Path,
    output: str | Path,
    *,
    lessons: str | Path | None = None,
    article: str | Path | None = None,
    title: str = "DSBD",
    language: str = "en",
    live: bool = False,
) -> list[str]:
    """Write a static site with a viewer page for every trace file of a folder.

    Args:
        traces: folder with trace files (``.json`` or ``.json.gz``).
        output: folder to write; created if it does not exist. Files of the same names are replaced.
        lessons: folder with lessons (``.md``), which become pages too; None = no lessons.
        article: a lesson without questions (``.md``), a page to scroll through; None = none.
        title: of the site.
        language: of the sentences and controls.
        live: write ``live.html`` too, where a bundled pair decodes in the browser, and the folder ``live`` with
            its files; lessons then decode as well.

    Returns: the pages, as paths below ``output``.

    Example:
        >>> visualize.export_site("assets/traces", "site", lessons="assets/lessons")

    Raises:
        TraceError: a folder does not exist, cannot be written, has no trace, or has a damaged one.
        LessonError: a lesson or the article has a mistake.
        ValueError: the language has no table.
    """
    words = Words(language)
    cards = list(_cards(Path(traces), language))
    taught = list(_lessons(Path(lessons), f"../{FOLDER}/" if live else "")) if lessons is not None else []
    told = read_lesson(article) if article is not None else None
    folder = _made(Path(output))
    links = ({LIVE_PAGE: words("page.live.title")} if live else {}) | {"index.html": words("page.site.all")}
    scrolled = article_page(told, shared_kit(f"{VIEWER}/"), links) if told else ""
    for below in (FORESTS, VIEWER, *([LESSONS] if taught else [])):
        _made(folder / below)
    copy_plotly(folder / VIEWER)
    write_kit(folder / VIEWER, page_file("site.css"))
    for card in cards:
        write(folder / card.page, _trace_page(card, site=title, language=language))
        write(folder / FORESTS / card.download, card.content)
        _write_pictures(card.scene, folder / card.picture)
    for lesson, page, text in taught:
        write(folder / page, text)
        _write_pictures(scene_of(lesson.trace, lesson.language), folder / page.removesuffix(".html"))
    if told:
        write(folder / ARTICLE, scrolled)
    pages = {page: lesson for lesson, page, _ in taught}
    if live:
        write_live(folder)
        write(folder / LIVE_PAGE, _live_page(cards[0].scene, site=title, language=language))
    write(folder / "index.html", _index_page(cards, pages, told, title=title, language=language, live=live))
    first = [*([ARTICLE] if told else []), *([LIVE_PAGE] if live else [])]
    return ["index.html", *first, *(card.page for card in cards), *pages]


def _files(folder: Path, suffixes: tuple[str, ...], none: DsbdError) -> Iterator[tuple[Path, str, str]]:
    """Yield the files of a folder with these suffixes, by name: each with its name without suffix, and a page's name.

    Raises: TraceError: there is no such folder. And ``none`` if the folder holds no such file.
    """
    if not folder.is_dir():
        raise TraceError(f"{str(folder)!r} is no folder; name one that holds {' or '.join(suffixes)} files")
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.endswith(suffixes))
    if not files:
        raise none
    taken: set[str] = set()
    for file in files:
        stem = file.name[: -len(next(suffix for suffix in suffixes if file.name.endswith(suffix)))]
        number, name = 1, page_name(stem)
        while name in taken:
            number += 1
            name = f"{page_name(stem)}-{number}"
        taken.add(name)
        yield file, stem, name


def _lessons(folder: Path, live: str) -> Iterator[tuple[Lesson, str, str]]:
    """Yield each lesson of a folder, by name, with its address and its page. Raises: LessonError, TraceError."""
    none = LessonError(f"no lessons (.md) in {str(folder)!r}; docs/teaching.md shows how to write one")
    kit = shared_kit(f"../{VIEWER}/", page_file("lesson.css"))
    for file, _, name in _files(folder, (".md",), none):
        lesson = read_lesson(file)
        yield lesson, f"{LESSONS}/{name}.html", lesson_page(lesson, kit, back="../index.html", live=live)


def _write_pictures(scene: Scene, place: Path) -> None:
    """Write the forest of the first iteration in both themes."""
    write(f"{place}.svg", forest_svg(scene))
    write(f"{place}.dark.svg", forest_svg(scene, theme="dark"))


def _cards(folder: Path, language: str) -> Iterator[Card]:
    """Yield every trace file of a folder, by name. Raises: TraceError; it names the file."""
    none = TraceError(f"no trace files (.json, .json.gz) in {str(folder)!r}; record one with decode --trace")
    for file, stem, name in _files(folder, SUFFIXES, none):
        try:
            scene = scene_of(file, language)
            content = file.read_bytes()
        except TraceError as error:
            raise TraceError(f"{file.name}: {error}") from None
        except OSError as error:
            raise TraceError(f"cannot copy {file.name!r}: {error.strerror or error}") from None
        yield Card(_titled(stem), f"{FORESTS}/{name}", name + file.name.removeprefix(stem), content, scene)


def page_name(stem: str) -> str:
    """Return a name that is safe in every address and file system."""
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:80] or "trace"


def _titled(stem: str) -> str:
    """Make a title from a file name: ``Dynamic width`` from ``1-dynamic-width``."""
    words = re.sub(r"^\d+[-_ ]+", "", stem).replace("-", " ").replace("_", " ").strip() or stem
    return words[:1].upper() + words[1:]


def _made(folder: Path) -> Path:
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(f"cannot write into {str(folder)!r}: {error.strerror or error}") from None
    return folder


def _index_page(
    cards: list[Card], lessons: dict[str, Lesson], article: Lesson | None, *, title: str, language: str, live: bool
) -> str:
    """Return the first page: the article, the live page, lessons by address, then a card for every trace."""
    words, kit = Words(language), shared_kit(f"{VIEWER}/")
    body = [
        f'<div class="site"><main><h1>{html.escape(title)}</h1>',
        f'<p class="about">{words("page.site.about")}</p>',
    ]
    if article:
        name, summary = html.escape(article.title), html.escape(article.summary)
        body.append(f'<p class="first"><a href="{ARTICLE}">{name}</a> {summary}</p>')
    if live:
        body.append(f'<p><a href="{LIVE_PAGE}">{words("page.live.title")}</a></p>')
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


def _live_page(scene: Scene, *, site: str, language: str) -> str:
    """Return the page that decodes; its viewer shows a recorded decode first."""
    words, kit = Words(language), live_kit(shared_kit(f"{VIEWER}/"), f"{FOLDER}/")
    title = words("page.live.title")
    head = f'<p class="about">{words("page.live.about")}</p></header>{live_element(scene, f"{FOLDER}/", language)}'
    return _viewer_page(title, scene, kit, words, site=site, index="index.html", head=head)


def _trace_page(card: Card, *, site: str, language: str) -> str:
    """Return the page of one trace: the viewer, a link to download the trace, and text to embed the viewer."""
    words, kit = Words(language), shared_kit(f"../{VIEWER}/")
    name = card.picture.rpartition("/")[2]
    frame = (
        f'<iframe src="{name}.html" title="{html.escape(card.title)}" width="{FRAME[0]}" height="{FRAME[1]}" '
        'style="border:0;max-width:100%" loading="lazy" allowfullscreen></iframe>'
    )
    foot = (
        f'<noscript><img src="{name}.svg" alt="{words("page.site.picture")}"></noscript>\n'
        '<footer class="around"><div class="links">'
        f'<a href="{card.download}" download>{words("page.site.download")}</a></div>'
        f"<details><summary>{words('page.site.embed')}</summary>"
        f'<textarea readonly aria-label="{words("page.site.embed")}">{html.escape(frame)}</textarea></details></footer>'
    )
    return _viewer_page(
        card.title, card.scene, kit, words, site=site, index="../index.html", head="</header>", foot=foot
    )


def _viewer_page(
    title: str, scene: Scene, kit: Kit, words: Words, *, site: str, index: str, head: str, foot: str = ""
) -> str:
    """Return a page of the site with one viewer. ``head`` ends the header; ``foot`` stands below the viewer."""
    body = [
        f'<div class="site"><main><header class="around"><p><a href="{index}">{words("page.site.all")}</a></p>',
        f"<h1>{html.escape(title)}</h1>{head}",
        f'<div id="viewer" data-scene="dsbd-scene-0" data-address></div>{foot}</main>',
        scene_element(scene),
        kit.body,
        START + "</div>",
    ]
    return document(f"{title} · {site}", body, kit, language=words.language)
