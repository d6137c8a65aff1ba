"""Writes pages with viewers: a single page, or a static site (an index, a page for each trace, lessons)."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import count
from pathlib import Path
from typing import Any

from dsbd.errors import ArgumentError, DsbdError, LessonError, TraceError
from dsbd.tracing.trace import Trace
from dsbd.util import check_output, is_same
from visualize.files import write
from visualize.forest import Source, load_trace
from visualize.pages.document import render, shared_files
from visualize.pages.lesson import Lesson, read_lesson
from visualize.pages.lesson_page import article_page, lesson_page
from visualize.pages.live import FOLDER, live_element, live_files
from visualize.svg import forest_svg
from visualize.viewer import bundle
from visualize.words import Words

TRACE_SUFFIXES = (".json.gz", ".json")
FORESTS, LESSONS, VIEWER = "forests", "lessons", "viewer"
ARTICLE, LIVE_PAGE, SERVICE_WORKER = "article.html", "live.html", "service-worker.js"
FRAME = 1100, 720  # width and height of an embedded page, in pixels


def export_html(source: Source, path: str | Path, *, language: str = "en", place: str = "") -> None:
    """Write one HTML file with a viewer.

    Args:
        source: a trace, the path of a trace file, or a recorded result.
        path: the HTML file to write.
        language: of the sentences and controls.
        place: where the viewer opens, counting from 1: ``iteration=4&step=6``; empty = at the first step.

    Example:
        >>> visualize.export_html(trace, "page.html")

    Raises:
        TraceError: the source is no trace, or the file cannot be written.
        ArgumentError: ``language`` is unknown; or the path names another format, or the file that is read.
    """
    check_output(path, "HTML", *([source] if isinstance(source, (str, Path)) else []))
    write(path, html_page(load_trace(source), language=language, place=place))


def html_page(trace: Trace, *, language: str = "en", place: str = "", home: str = "") -> str:
    """Return the page of :func:`export_html` as a string; ``home`` is where it came from."""
    title = f"DSBD · {trace.settings.method}"
    return render("trace.html", language=language, title=title, trace=trace, place=place, home=home)


@dataclass(frozen=True)
class Card:
    """A trace of the site."""

    title: str
    picture: str  # address of its page and its pictures below the site, without ``.html``, ``.svg`` and ``.dark.svg``
    download: str  # address of its file, relative to its page
    file: Path
    trace: Trace


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
    """Write a static site with a viewer page for every trace file in a folder.

    Args:
        traces: folder with trace files (``.json`` or ``.json.gz``).
        output: folder to write; created if it does not exist. Files with the same names are replaced.
        lessons: folder with lessons (``.md``), which become pages too; None = no lessons.
        article: a lesson without questions (``.md``), which becomes a page to scroll through; None = none.
        title: of the site.
        language: of the sentences and controls.
        live: also write ``live.html``, where the bundled pairs decode in the browser, and the folder ``live`` with
            its files; lessons then decode as well.

    Returns: the pages, as paths below ``output``.

    Example:
        >>> visualize.export_site("assets/traces", "site", lessons="assets/lessons")

    Raises:
        TraceError: a folder does not exist, cannot be written, has no trace, or has a damaged one.
        LessonError: a lesson or the article has a mistake.
        ArgumentError: the language has no table; or a folder that is read would be overwritten.
    """
    words, folder = Words(language), Path(output)
    for source, name in ((traces, FORESTS), (lessons, LESSONS)):
        if source is not None and is_same(source, folder / name):
            raise ArgumentError(f"{str(source)[:200]!r} is read, and would be written over; name another output")
    cards = list(_cards(Path(traces)))
    course = list(_lessons(Path(lessons), f"../{FOLDER}/" if live else "")) if lessons is not None else []
    story = read_lesson(article) if article is not None else None
    common: dict[str, Any] = {"language": language, "site": title, "frame": FRAME}
    folder_here, pages = f"{VIEWER}/", dict[str, str]()
    if story is not None:
        links = ({LIVE_PAGE: words("page.live.title")} if live else {}) | {"index.html": words("page.site.all")}
        pages[ARTICLE] = article_page(story, folder_here, links)
    if live:
        form = live_element([card.trace for card in cards], f"{FOLDER}/", language)
        pages[LIVE_PAGE] = render("site_trace.html", folder=folder_here, live=f"{FOLDER}/", trace=cards[0].trace,
                                  name=words("page.live.title"), form=form, card=None, **common)  # fmt: skip
    for card in cards:
        pages[f"{card.picture}.html"] = render("site_trace.html", folder=f"../{VIEWER}/", trace=card.trace,
                                               name=card.title, form="", card=card, **common)  # fmt: skip
    pages |= {f"{address}.html": page for _, address, page in course}
    index = render("site.html", folder=folder_here, **common, article=story, live_page=LIVE_PAGE if live else "",
                   cards=cards, lessons=[(address, lesson) for lesson, address, _ in course])  # fmt: skip
    files: dict[str, str | Path] = {"index.html": index, **pages}
    files |= {f"{VIEWER}/{name}": text for name, text in shared_files().items()}
    for card in cards:
        files |= {f"{FORESTS}/{card.download}": card.file, **_pictures(card.trace, card.picture, language)}
    for lesson, address, _ in course:
        files |= _pictures(Trace.load(lesson.trace), address, language)
    worker = bundle.source("pages/service_worker.js")
    files[SERVICE_WORKER] = worker.replace("FILES = []", f"FILES = {json.dumps(list(files))}")
    if live:  # after the list of files to keep at once: these are fetched when a reader asks for them
        files |= {f"{FOLDER}/{path}": content for path, content in live_files().items()}
    for address, content in files.items():
        _write(folder / address, content)
    return ["index.html", *pages]


def _pictures(trace: Trace, address: str, language: str) -> dict[str, str]:
    """Return the forest of the first iteration in both themes, by address."""
    return {f"{address}.svg": forest_svg(trace, language=language),
            f"{address}.dark.svg": forest_svg(trace, theme="dark", language=language)}  # fmt: skip


def _files(folder: Path, suffixes: tuple[str, ...], none: DsbdError) -> Iterator[tuple[Path, str, str]]:
    """Yield the files of a folder with these suffixes, sorted: each with its name without suffix, and a page's name.

    Raises: TraceError: there is no such folder. And ``none`` if the folder holds no such file.
    """
    if not folder.is_dir():
        raise TraceError(f"{str(folder)!r} is no folder; name one that holds {' or '.join(suffixes)} files")
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.endswith(suffixes))
    if not files:
        raise none
    names: set[str] = set()
    for file in files:
        stem = file.name[: -len(next(suffix for suffix in suffixes if file.name.endswith(suffix)))]
        name, numbers = page_name(stem), count(2)
        while name in names:
            name = f"{page_name(stem)}-{next(numbers)}"
        names.add(name)
        yield file, stem, name


def _lessons(folder: Path, live: str) -> Iterator[tuple[Lesson, str, str]]:
    """Yield each lesson of a folder, sorted by name, with its address without ``.html`` and its page.

    Raises: LessonError, TraceError.
    """
    none = LessonError(f"no lessons (.md) in {str(folder)!r}; docs/teaching.md shows how to write one")
    for file, _, name in _files(folder, (".md",), none):
        lesson = read_lesson(file)
        yield lesson, f"{LESSONS}/{name}", lesson_page(lesson, f"../{VIEWER}/", back="../index.html", live=live)


def _cards(folder: Path) -> Iterator[Card]:
    """Yield every trace file of a folder, sorted by name. Raises: TraceError; it names the file."""
    none = TraceError(f"no trace files (.json, .json.gz) in {str(folder)!r}; record one with decode --trace")
    for file, stem, name in _files(folder, TRACE_SUFFIXES, none):
        try:
            trace = Trace.load(file)
        except TraceError as error:
            raise TraceError(f"{file.name}: {error}") from None
        yield Card(_title(stem), f"{FORESTS}/{name}", name + file.name.removeprefix(stem), file, trace)


def page_name(stem: str) -> str:
    """Return a name that is safe in every address and file system."""
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:80] or "trace"


def _title(stem: str) -> str:
    """Make a title from a file name: ``Dynamic width`` from ``1-dynamic-width``."""
    words = re.sub(r"^\d+[-_ ]+", "", stem).replace("-", " ").replace("_", " ").strip() or stem
    return words[:1].upper() + words[1:]


def _write(path: Path, content: str | Path) -> None:
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise TraceError(f"cannot write into {str(path.parent)!r}: {error.strerror or error}") from None
    write(path, content.read_bytes() if isinstance(content, Path) else content)
