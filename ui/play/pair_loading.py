"""The fold "Models": which pair decodes. Each visitor chooses, and the choice is part of each of its calls."""

from typing import Any

import gradio as gr

from ..engine import Engine
from ..pairs.shelf import PAGE, public_key
from ..parts.wiring import PRIVATE


def build_pairs_panel(engine: Engine) -> tuple[gr.State, gr.Radio]:
    """The fold. Returns the key of the visitor's pair, to whose ``change`` parts listen, and where it is chosen."""
    chosen = gr.State(PAGE)

    def choose(key: Any) -> str:
        return next((one for one in engine.pairs.available() if public_key(one) == key), PAGE)

    def offer() -> dict[str, Any]:
        return gr.update(choices=choices(engine))

    with gr.Accordion("Models", open=False, elem_classes="fold", elem_id="models") as fold:
        which = gr.Radio(choices(engine), value=PAGE, label="Pair", elem_id="pair")
    which.change(choose, which, chosen, **PRIVATE)  # only queued events report a changed state
    fold.expand(offer, outputs=which, queue=False, **PRIVATE)
    return chosen, which


def choices(engine: Engine) -> list[tuple[str, str]]:
    """The pairs that can be chosen now: a label, and the public key."""
    return [(engine.pairs.words(key), public_key(key)) for key in engine.pairs.available()]
