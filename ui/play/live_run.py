"""Run in the visitor's own browser: the button, and what its script must know. The server takes no part in a run."""

import gradio as gr

from visualize.pages.live import FOLDER
from visualize.pages.live import METHODS, live_words

from ..asked.form import FIELDS, is_read
from ..engine import Engine
from ..pairs.shelf import BUNDLED_KEYS, public_key
from ..parts.components import live_run
from ..parts.files import LEARN
from ..parts.wiring import PRIVATE
from .play_form import Form

TELL = "(...form) => document.dispatchEvent(new CustomEvent('dsbd-live-asked', {detail: form}))"


def build_live_run(engine: Engine, form: Form) -> None:
    """The button. A bundled pair decodes in the browser, with the methods that it has there."""
    own = {key: engine.pairs.bundled(key) for key in engine.pairs.available()}
    live_run(
        {
            "base": f"{LEARN}{FOLDER}/",
            "pairs": {public_key(key): name.partition(":")[2] for key, name in own.items() if name in BUNDLED_KEYS},
            "fields": [field.name for field in FIELDS],
            "reads": {method: [one.name for one in FIELDS if is_read(method, one.name)] for method in METHODS},
            "labels": {field.name: field.label for field in FIELDS},
            "words": live_words("en"),
            "zeroIsNull": [field.name for field in FIELDS if field.zero_is_none],
        }
    )
    ask = gr.Button(visible="hidden", elem_id="live-ask")  # live.js presses it
    ask.click(None, [form.pairs, *form.filled], js=TELL, **PRIVATE)
