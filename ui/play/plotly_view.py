"""The decode as Plotly figures, to zoom, pan, select and save. They are drawn only when the visitor opens the fold."""

from typing import Any

import gradio as gr

from visualize import decode_figure, forest_figure
from visualize.look.states import Theme

from ..decodes import messages
from ..decodes.recording import Recording
from ..parts.components import plotly_figures
from ..parts.wiring import PRIVATE

IS_DARK = "(shown, dark) => [shown, document.body.classList.contains('dark')]"


def plotly_view(recording: gr.State, opening: Recording | None) -> None:
    """Build the fold of the figures here, of what is shown, or else of what the page opens with."""

    def drawn(shown: Recording | None, dark: Any) -> str:
        return view_of(shown or opening, dark is True)

    with gr.Accordion("Plotly: zoom, pan, select, save", open=False, elem_classes="fold", elem_id="plotly") as place:
        figures = plotly_figures("plotly-figures")
    dark = gr.Checkbox(False, visible="hidden", elem_id="plotly-dark")  # a State would not take a value from a script
    place.expand(drawn, [recording, dark], figures, js=IS_DARK, **PRIVATE)


def view_of(recording: Recording | None, dark: bool) -> str:
    """The figures: the whole decode as one tree, and each forest as a frame; empty without iterations."""
    if not recording:
        return ""
    scene = recording.scene()
    theme: Theme = "dark" if dark else "light"
    return messages.live_figures([decode_figure(scene, theme=theme), forest_figure(scene, "all", theme=theme)])
