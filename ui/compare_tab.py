"""The Compare tab: its parts and how they are wired."""

from functools import partial
from typing import Any

import gradio as gr

from . import compare as handlers
from .components import chart_list, markup
from .decode_tab import ON_GPU, PRIVATE, Form
from .engine import Engine
from .examples import FIRST
from .form import MAX_NEW_TOKENS, MAX_PROMPT_CHARACTERS, method_choices

START = ["dsbd", "beam_sampling", "speculative"]
HINT = (
    "Each method decodes the same prompt with the settings of the Decode tab. After a warm-up the methods take turns, "
    "so that a slow minute of the machine hits all of them; seeds count up from run to run."
)


def build_compare_tab(engine: Engine, form: Form) -> None:
    """The whole tab."""
    with gr.Row(elem_classes="workbench", equal_height=False):
        with gr.Column(elem_classes="sidebar", scale=0, min_width=280), gr.Column(elem_classes="group ask"):
            prompt = gr.Textbox(
                FIRST, label="Prompt", lines=3, max_length=MAX_PROMPT_CHARACTERS, elem_id="compare-prompt"
            )
            methods = gr.CheckboxGroup(method_choices(), value=START, label="Methods", elem_id="compare-methods")
            runs = gr.Slider(1, handlers.MAX_RUNS, 2, step=1, label="Runs of each", buttons=[], elem_id="compare-runs")
            tokens = gr.Slider(8, MAX_NEW_TOKENS, 48, step=1, label="New tokens", buttons=[], elem_id="compare-tokens")
            with gr.Row(elem_classes="actions"):
                run = gr.Button("Compare", variant="primary", elem_id="compare-run")
                stop = gr.Button("Stop", variant="stop", visible=False, elem_id="compare-stop")
        with gr.Column(elem_classes="main", scale=1, min_width=320):
            note = markup(HINT, elem_id="compare-note")
            problem = markup("", elem_id="compare-problem")
            table = markup("", elem_id="compare-table")
            charts = chart_list("", "compare-charts")
    halted_at = gr.State(None)
    outputs = [table, charts, note, problem, run, stop, halted_at]
    begun = run.click(handlers.begin, outputs=outputs, queue=False, **PRIVATE)
    inputs = [prompt, methods, runs, tokens, *form.fields]
    running = begun.then(partial(handlers.run, engine), inputs, outputs, trigger_mode="multiple", **PRIVATE, **ON_GPU)
    running.failure(handlers.broke_off, halted_at, outputs, queue=False, **PRIVATE)
    stop.click(handlers.stopped, outputs=outputs, cancels=[running], queue=False, **PRIVATE)
    _offer(engine)


def _offer(engine: Engine) -> None:
    def compare(
        prompt: str, methods: list[str], runs: int = 1, settings: dict[str, Any] | None = None
    ) -> dict[str, Any]:
        return handlers.compare(engine, prompt, methods, runs, settings)

    compare.__doc__ = handlers.compare.__doc__
    gr.api(compare, api_name="compare", **ON_GPU)
