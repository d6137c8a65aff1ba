"""The Learn tab: lessons and recordings in a frame, for download, and as text to paste. It needs no model.

The pages are those of the static site that ``dsbd site`` writes; it is written once, when somebody asks for the first.
"""

import re
import tempfile
import threading
from functools import lru_cache
from html import escape
from pathlib import Path
from typing import Any, NamedTuple
from urllib.parse import urlsplit, urlunsplit

import gradio as gr
from starlette.requests import Request
from starlette.responses import FileResponse, PlainTextResponse, Response

from dsbd.errors import DsbdError
from dsbd.util import asset_path
from visualize import embed_snippet, export_html, export_lesson, export_site
from visualize.embed import Kind
from visualize.files import TEMPLATES
from visualize.pages.lesson import read_lesson
from visualize.pages.site import ARTICLE, FORESTS, LESSONS, page_name

from .limits import LOCAL
from .middleware import LEARN
from .parts import PRIVATE, markup, without_folders
from .recordings import recorded, title_of

WHAT = (
    f'Lessons with questions; they need no model. Or scroll through <a href="{LEARN.strip("/")}/{ARTICLE}" '
    'target="_blank" rel="noopener">how it works</a>, with a lab to count for yourself.'
)
EMBED = "Show this page in your own course: choose where, copy the text, and paste it there."
ELSEWHERE = "https://example.org/"
"""The address of this page in a snippet, if the browser does not say it."""
KINDS: dict[Kind, str] = {
    "iframe": "Any HTML page, Moodle, WordPress", "jupyter": "Jupyter notebook", "reveal": "Slides (reveal.js)",
}  # fmt: skip
WHOLE = "whole"
"""Folder of the pages that are one file, for download."""
_PAGE = re.compile(r"[a-z0-9-]+(/\w[\w.-]*)*\.(html|css|m?js|svg|json(\.gz)?|wasm\.gz|onnx|safetensors)", re.ASCII)
_lock = threading.Lock()


class Entry(NamedTuple):
    """A lesson or a recording."""

    title: str
    summary: str
    page: str
    """Address below the site."""
    source: Path
    """The lesson's file, or the recording itself."""
    name: str = ""
    """Of a recording."""

    @property
    def whole(self) -> str:
        """Address of the page as one file."""
        return f"{WHOLE}/{'forest-' if self.name else ''}{Path(self.page).name}"


@lru_cache(maxsize=1)
def entries() -> tuple[Entry, ...]:
    """Return every lesson, then every recording. Raises: LessonError."""
    read = [(path, read_lesson(path)) for path in sorted(asset_path("lessons").glob("*.md"))]
    lessons = (Entry(one.title, one.summary, f"{LESSONS}/{page_name(path.stem)}.html", path) for path, one in read)
    paths = ((name, asset_path("traces") / f"{name}.json.gz") for name in recorded())
    forests = (Entry(title_of(name), "", f"{FORESTS}/{page_name(name)}.html", path, name) for name, path in paths)
    return (*lessons, *forests)


