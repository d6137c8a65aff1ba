"""The decode as Plotly figures in the place of the forest, to zoom, pan, select and save, behind a switch.

They are drawn when the visitor first asks for them: they take longer than the steps, and Plotly is large.
"""

from typing import Any

import gradio as gr

from visualize import decode_figure, forest_figure
from visualize.look.states import Theme

from ..decodes import messages
from ..decodes.recording import Recording
from ..parts.components import markup, plotly_figures
from ..parts.files import read
from ..parts.wiring import PRIVATE

IS_DARK = "(shown, dark) => [shown, document.body.classList.contains('dark')]"


def forest_switch() -> gr.HTML:
    """Two buttons: the forest step by step, or as Plotly figures."""
    script = f"(() => {{\n{read('parts/forest_switch.js')}}})();"
    return markup(read("parts/forest_switch.html"), "forest-switch", script=script)


def plotly_view(recording: gr.State, opening: Recording | None) -> None:
    """Build the place of the figures here, of what is shown, or else of what the page opens with."""

    def drawn(shown: Recording | None, dark: Any) -> str:
        return view_of(shown or opening, dark is True)

    figures = plotly_figures("plotly-figures")
    dark = gr.Checkbox(False, visible="hidden", elem_id="plotly-dark")  # a State would not take a value from a script
    asked = gr.Button("Draw", visible="hidden", elem_id="plotly-draw")  # plotly_view.js presses it
    asked.click(drawn, [recording, dark], figures, js=IS_DARK, **PRIVATE)


def view_of(recording: Recording | None, dark: bool) -> str:
    """The figures: each forest as a frame, and the whole decode as one tree; empty without iterations."""
    if not recording:
        return ""
    scene = recording.scene()
    theme: Theme = "dark" if dark else "light"
    return messages.live_figures([forest_figure(scene, "all", theme=theme), decode_figure(scene, theme=theme)])
