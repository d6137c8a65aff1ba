"""Writes a static site: an index, a viewer page per trace, lessons. It works on any file server, or from a disk."""

import re
from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from dsbd.errors import LessonError, TraceError
from dsbd.tracing.trace import Trace
from visualize.drawings.svg import forest_svg
from visualize.files import write
from visualize.pages import page_file
from visualize.pages.lesson import Lesson, read_lesson
from visualize.pages.lesson_page import lesson_page
from visualize.pages.site_pages import Card, LessonLink, index_page, trace_page
from visualize.pages.trace_page import copy_plotly
from visualize.pages.viewer_parts import shared_kit, write_kit
from visualize.scenes.records import Scene
from visualize.scenes.source import scene_of
from visualize.words.words import Words

SUFFIXES = (".json", ".json.gz")
FORESTS, LESSONS, VIEWER = "forests", "lessons", "viewer"


@dataclass(frozen=True)
class Entry:
    """A trace file of the site."""

    file: Path
    name: str
    """Name of its pages: lower-case letters, digits and hyphens."""
    title: str
    trace: Trace


def export_site(
    traces: str | Path,
    output: str | Path,
    *,
    lessons: str | Path | None = None,
    title: str = "DSBD",
    language: str = "en",
) -> list[str]:
    """Write a static site with a viewer page for every trace file of a folder.

    Args:
        traces: folder with trace files (``.json`` or ``.json.gz``).
        output: folder to write; created if it does not exist. Files of the same names are replaced.
        lessons: folder with lessons (``.md``), which become pages too; None = no lessons.
        title: of the site.
        language: of the sentences and controls.

    Returns: the pages, as paths below ``output``.

    Example:
        >>> visualize.export_site("assets/traces", "site", lessons="assets/lessons")

    Raises:
        TraceError: a folder does not exist, cannot be written, has no trace, or has a damaged one.
        LessonError: a lesson has a mistake.
        ValueError: the language has no table.
    """
    Words(language)
    entries = list(_entries(Path(traces)))
    taught = list(_lessons(Path(lessons))) if lessons is not None else []
    folder = _made(Path(output))
    for below in (FORESTS, VIEWER, *([LESSONS] if taught else [])):
        _made(folder / below)
    copy_plotly(folder / VIEWER)
    write_kit(folder / VIEWER, page_file("site.css"))
    cards = [_write_trace(entry, folder, title, language) for entry in entries]
    for page, _, text in taught:
        write(folder / page, text)
    links = [_write_link(page, lesson, folder) for page, lesson, _ in taught]
    write(folder / "index.html", index_page(cards, links, title=title, language=language))
    return ["index.html", *(card.page for card in cards), *(link.page for link in links)]


def _lessons(folder: Path) -> Iterable[tuple[str, Lesson, str]]:
    """Yield address, lesson and page of every lesson file of a folder, by name. Raises: LessonError, TraceError."""
    if not folder.is_dir():
        raise LessonError(f"{str(folder)!r} is no folder; name one that holds lessons")
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix == ".md")
    if not files:
        raise LessonError(f"no lessons (.md) in {str(folder)!r}; docs/teaching.md shows how to write one")
    taken: set[str] = set()
    kit = shared_kit(f"../{VIEWER}/", page_file("lesson.css"))
    for file in files:
        lesson = read_lesson(file)
        yield (
            f"{LESSONS}/{_free(page_name(file.stem), taken)}.html",
            lesson,
            lesson_page(lesson, kit, back="../index.html"),
        )


def _write_link(page: str, lesson: Lesson, folder: Path) -> LessonLink:
    """Write the pictures of a lesson for the index."""
    picture = page.removesuffix(".html")
    _write_pictures(scene_of(lesson.trace, lesson.language), folder / picture)
    return LessonLink(page, lesson.title, lesson.summary, lesson.count, picture)


def _write_pictures(scene: Scene, place: Path) -> None:
    """Write the forest of the first iteration in both themes."""
    for theme, ending in (("light", ".svg"), ("dark", ".dark.svg")):
        write(f"{place}{ending}", forest_svg(scene, theme=theme))  # type: ignore[arg-type]


def _write_trace(entry: Entry, folder: Path, site: str, language: str) -> Card:
    """Write the page, the pictures and the trace of one entry."""
    scene = scene_of(entry.trace, language)
    place = folder / FORESTS / entry.name
    _write_pictures(scene, place)
    ending = ".json.gz" if entry.file.name.endswith(".gz") else ".json"
    card = Card(entry.title, f"{FORESTS}/{entry.name}.html", f"{entry.name}{ending}", scene)
    write(f"{place}.html", trace_page(card, site=site, name=entry.name, language=language))
    try:
        content = entry.file.read_bytes()
    except OSError as error:
        raise TraceError(f"cannot copy {entry.file.name!r}: {error.strerror or error}") from None
    write(f"{place}{ending}", content)
    return card


def _entries(folder: Path) -> Iterable[Entry]:
    """Yield every trace file of a folder, by name. Raises: TraceError; it names the file."""
    if not folder.is_dir():
        raise TraceError(f"{str(folder)!r} is no folder; name one that holds trace files")
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.endswith(SUFFIXES))
    if not files:
        raise TraceError(f"no trace files (.json, .json.gz) in {str(folder)!r}; record one with decode --trace")
    taken: set[str] = set()
    for file in files:
        try:
            trace = Trace.load(file)
        except TraceError as error:
            raise TraceError(f"{file.name}: {error}") from None
        stem = file.name.removesuffix(".gz").removesuffix(".json")
        name = _free(page_name(stem), taken)
        yield Entry(file, name, _titled(stem), trace)


def page_name(stem: str) -> str:
    """Return a name that is safe in every address and file system."""
    return re.sub(r"[^a-z0-9]+", "-", stem.lower()).strip("-")[:80] or "trace"


def _free(name: str, taken: set[str]) -> str:
    number, found = 1, name
    while found in taken:
        number += 1
        found = f"{name}-{number}"
    taken.add(found)
    return found


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
