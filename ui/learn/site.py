"""The lessons and recordings as separate pages on this server: the static site that ``dsbd site`` writes.

It is written once, when somebody asks for the first page. It needs no model.
"""

import re
import tempfile
import threading
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from dsbd.assets import asset_path
from dsbd.errors import DsbdError
from visualize import export_html, export_lesson, export_site
from visualize.pages.lesson import read_lesson
from visualize.pages.site import FORESTS, LESSONS, page_name

from ..decodes.traces import recorded_traces
from ..pairs.names import without_folders

WHOLE = "whole"
"""Folder of the pages that are one file, for download."""
_PAGE = re.compile(r"[a-z0-9-]+(/\w[\w.-]*)*\.(html|css|m?js|svg|json(\.gz)?|wasm\.gz|onnx|safetensors)", re.ASCII)
_lock = threading.Lock()


class Place(NamedTuple):
    """A lesson or a recording."""

    title: str
    summary: str
    page: str
    """Address below the site."""
    source: Path
    """The lesson's file, or the recording itself."""
    trace: Path
    """The recorded decode."""

    @property
    def is_lesson(self) -> bool:
        """Whether it has questions."""
        return self.source.suffix == ".md"

    @property
    def whole(self) -> str:
        """Address of the page as one file."""
        return f"{WHOLE}/{Path(self.page).name}" if self.is_lesson else f"{WHOLE}/forest-{Path(self.page).name}"


@lru_cache(maxsize=1)
def places() -> tuple[Place, ...]:
    """Every lesson, then every recording. Raises: LessonError."""
    found = []
    for path in sorted(asset_path("lessons").glob("*.md")):
        lesson = read_lesson(path)
        found.append(Place(lesson.title, lesson.summary, f"{LESSONS}/{page_name(path.stem)}.html", path, lesson.trace))
    for title, name in recorded_traces():
        path = asset_path("traces") / f"{name}.json.gz"
        found.append(Place(title, "", f"{FORESTS}/{page_name(name)}.html", path, path))
    return tuple(found)


@lru_cache(maxsize=1)
def _home() -> tempfile.TemporaryDirectory[str]:
    """The site, written. Raises: TraceError, LessonError."""
    folder = tempfile.TemporaryDirectory(prefix="dsbd-learn-")
    lessons, article = (path if path.exists() else None for path in map(asset_path, ("lessons", "article/article.md")))
    export_site(asset_path("traces"), folder.name, lessons=lessons, article=article, live=True)
    (Path(folder.name) / WHOLE).mkdir()
    return folder


def learn_page(request: Request) -> Response:
    """One file of the site. Starlette calls this in a thread, so that nobody waits while the site is written."""
    asked = request.path_params["path"] or "index.html"
    try:
        with _lock:
            home = Path(_home().name)
            if asked.startswith(f"{WHOLE}/"):
                return _whole(home, asked)
    except (DsbdError, OSError) as error:
        return PlainTextResponse(f"The lessons cannot be shown: {without_folders(str(error))}.", 500)
    file = home / asked
    if not _PAGE.fullmatch(asked) or not file.is_file():
        return PlainTextResponse("There is no such lesson or recording here.", 404)
    return FileResponse(file)


def _whole(home: Path, asked: str) -> Response:
    place = next((one for one in places() if one.whole == asked), None)
    if place is None:
        return PlainTextResponse("There is no such lesson or recording here.", 404)
    file = home / asked
    if not file.is_file():
        write = export_lesson if place.is_lesson else export_html
        write(place.source, file)
    return FileResponse(file, filename=file.name)
