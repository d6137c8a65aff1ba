"""Writes a static site: an index, a viewer page per trace, lessons. It works on any file server, or from a disk."""

import re
from collections.abc import Iterator
from pathlib import Path

from dsbd.errors import LessonError, TraceError
from dsbd.tracing.trace import Trace
from visualize.drawings.svg import forest_svg
from visualize.files import write
from visualize.pages import page_file
from visualize.pages.lesson import Lesson, read_lesson
from visualize.pages.lesson_page import lesson_page
from visualize.pages.site_pages import Card, index_page, trace_page
from visualize.pages.trace_page import copy_plotly
from visualize.pages.viewer_parts import shared_kit, write_kit
from visualize.scenes.records import Scene
from visualize.scenes.source import scene_of
from visualize.words.words import Words

SUFFIXES = (".json", ".json.gz")
FORESTS, LESSONS, VIEWER = "forests", "lessons", "viewer"


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
    cards = list(_cards(Path(traces), language))
    taught = list(_lessons(Path(lessons))) if lessons is not None else []
    folder = _made(Path(output))
    for below in (FORESTS, VIEWER, *([LESSONS] if taught else [])):
        _made(folder / below)
    copy_plotly(folder / VIEWER)
    write_kit(folder / VIEWER, page_file("site.css"))
    for card in cards:
        write(folder / card.page, trace_page(card, site=title, language=language))
        write(folder / FORESTS / card.download, card.content)
        _write_pictures(card.scene, folder / card.picture)
    for lesson, page, text in taught:
        write(folder / page, text)
        _write_pictures(scene_of(lesson.trace, lesson.language), folder / page.removesuffix(".html"))
    pages = {page: lesson for lesson, page, _ in taught}
    write(folder / "index.html", index_page(cards, pages, title=title, language=language))
    return ["index.html", *(card.page for card in cards), *pages]


def _lessons(folder: Path) -> Iterator[tuple[Lesson, str, str]]:
    """Yield each lesson of a folder, by name, with its address and its page. Raises: LessonError, TraceError."""
    if not folder.is_dir():
        raise LessonError(f"{str(folder)!r} is no folder; name one that holds lessons")
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.suffix == ".md")
    if not files:
        raise LessonError(f"no lessons (.md) in {str(folder)!r}; docs/teaching.md shows how to write one")
    taken: set[str] = set()
    kit = shared_kit(f"../{VIEWER}/", page_file("lesson.css"))
    for file in files:
        lesson = read_lesson(file)
        page = f"{LESSONS}/{_free(page_name(file.stem), taken)}.html"
        yield lesson, page, lesson_page(lesson, kit, back="../index.html")


def _write_pictures(scene: Scene, place: Path) -> None:
    """Write the forest of the first iteration in both themes."""
    write(f"{place}.svg", forest_svg(scene))
    write(f"{place}.dark.svg", forest_svg(scene, theme="dark"))


def _cards(folder: Path, language: str) -> Iterator[Card]:
    """Yield every trace file of a folder, by name. Raises: TraceError; it names the file."""
    if not folder.is_dir():
        raise TraceError(f"{str(folder)!r} is no folder; name one that holds trace files")
    files = sorted(path for path in folder.iterdir() if path.is_file() and path.name.endswith(SUFFIXES))
    if not files:
        raise TraceError(f"no trace files (.json, .json.gz) in {str(folder)!r}; record one with decode --trace")
    taken: set[str] = set()
    for file in files:
        try:
            scene = scene_of(Trace.load(file), language)
            content = file.read_bytes()
        except TraceError as error:
            raise TraceError(f"{file.name}: {error}") from None
        except OSError as error:
            raise TraceError(f"cannot copy {file.name!r}: {error.strerror or error}") from None
        stem = file.name.removesuffix(".gz").removesuffix(".json")
        name = _free(page_name(stem), taken)
        yield Card(_titled(stem), f"{FORESTS}/{name}", name + file.name.removeprefix(stem), content, scene)


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
