"""The page: a masthead and its tabs."""

import inspect
import os
from typing import Any

import gradio as gr

from .about.tab import build_about_tab
from .engine import Engine
from .learn.tab import build_learn_tab
from .pairs.names import without_folders
from .parts.components import masthead
from .parts.sharing import TITLE
from .play.tab import build_play_tab
from .programs import offer_to_programs
from .race.tab import build_race_tab

CLEAN_EVERY_SECONDS = 600
EVENTS_KEPT = "100"


class Page(gr.Blocks):
    """Blocks that refuse wrong values with a sentence; plain Gradio would answer ``{"error": null}``."""

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], *more: Any, **named: Any) -> Any:
        """The values of a call for its handler; a program may leave out the last values. Raises: gr.Error."""
        wanted, is_offered = len(block_fn.inputs), block_fn.api_visibility == "public"
        given = len(inputs)
        if is_offered:
            defaults = _defaults(block_fn.fn)
            inputs = [*inputs, *list(defaults.values())[given:]]
            least = sum(value is inspect.Parameter.empty for value in defaults.values())
            if not least <= given <= wanted:
                needed = f"{least} to {wanted}" if least < wanted else str(wanted)
                words = f"The call has {given} values and needs {needed} ({', '.join(defaults)})."
                raise gr.Error(words, print_exception=False)
        try:
            return await super().preprocess_data(block_fn, inputs, *more, **named)
        except gr.Error as error:
            error.print_exception = False
            error.message = without_folders(str(error.message))
            raise
        except Exception:  # all: a component raises anything for a value of an unexpected type
            words = "A value of the call is missing or of the wrong type for its field; reload the page and try again."
            raise gr.Error(words, print_exception=False) from None


def _defaults(handler: Any) -> dict[str, Any]:
    """The parameters of an endpoint's handler, each with its default."""
    parameters = inspect.signature(handler).parameters
    return {name: parameter.default for name, parameter in parameters.items() if name != "request"}


def build_page(engine: Engine) -> gr.Blocks:
    """The page with its queue; launch it with ``launch_options(engine)``. All visitors share the engine."""
    os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", EVENTS_KEPT)  # Gradio counts all of them again at each error
    kept = engine.limits.file_seconds
    with Page(
        title=TITLE, analytics_enabled=False, fill_width=True, delete_cache=(min(CLEAN_EVERY_SECONDS, kept), kept)
    ) as page:
        masthead()
        with gr.Tabs(elem_id="tabs") as tabs:
            with gr.Tab("Play", id="play"):
                play = build_play_tab(engine, page)
            with gr.Tab("Race", id="race"):
                build_race_tab(engine, play.form)
            with gr.Tab("Learn", id="learn"):
                build_learn_tab(engine, play, tabs)
            with gr.Tab("About", id="about"):
                build_about_tab(engine)
        offer_to_programs(engine)
    # With api_open, POST /gradio_api/run/decode would bypass the queue, which lets one run at a time begin.
    return page.queue(max_size=engine.limits.max_waiting, api_open=False)
