"""The Learn tab: lessons and recordings, on the page and for download. It needs no model."""

from functools import partial
from html import escape
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit, urlunsplit

import gradio as gr

from dsbd.errors import DsbdError, TraceError
from dsbd.tracing.trace import Trace
from visualize import embed_snippet
from visualize.notebook import HEIGHT
from visualize.embed import Kind, file_cell

from ..decodes.history import LESSON
from ..decodes.recording import Recording
from ..engine import Engine
from ..host.listening import LOCAL
from ..parts.components import markup
from ..parts.files import LEARN, read
from ..parts.wiring import PRIVATE
from ..play.shown import said_of
from ..play.tab import Play
from ..runs.decode import Frame, failed, frame_of
from .site import Place, places

EMBED = "Show this page in your own course: choose where, copy the text, and paste it there."
WHAT = "Seven lessons on dynamic-width speculative beam decoding (DSBD), with questions. They need no model."
TO_TOP = "() => scrollTo(0, 0)"
ELSEWHERE = "https://example.org/"
"""The address of this page in a snippet, if the browser does not say it."""
KINDS: dict[Kind, str] = {
    "iframe": "Any HTML page",
    "jupyter": "Jupyter notebook",
    "quarto": "Quarto",
    "myst": "MyST",
    "reveal": "Slides (reveal.js)",
    "moodle": "Moodle",
    "wordpress": "WordPress",
}
DECK_HEIGHT = 620


def build_learn_tab(engine: Engine, play: Play, tabs: gr.Tabs) -> None:
    """The whole tab. The decode that it shows can be opened in Play, one of ``tabs``."""
    lessons, recordings = choices(lessons=True), choices(lessons=False)
    start = next((address for _, address in [*lessons, *recordings]), "")
    with gr.Column(elem_classes="learn"):
        markup(f'<p class="said">{WHAT}</p>')
        lesson = gr.Radio(lessons, value=start, label="Lessons", visible=bool(lessons), elem_id="learn-lessons")
        with gr.Row(elem_classes="learn-tools", equal_height=False):
            recording = gr.Dropdown(
                recordings, value=None, label="Recorded decodes", filterable=False, visible=bool(recordings),
                elem_id="learn-recordings", min_width=0,
            )  # fmt: skip
            step_through = gr.Button("Open in Play", visible=bool(start), elem_id="learn-play", min_width=0)
        staged = markup(stage(start), "learn-stage", read("parts/learn.js"))
        with gr.Accordion("Embed this", open=False, elem_classes="fold") as embed:
            markup(f'<p class="said">{EMBED}</p>')
            offered = [(words, name) for name, words in KINDS.items()]
            kind = gr.Dropdown(offered, value="iframe", label="Where", filterable=False, elem_id="learn-kind")
            hosting = markup("", elem_id="learn-hosting")
            text = gr.Textbox(
                label="Text to paste", buttons=["copy"], interactive=False, lines=6, max_lines=12,
                elem_id="learn-snippet",
            )  # fmt: skip
    chosen_page = gr.State(start)

    def pasted(request: gr.Request, page: str, kind: Kind) -> tuple[str, str]:
        address = request.headers.get("referer")
        return hosting_said(kind, address), snippet(page, kind, address)

    opened = step_through.click(lambda: gr.Tabs(selected="play"), outputs=tabs, queue=False, **PRIVATE)
    play.show(opened.then, partial(open_in_play, engine), [play.form.pair, chosen_page])
    opened.then(None, js=TO_TOP, **PRIVATE)
    outputs = [staged, chosen_page, lesson, recording]
    for given in (lesson, recording):
        chosen = given.input(_shown_by(given is lesson), given, outputs, queue=False, **PRIVATE)
        chosen.then(pasted, [chosen_page, kind], [hosting, text], queue=False, **PRIVATE)
    for event in (kind.input, embed.expand):
        event(pasted, [chosen_page, kind], [hosting, text], queue=False, **PRIVATE)


