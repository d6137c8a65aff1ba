"""The drawer "Models": which pair decodes. The choice is the visitor's own and travels with each of its calls."""

from typing import Any

import gradio as gr

from .engine import Engine
from .pair_shelf import PAGE
from .wiring import PRIVATE


def build_pairs_panel(engine: Engine) -> gr.State:
    """The drawer. Returns the key of the visitor's pair; whatever depends on the pair listens to its ``change``."""
    chosen = gr.State(PAGE)

    def choices() -> list[tuple[str, str]]:
        return [(engine.pairs.words(key), key) for key in engine.pairs.available()]

    def choose(key: Any) -> str:
        return key if key in engine.pairs.available() else PAGE

    with gr.Accordion("Models", open=False, elem_classes="fold", elem_id="models"):
        which = gr.Radio(choices(), value=PAGE, label="Pair", elem_id="pair")
    which.input(choose, which, chosen, **PRIVATE)  # only queued events tell of a changed state
    return chosen
