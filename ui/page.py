"""The page: a masthead and three tabs."""

import gradio as gr

from .compare_tab import build_compare_tab
from .components import markup
from .decode_tab import build_decode_tab
from .engine import Engine
from .serving import read

TITLE = "DSBD: speculative beams, made visible"
CLEAN_EVERY_SECONDS = 600


def build_page(engine: Engine) -> gr.Blocks:
    """The page with its queue; launch it with ``launch_options(engine)``.

    Args:
        engine: shared by all visitors; one decode runs at a time.
    """
    kept = engine.limits.file_seconds
    with gr.Blocks(
        title=TITLE, analytics_enabled=False, fill_width=True, delete_cache=(min(CLEAN_EVERY_SECONDS, kept), kept)
    ) as page:
        gr.HTML(read("masthead.html"), js_on_load=read("theme.js"), apply_default_css=False, elem_id="masthead")
        with gr.Tabs(elem_id="tabs"):
            with gr.Tab("Decode", id="decode"):
                form = build_decode_tab(engine)
            with gr.Tab("Compare", id="compare"):
                build_compare_tab(engine, form)
            with gr.Tab("About", id="about"):
                markup(read("about.html"), elem_id="about")
    # Without api_open=False, POST /gradio_api/run/decode would pass by the queue and its one run at a time.
    return page.queue(max_size=engine.limits.max_waiting, api_open=False)