def build_learn_tab(tabs: gr.Tabs) -> None:
    """Build the tab. The recording that it shows can be opened in Play, one of ``tabs``."""
    lessons = [(f"{number} {one.title}", one.page) for number, one in enumerate(entries(), 1) if not one.name]
    recordings = [(one.title, one.page) for one in entries() if one.name]
    start = [*lessons, *recordings][0][1]
    with gr.Column(elem_classes="learn"):
        lesson = gr.Radio(
            lessons, value=start, label="Lessons", show_label=False, container=False, elem_id="learn-lessons"
        )
        with gr.Row(elem_classes="learn-tools", equal_height=False):
            markup(f"<p>{WHAT}</p>", "learn-what")
            play = gr.Button("Open in Play", interactive=False, elem_id="learn-play", min_width=0)
            recording = gr.Dropdown(
                [("Choose one …", ""), *recordings], value="", label="Recorded decodes", filterable=False,
                elem_id="learn-recordings", min_width=0,
            )  # fmt: skip
        staged = markup(stage(start), "learn-stage")
        with gr.Accordion("Embed this", open=False, elem_classes="fold") as embed:
            markup(f'<p class="said">{EMBED}</p>')
            offered = [(words, name) for name, words in KINDS.items()]
            kind = gr.Dropdown(offered, value="iframe", label="Where", filterable=False, elem_id="learn-kind")
            hosting = markup("", elem_id="learn-hosting")
            text = gr.Textbox(
                label="Text to paste", buttons=["copy"], interactive=False, lines=6, max_lines=12,
                elem_id="learn-snippet",
            )  # fmt: skip
    shown = gr.State(start)

    def show(page: str) -> dict[Any, Any]:
        if not page:
            return {}
        is_lesson = any(page == lesson_page for _, lesson_page in lessons)
        other = {recording: ""} if is_lesson else {lesson: None}
        return {staged: stage(page), shown: page, play: gr.update(interactive=not is_lesson), **other}

    def paste(request: gr.Request, page: str, kind: Kind) -> tuple[str, str]:
        address = request.headers.get("referer")
        return hosting_note(address), snippet(page, kind, address)

    pasted = {"inputs": [shown, kind], "outputs": [hosting, text], "queue": False, **PRIVATE}
    for chooser in (lesson, recording):
        event = chooser.input(show, chooser, [staged, shown, lesson, recording, play], queue=False, **PRIVATE)
        event.then(paste, **pasted)
    kind.input(paste, **pasted)
    embed.expand(paste, **pasted)
    names = {one.page: one.name for one in entries()}
    name = gr.Textbox("", visible="hidden")
    opened = play.click(
        lambda page: {tabs: gr.Tabs(selected="play"), name: names.get(page, "")}, shown, [tabs, name], queue=False,
        **PRIVATE,
    )  # fmt: skip
    js = "(name) => { scrollTo(0, 0); if (name) globalThis.DsbdPage.choose(name); }"
    opened.then(None, name, js=js, **PRIVATE)


def _entry(page: Any) -> Entry | None:
    return next((one for one in entries() if one.page == page), None)


def stage(page: Any) -> str:
    """Return markup: the links of a lesson or recording, and its page in a frame."""
    return TEMPLATES.get_template("page/learn.html").render(entry=_entry(page), learn=LEARN.strip("/"))


def snippet(page: Any, kind: Any, address: str | None) -> str:
    """Return text to paste elsewhere, which shows a lesson or recording there.

    ``address`` is that of this page, as the visitor's browser says it.
    """
    entry = _entry(page)
    if entry is None or kind not in KINDS:
        return ""
    return embed_snippet(f"{_base(address)}{LEARN.lstrip('/')}{entry.page}", kind, title=entry.title)


def hosting_note(address: str | None) -> str:
    """Return markup: what the text to paste needs; empty if nothing."""
    name = urlsplit(_base(address)).hostname
    if name not in LOCAL:
        return ""
    return (
        f'<p class="said">{escape(name or "")} is your own machine: this text works there only, while this page runs. '
        "For others press “Download as one HTML file” above, put the file on any web space, such as that of your "
        "course, and write its address instead.</p>"
    )


def _base(address: str | None) -> str:
    """Return the address of the page up to its path."""
    try:
        parts = urlsplit(address or "")
    except ValueError:
        return ELSEWHERE
    if parts.scheme not in ("http", "https") or not parts.netloc or any(sign.isspace() for sign in address or ""):
        return ELSEWHERE
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + "/", "", ""))


@lru_cache(maxsize=1)
def _home() -> tempfile.TemporaryDirectory[str]:
    """Write the site. Raises: TraceError, LessonError."""
    folder = tempfile.TemporaryDirectory(prefix="dsbd-learn-")
    lessons, article = (path if path.exists() else None for path in map(asset_path, ("lessons", "article/article.md")))
    export_site(asset_path("traces"), folder.name, lessons=lessons, article=article, live=True)
    (Path(folder.name) / WHOLE).mkdir()
    return folder


def learn_page(request: Request) -> Response:
    """Answer with one file of the site. Starlette calls this in a thread, so nobody waits while the site is written."""
    path = request.path_params["path"] or "index.html"
    try:
        with _lock:
            home = Path(_home().name)
            if path.startswith(f"{WHOLE}/"):
                return _whole(home, path)
    except (DsbdError, OSError) as error:
        return PlainTextResponse(f"The lessons cannot be shown: {without_folders(str(error))}.", 500)
    file = home / path
    return FileResponse(file) if _PAGE.fullmatch(path) and file.is_file() else _missing()


def _whole(home: Path, path: str) -> Response:
    entry = next((one for one in entries() if one.whole == path), None)
    if entry is None:
        return _missing()
    file = home / path
    if not file.is_file():
        (export_html if entry.name else export_lesson)(entry.source, file)
    return FileResponse(file, filename=file.name)


def _missing() -> Response:
    return PlainTextResponse("There is no such lesson or recording here.", 404)
