"""Run in the visitor's own browser: the button, and what its script must know."""

import json
from functools import partial
from typing import Any

import gradio as gr

from dsbd.errors import DsbdError, SettingsError
from visualize.pages.live_files import FOLDER
from visualize.pages.live_parts import METHODS, asked

from ..asked.form import check_prompt, method_choices, method_label, settings_of
from ..engine import Engine
from ..pairs.shelf import BUNDLED_KEYS, public_key
from ..parts.components import live_run
from ..parts.files import LEARN
from ..parts.wiring import PRIVATE
from ..runs.sentences import sentence
from .following import hidden
from .play_form import Form

TELL = "(told) => document.dispatchEvent(new CustomEvent('dsbd-live-asked', {detail: told}))"


def build_live_run(engine: Engine, form: Form) -> None:
    """The button. A bundled pair decodes in the browser, with the methods that it has there."""
    own = {key: _in_browser(engine, key) for key in engine.pairs.available()}
    live_run(
        {
            "base": f"{LEARN}{FOLDER}/",
            "methods": {label: method for label, method in method_choices() if method in METHODS},
            "pairs": {public_key(key): name.partition(":")[2] for key, name in own.items() if name},
        }
    )
    ask, told = gr.Button(visible="hidden", elem_id="live-ask"), hidden("live-told")
    done = ask.click(partial(tell, engine), form.inputs, told, queue=False, **PRIVATE)
    done.then(None, told, js=TELL, **PRIVATE)


def tell(engine: Engine, pair: str, prompt: Any, method: Any, *values: Any) -> str:
    """Return what the form asks for as JSON: ``prompt``, ``settings`` and the bundled ``pair``; or an ``error``."""
    try:
        text, settings = check_prompt(prompt, engine.limits), settings_of(method, values)
        if settings.method not in METHODS:
            raise SettingsError(f"{method_label(settings.method)} does not run in a browser; choose another method")
    except DsbdError as error:
        return json.dumps({"error": sentence(error)})
    name = _in_browser(engine, pair)
    return json.dumps({"prompt": text, "settings": asked(vars(settings)), "pair": name.partition(":")[2]})


def _in_browser(engine: Engine, key: str) -> str:
    """Return the key of the bundled pair that this key names, if browsers have it; a memory they have not."""
    name = engine.pairs.bundled(key)
    return name if name in BUNDLED_KEYS else ""
