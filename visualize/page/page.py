"""The page: a masthead and its tabs, and the endpoints for programs."""

import html
import os
from typing import Any

import gradio as gr

from dsbd.util import BUNDLED_PAIRS
from visualize.pages.live import live_words
from visualize.pages.site import ARTICLE

from .about import build_about_tab
from .learn import build_learn_tab
from .middleware import LEARN
from .parts import PRIVATE, read, scripted, without_folders
from .play import build_play_tab, offer_decode
from .race import build_race_tab
from .runner import Runner

TITLE = "DSBD: speculative beams, made visible"
CLEAN_SECONDS = 3600
"""Files and states of visitors are deleted after this time."""
os.environ.setdefault("GRADIO_ANALYTICS_MAX_EVENTS", "100")  # Gradio counts all of them again at each error
WRONG = "A value of the call is missing or of the wrong type for its field; reload the page and try again."


class Page(gr.Blocks):
    """Blocks that refuse wrong values with a sentence; plain Gradio would answer ``{"error": null}``."""

    async def preprocess_data(self, block_fn: Any, inputs: list[Any], *more: Any, **named: Any) -> Any:
        """Return the values of a call for its handler. Raises: gr.Error."""
        try:
            for field, value in zip(block_fn.inputs, inputs, strict=True):
                is_choice = isinstance(field, (gr.Radio, gr.Dropdown))
                if is_choice and not isinstance(value, (str, bool)):  # Gradio lets null pass
                    raise gr.Error(WRONG)
            return await super().preprocess_data(block_fn, inputs, *more, **named)
        except gr.Error as error:
            error.print_exception = False
            error.message = without_folders(str(error.message))
            raise
        except Exception:  # all: a component raises anything for a value of an unexpected type
            raise gr.Error(WRONG, print_exception=False) from None


def build_page(runner: Runner) -> gr.Blocks:
    """Return the page with its queue. All visitors share the runner."""
    with Page(
        title=TITLE, analytics_enabled=False, fill_width=True, delete_cache=(CLEAN_SECONDS, CLEAN_SECONDS)
    ) as page:
        head = _masthead() + '<i data-live="{facts}" hidden></i>'
        scripted("", head, "live.js", "masthead", _live_facts(runner))
        with gr.Tabs(elem_id="tabs") as tabs:
            with gr.Tab("Play", id="play"):
                form = build_play_tab(runner, page)
                form.pair.change(None, form.pair, js="(pair) => globalThis.DsbdPage.offerLive(pair)", **PRIVATE)
            with gr.Tab("Race", id="race"):
                build_race_tab(runner, form)
            with gr.Tab("Learn", id="learn"):
                build_learn_tab(tabs)
            with gr.Tab("About", id="about"):
                build_about_tab(runner)
        offer_decode(runner)

        def stop(request: gr.Request) -> None:
            runner.stop(request.session_hash or "")

        page.unload(stop)
    runner.waiting = lambda: len(page._queue)
    # With api_open, POST /gradio_api/run/decode would bypass the queue, which lets only so many runs begin.
    return page.queue(max_size=runner.limits.max_waiting, api_open=False)


def _masthead() -> str:
    """Return the head of the page; a Space leads to its own source."""
    space = os.environ.get("SPACE_ID", "")
    address = f"https://huggingface.co/spaces/{html.escape(space)}/tree/main"
    source = f'<a href="{address}" target="_blank" rel="noopener">Source</a>' if space else ""
    return read("masthead.html").replace("{article}", f"{LEARN.strip('/')}/{ARTICLE}").replace("{source}", source)


def _live_facts(runner: Runner) -> dict[str, Any]:
    """What the decoder in the browser needs: where its files are, the pairs it has, the page's own, its sentences."""
    return {
        "base": f"{LEARN.strip('/')}/live/",
        "pairs": {f"bundled:{name}": name for name in BUNDLED_PAIRS},
        "first": runner.pairs.first,
        "words": live_words("en"),
    }
