"""The Learn tab: lessons and recordings, on the page and for download. It needs no model."""

from functools import partial
from typing import Any

import gradio as gr

from visualize.embed.snippets import Kind

from ..engine import Engine
from ..parts.components import markup
from ..parts.files import read
from ..parts.wiring import PRIVATE
from ..play.tab import Play
from . import content as handlers

EMBED = "Show this page in your own course: choose where, copy the text, and paste it there."
WHAT = "Five lessons on dynamic-width speculative beam decoding (DSBD), with questions. They need no model."
TO_TOP = "() => scrollTo(0, 0)"


def build_learn_tab(engine: Engine, play: Play, tabs: gr.Tabs) -> None:
    """The whole tab. The decode that it shows can be opened in Play, one of ``tabs``."""
    lessons, recordings = handlers.choices(lessons=True), handlers.choices(lessons=False)
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
        stage = gr.HTML(
            handlers.stage(start), js_on_load=read("parts/learn.js"), apply_default_css=False, elem_id="learn-stage"
        )
        with gr.Accordion("Embed this", open=False, elem_classes="fold") as embed:
            markup(f'<p class="said">{EMBED}</p>')
            kind = gr.Dropdown(handlers.kinds(), value="iframe", label="Where", filterable=False, elem_id="learn-kind")
            hosting = markup("", elem_id="learn-hosting")
            text = gr.Textbox(
                label="Text to paste", buttons=["copy"], interactive=False, lines=6, max_lines=12,
                elem_id="learn-snippet",
            )  # fmt: skip
    shown = gr.State(start)

    def snippet(request: gr.Request, page: str, kind: Kind) -> tuple[str, str]:
        address = request.headers.get("referer")
        return handlers.hosting_said(kind, address), handlers.snippet(page, kind, address)

    opened = step_through.click(lambda: gr.Tabs(selected="play"), outputs=tabs, queue=False, **PRIVATE)
    play.show(opened.then, partial(handlers.open_in_play, engine), [play.form.pair, shown])
    opened.then(None, js=TO_TOP, **PRIVATE)
    outputs = [stage, shown, lesson, recording]
    for given in (lesson, recording):
        chosen = given.input(_shown_by(given is lesson), given, outputs, queue=False, **PRIVATE)
        chosen.then(snippet, [shown, kind], [hosting, text], queue=False, **PRIVATE)
    for event in (kind.input, embed.expand):
        event(snippet, [shown, kind], [hosting, text], queue=False, **PRIVATE)


def _shown_by(is_lesson: bool) -> Any:
    """The handler of a choice; it clears the other list."""

    def shown(page: str) -> list[Any]:
        forgotten = [gr.skip(), gr.update(value=None)] if is_lesson else [gr.update(value=None), gr.skip()]
        return [handlers.stage(page), page, *forgotten]

    return shown
