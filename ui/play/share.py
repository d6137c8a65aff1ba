"""What can be shared of the decode that is shown: a link, two pictures, a page, and its trace."""

from dataclasses import dataclass

import gradio as gr

from ..parts.components import markup
from ..parts.wiring import PRIVATE

CLICK_FILE = "() => setTimeout(() => document.querySelector('#trace-file')?.click(), 120)"
WITH_PLACE = "(place, ...given) => [globalThis.DsbdPage.place(), ...given]"


@dataclass(frozen=True)
class Share:
    """The fold: its buttons, and what they fill."""

    copy: gr.Button
    link: gr.Textbox
    page: gr.Button
    trace: gr.Button
    place: gr.Textbox
    """Where the viewer stands, which the browser says."""
    file: gr.DownloadButton
    said: gr.HTML


def build_share() -> Share:
    """Build the fold. The browser makes the pictures by itself; the rest is wired where the decode is known."""
    with gr.Accordion("Share", open=False, elem_classes="fold", elem_id="sharing"):
        with gr.Row(elem_classes="tools share"):
            copy = gr.Button("Copy link", size="sm", elem_id="share", min_width=0)
            picture = gr.Button("Picture", size="sm", elem_id="picture", min_width=0)
            film = gr.Button("GIF", size="sm", elem_id="gif", min_width=0)
            page = gr.Button("Page at this step", size="sm", elem_id="document", min_width=0)
            trace = gr.Button("Trace", size="sm", elem_id="download", min_width=0)
        label = "Link to this prompt, these settings and this step"
        link = gr.Textbox(label=label, visible=False, buttons=["copy"], interactive=False, elem_id="link")
        said = markup("", elem_id="shared")
        place = gr.Textbox("", visible="hidden", elem_id="place")
        file = gr.DownloadButton("File", visible="hidden", elem_id="trace-file")
    picture.click(None, js="() => globalThis.DsbdPage.shown()?.picture()", **PRIVATE)
    film.click(None, js="() => globalThis.DsbdPage.shown()?.gif()", **PRIVATE)
    return Share(copy, link, page, trace, place, file, said)
