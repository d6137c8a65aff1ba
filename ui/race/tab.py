"""The Race tab: its parts and how they are wired."""

from collections.abc import Iterator
from functools import partial
from typing import Any

import gradio as gr

from ..asked.examples import examples_for
from ..engine import Engine
from ..parts.components import chart_list, markup, problem_line, race_stage
from ..parts.wiring import PRIVATE
from ..play.play_form import Form
from ..runs.around import Around, wire_run
from ..runs.compare import offer_compare
from . import handlers
from .answers import short
from .choice import MORE, START, choices
from .task import task_of

QUESTIONS_SHOWN = 40
START_QUESTIONS = 3
SOURCES = [("Questions with right answers", "task"), ("My prompt", "prompt")]
BROKEN = "The race broke off on the server. The page is ready for another one."
OTHERS = "Every other setting is that of the Play tab; seeds count up from run to run."


def build_race_tab(engine: Engine, form: Form) -> None:
    """The whole tab."""
    target = engine.pair.target.id
    asked = _asked(target)
    most_runs, most_tokens = engine.limits.max_compared_runs, engine.limits.max_new_tokens
    with gr.Column(elem_classes="workbench race-bench"), gr.Column(elem_classes="main", min_width=320):
        with gr.Row(elem_classes="race-ask", equal_height=False):
            with gr.Column(scale=1, min_width=240):
                source = gr.Radio(SOURCES, show_label=False, elem_id="race-source", **asked[0])
                questions = gr.Dropdown(multiselect=True, label="Questions", elem_id="race-questions", **asked[1])
                prompt = gr.Textbox(label="Prompt", lines=1, max_lines=6, elem_id="race-prompt", **asked[2])
            with gr.Column(scale=0, min_width=132, elem_classes="actions"):
                run = gr.Button("Race", variant="primary", elem_id="race-run")
                stop = gr.Button("Stop", variant="stop", visible=False, elem_id="race-stop")
        racers = gr.CheckboxGroup(choices(START), value=list(START), show_label=False, elem_id="race-racers")
        with gr.Accordion("More decoders, runs and length", open=False, elem_classes="fold"), gr.Row():
            more = gr.CheckboxGroup(choices(MORE), value=[], label="More decoders", elem_id="race-more")
            runs = gr.Slider(
                1,
                most_runs,
                min(3, most_runs),
                step=1,
                label="Runs of each",
                buttons=[],
                elem_id="race-runs",
                info=OTHERS,
            )
            tokens = gr.Slider(
                1, most_tokens, min(48, most_tokens), step=1, label="New tokens", buttons=[], elem_id="race-tokens"
            )
        opening = handlers.opening(target)
        note = markup(opening.note, elem_id="race-note")
        problem = problem_line("race-problem")
        stage = race_stage(opening.stage)
        charts = chart_list(opening.charts, "race-charts")
    around = Around(note, problem, run, stop)
    source.input(_shown, source, [questions, prompt], queue=False, **PRIVATE)
    parts = [source, questions, prompt, stage, charts, note]
    form.pair.change(partial(_changed, engine), form.pair, parts, queue=False, **PRIVATE)

    def raced(session: str, pair: str, *given: Any) -> Iterator[handlers.Frame]:
        return handlers.run(engine, session, *given, pair=pair)

    inputs = [form.pair, source, prompt, questions, racers, more, runs, tokens, *form.fields]
    wire_run(engine, [run.click], raced, inputs, [stage, charts, *around], around, BROKEN)
    offer_compare(engine)


def _asked(target: str) -> list[dict[str, Any]]:
    """What the choice of prompts, the questions and the prompt hold for a target: questions where it has a task."""
    task, first = task_of(target), next(iter(examples_for(target).values()))
    listed = [] if task is None else [(short(one.prompt), one.id) for one in task.questions(QUESTIONS_SHOWN)]
    return [
        {"value": "task" if listed else "prompt", "visible": bool(listed)},
        {"choices": listed, "value": [id for _, id in listed[:START_QUESTIONS]], "visible": bool(listed)},
        {"value": first, "visible": not listed},
    ]


def _changed(engine: Engine, pair: str) -> list[Any]:
    """Prompts and the recorded race belong to the pair."""
    target = engine.pairs.target_id(pair)
    return [*(gr.update(**values) for values in _asked(target)), *handlers.opening(target)]


def _shown(source: Any) -> tuple[dict[str, Any], dict[str, Any]]:
    is_task = source == "task"
    return gr.update(visible=is_task), gr.update(visible=not is_task)
