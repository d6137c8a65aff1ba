"""The Race tab: its parts and how they are wired."""

from collections.abc import Iterator
from typing import Any

import gradio as gr

from . import compare as handlers
from .components import chart_list, markup, problem_line
from .engine import Engine
from .examples import examples_for
from .form import method_choices
from .pair_shelf import PAGE
from .play_tab import Form
from .wiring import ON_GPU, PRIVATE, place_shown_on, session_of

START = ["dsbd", "beam_sampling", "speculative"]
HINT = (
    "Each method decodes the same prompt with the settings of the Play tab. After a warm-up the methods take turns, "
    "so that a slow minute of the machine hits all of them; seeds count up from run to run."
)


def build_race_tab(engine: Engine, form: Form) -> None:
    """The whole tab."""
    first = next(iter(examples_for(engine.pair.target.id).values()))
    most_runs, most_tokens = engine.limits.max_compared_runs, engine.limits.max_new_tokens
    with gr.Row(elem_classes="workbench", equal_height=False):
        with gr.Column(elem_classes="sidebar", scale=0, min_width=280), gr.Column(elem_classes="group ask"):
            prompt = gr.Textbox(first, label="Prompt", lines=3, elem_id="compare-prompt")
            methods = gr.CheckboxGroup(method_choices(), value=START, label="Methods", elem_id="compare-methods")
            runs = gr.Slider(
                1, most_runs, min(2, most_runs), step=1, label="Runs of each", buttons=[], elem_id="compare-runs"
            )
            tokens = gr.Slider(
                1, most_tokens, min(48, most_tokens), step=1, label="New tokens", buttons=[], elem_id="compare-tokens"
            )
            with gr.Row(elem_classes="actions"):
                run = gr.Button("Compare", variant="primary", elem_id="compare-run")
                stop = gr.Button("Stop", variant="stop", visible=False, elem_id="compare-stop")
        with gr.Column(elem_classes="main", scale=1, min_width=320):
            note = markup(HINT, elem_id="compare-note")
            problem = problem_line("compare-problem")
            table = markup("", elem_id="compare-table")
            charts = chart_list("", "compare-charts")
    halted_at = gr.State(None)
    outputs = [table, charts, note, problem, run, stop, halted_at]
    _wire(engine, run, stop, [form.pair, prompt, methods, runs, tokens, *form.fields], outputs)
    _offer(engine)


def _wire(engine: Engine, run: gr.Button, stop: gr.Button, inputs: list[Any], outputs: list[Any]) -> None:
    def begin(request: gr.Request) -> handlers.Frame:
        return handlers.begin(engine, session_of(request))

    def compared(request: gr.Request, pair: str, *given: Any) -> Iterator[handlers.Frame]:
        yield from handlers.run(engine, session_of(request), *given, pair=pair)

    def broke_off(request: gr.Request, halted_at: float | None) -> handlers.Frame:
        return handlers.broke_off(engine, session_of(request), halted_at)

    def stopped(request: gr.Request) -> handlers.Frame:
        return handlers.stopped(engine, session_of(request))

    begun = run.click(begin, outputs=outputs, queue=False, **PRIVATE)
    shown = place_shown_on(outputs[2])
    running = begun.then(compared, inputs, outputs, trigger_mode="multiple", **shown, **ON_GPU)
    running.failure(broke_off, outputs[-1], outputs, queue=False, **PRIVATE)
    stop.click(stopped, outputs=outputs, cancels=[running], queue=False, **PRIVATE)


def _offer(engine: Engine) -> None:
    def compare(
        request: gr.Request,
        prompt: str,
        methods: list[str],
        runs: int = 1,
        settings: dict[str, Any] | None = None,
        pair: str = PAGE,
    ) -> dict[str, Any]:
        return handlers.compare(engine, session_of(request), prompt, methods, runs, settings, pair)

    compare.__doc__ = handlers.compare.__doc__
    gr.api(compare, api_name="compare", **ON_GPU)
