"""The drawer "Models": which pair decodes. Each visitor chooses, and the choice is part of each of its calls."""

from collections.abc import Iterator
from typing import Any

import gradio as gr

from ..engine import Engine
from ..pairs.shelf import PAGE, public_key
from ..parts.components import markup
from ..parts.wiring import ON_GPU, PRIVATE, session_of
from ..runs.around import stop_calls
from . import pair_loading as handlers

ONE_FETCH: dict[str, Any] = {"concurrency_id": "fetch", "concurrency_limit": 1}


def build_pairs_panel(engine: Engine) -> tuple[gr.State, gr.Radio]:
    """The drawer. Returns the key of the visitor's pair, to whose ``change`` parts listen, and where it is chosen."""
    chosen = gr.State(PAGE)

    def choose(key: Any) -> str:
        return next((one for one in engine.pairs.available() if public_key(one) == key), PAGE)

    def offer() -> dict[str, Any]:
        return gr.update(choices=handlers.choices(engine))

    with gr.Accordion("Models", open=False, elem_classes="fold", elem_id="models") as drawer:
        which = gr.Radio(handlers.choices(engine), value=PAGE, label="Pair", elem_id="pair")
        if engine.allowed:
            _own_pairs(engine, chosen, which)
    which.change(choose, which, chosen, **PRIVATE)  # only queued events report a changed state
    drawer.expand(offer, outputs=which, queue=False, **PRIVATE)
    return chosen, which


def _own_pairs(engine: Engine, chosen: gr.State, which: gr.Radio) -> None:
    presets = [(f"{one.draft.id} + {one.target.id}", place) for place, one in enumerate(engine.allowed.presets())]
    info = "Nothing is fetched before you press Load"
    shown: dict[str, Any] = {"label": "A known pair", "info": info, "visible": bool(presets), "elem_id": "preset"}
    preset = gr.Dropdown(presets, value=None, filterable=False, **shown)
    target = gr.Textbox(label="Target: folder or hub id", max_lines=1, elem_id="own-target")
    draft = gr.Textbox(label="Draft: folder or hub id, same vocabulary", max_lines=1, elem_id="own-draft")
    with gr.Row(elem_classes="tools"):
        look = gr.Button("What would it take?", size="sm", elem_id="look", min_width=0)
        load = gr.Button("Load", size="sm", variant="primary", visible=False, elem_id="load", min_width=0)
        cancel = gr.Button("Cancel", size="sm", variant="stop", visible=False, elem_id="cancel-load", min_width=0)
    said = markup("", elem_id="models-said")
    ready = gr.State("")
    outputs = [said, load, cancel, ready, chosen, which]

    def fill(place: int | None) -> tuple[Any, Any]:
        if place is None:
            return gr.skip(), gr.skip()
        one = engine.allowed.presets()[place]
        return one.target.id, one.draft.id

    def told(target_name: Any, draft_name: Any) -> handlers.Frame:
        return handlers.look(engine, target_name, draft_name)

    def fetch(request: gr.Request, *names: Any) -> Iterator[handlers.Frame]:
        yield from handlers.fetch(engine, session_of(request), *names)

    def read(request: gr.Request, key: str) -> Iterator[handlers.Frame]:
        yield from handlers.read(engine, session_of(request), key)

    async def cancelled(request: gr.Request) -> handlers.Frame:
        await stop_calls(engine, request, cancel)
        return handlers.cancelled()

    names = [target, draft]
    filled = preset.input(fill, preset, names, queue=False, **PRIVATE)
    filled.then(told, names, outputs, **PRIVATE)
    look.click(told, names, outputs, **PRIVATE)
    other_names = [target.input, draft.input]
    gr.on(other_names, lambda: gr.update(visible=False), outputs=load, queue=False, **PRIVATE)
    fetching = load.click(fetch, names, outputs, **PRIVATE, **ONE_FETCH)
    fetching.then(read, ready, outputs, **PRIVATE, **ON_GPU)
    cancel.click(cancelled, outputs=outputs, queue=False, **PRIVATE)