def _shown_by(is_lesson: bool) -> Any:
    """The handler of a choice; it clears the other list."""

    def shown(page: str) -> list[Any]:
        forgotten = [gr.skip(), gr.update(value=None)] if is_lesson else [gr.update(value=None), gr.skip()]
        return [stage(page), page, *forgotten]

    return shown


def choices(*, lessons: bool) -> list[tuple[str, str]]:
    """Title and address of every lesson, or of every recording."""
    found = [place for place in places() if place.is_lesson is lessons]
    return [
        (f"{number} {place.title}" if lessons else place.title, place.page) for number, place in enumerate(found, 1)
    ]


def stage(page: Any) -> str:
    """Markup: the links of a lesson or recording, and its page in a frame."""
    place = _place(page)
    if place is None:
        return '<p class="said">There is no such lesson or recording.</p>'
    title, address = escape(place.title), f"{LEARN}{place.page}"
    head = "" if place.is_lesson else f'<h2 translate="no">{title}</h2>'
    hand_out = "Open alone, or print the hand-out" if place.is_lesson else "Open alone"
    links = (
        f'<a href="{address}" target="_blank" rel="noopener">{hand_out}</a>'
        f'<a href="{LEARN}{place.whole}" download>Download as one HTML file</a>'
    )
    summary = f'<p lang="en" translate="no">{escape(place.summary)}</p>' if place.summary else ""
    return (
        f'<div class="learn-head">{head}{summary}<p class="learn-links">{links}</p></div>'
        f'<p class="learn-loading" role="status">Loading the {"lesson" if place.is_lesson else "recording"}…</p>'
        f'<iframe class="learn-frame" src="{address}" title="{title}" translate="no" loading="lazy"></iframe>'
    )


def snippet(page: Any, kind: Kind, address: str | None) -> str:
    """Text to paste elsewhere, which shows a lesson or recording there.

    ``address`` is that of this page, as the visitor's browser says it.
    """
    place = _place(page)
    if place is None or kind not in list(KINDS):
        return ""
    if kind == "jupyter":
        return file_cell(Path(place.whole).name, title=place.title)
    height = DECK_HEIGHT if kind == "reveal" else HEIGHT
    return embed_snippet(f"{_base(address)}{LEARN}{place.page}", kind, title=place.title, height=height)


def hosting_said(kind: Kind, address: str | None) -> str:
    """Markup: what the text to paste needs; empty if nothing."""
    if kind == "jupyter":
        return (
            '<p class="said">First press “Download as one HTML file” above, and put the file beside the notebook. '
            "Once the cell has run, the notebook carries the page and needs neither the file nor this server.</p>"
        )
    name = urlsplit(_base(address)).hostname
    if name not in LOCAL:
        return ""
    return (
        f'<p class="said">The address {escape(name or "")} in this text means the machine that it is opened on: it '
        "works on your machine only, while this page runs. For others, press “Download as one HTML file” above, "
        "put the file on any web space, such as that of your course, and write its address instead.</p>"
    )


def open_in_play(engine: Engine, pair: str, page: Any) -> Frame:
    """The decode of a lesson or recording, for Play. ``pair``: the key of the visitor's pair."""
    try:
        place = _place(page)
        if place is None:
            raise TraceError("there is no such lesson or recording; choose one of the list")
        recording = Recording(Trace.load(place.trace))
        words = f"{escape(place.title)}. {said_of(engine, pair, recording)}"
        return frame_of(recording, words)._replace(news=(LESSON, recording))
    except DsbdError as error:
        return failed(error)


def _place(page: Any) -> Place | None:
    return next((place for place in places() if place.page == page), None)


def _base(address: str | None) -> str:
    """The address of the page up to its path."""
    try:
        parts = urlsplit(address or "")
    except ValueError:
        return ELSEWHERE
    if parts.scheme not in ("http", "https") or not parts.netloc or any(sign.isspace() for sign in address or ""):
        return ELSEWHERE
    return urlunsplit((parts.scheme, parts.netloc, parts.path.rstrip("/") + "/", "", ""))
