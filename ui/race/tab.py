"""The Race tab: its parts and how they are wired."""

from functools import partial
from typing import Any

import gradio as gr

from ..asked.examples import first_example
from ..engine import Engine
from ..parts.components import chart_list, markup, problem_line, race_stage
from ..parts.wiring import PRIVATE
from ..play.play_form import Form
from ..runs.around import Around, wire_run
from . import handlers
from .choice import MORE, START, choices
from .endpoint import offer_evaluate
from .questions import FORMAT, MOST_QUESTIONS, SQL_TARGET, bring_questions

START_QUESTIONS = 3
SOURCES = [("My prompt", "prompt"), ("Bundled questions", "task"), ("My questions", "own")]
RECORDED = [("Stories", "bundled/target"), ("Questions to SQL, with right answers", SQL_TARGET)]
BROKEN = "The race broke off on the server. The page is ready for another one."
OTHERS = "Every other setting is that of the Play tab; seeds count up from run to run."


def build_race_tab(engine: Engine, form: Form) -> None:
    target, limits = engine.pair.target.id, engine.limits
    most_runs, most_questions = limits.max_compared_runs, min(MOST_QUESTIONS, limits.max_evaluated)
    stage, charts, note = handlers.opening(target)
    begins = _asked(target)
    with gr.Column(elem_classes="workbench race-bench"), gr.Column(elem_classes="main", min_width=320):
        with gr.Row(elem_classes="race-ask", equal_height=False):
            with gr.Column(scale=1, min_width=240):
                source = gr.Radio(SOURCES, show_label=False, elem_id="race-source", **begins[0])
                prompt = gr.Textbox(
                    label="Prompt", show_label=False, container=False, placeholder="Write how a text begins",
                    lines=1, max_lines=6, elem_id="race-prompt", **begins[1],
                )  # fmt: skip
                count = gr.Slider(
                    1, most_questions, min(START_QUESTIONS, most_questions), label="How many questions",
                    elem_id="race-questions", **_WHOLE, **begins[2],
                )  # fmt: skip
                with gr.Column(visible=False, elem_classes="group") as own_parts:
                    upload = gr.UploadButton(
                        "Upload questions", file_types=[".jsonl", ".csv", ".gz"], size="sm", elem_id="race-upload"
                    )
                    found = markup(FORMAT, elem_id="race-found")
            with gr.Column(scale=0, min_width=132, elem_classes="actions"):
                run = gr.Button("Race", variant="primary", elem_id="race-run")
                stop = gr.Button("Stop", variant="stop", visible=False, elem_id="race-stop")
        racers = gr.CheckboxGroup(choices(START), value=list(START), show_label=False, elem_id="race-racers")
        with gr.Accordion("More decoders, runs and length", open=False, elem_classes="fold"), gr.Row():
            more = gr.CheckboxGroup(choices(MORE), value=[], label="More decoders", elem_id="race-more")
            with gr.Column(min_width=240):
                runs = gr.Slider(
                    1, most_runs, min(3, most_runs), label="Runs of each", elem_id="race-runs", info=OTHERS, **_WHOLE
                )
                tokens = gr.Slider(
                    1, limits.max_new_tokens, min(48, limits.max_new_tokens), label="New tokens",
                    elem_id="race-tokens", **_WHOLE,
                )  # fmt: skip
                grid = gr.Textbox(
                    label="Several values of a setting", placeholder="draft_width = 2, 4, 6", max_lines=1,
                    elem_id="race-grid",
                )  # fmt: skip
        with gr.Row(elem_classes="race-shown", equal_height=False):
            recorded = gr.Radio(RECORDED, value=_recorded(target), label="Recorded races", elem_id="race-recorded")
            said = markup(note, elem_id="race-note")
        problem = problem_line("race-problem")
        staged, drawn = race_stage(stage), chart_list(charts, "race-charts")
    own, around = gr.State(None), Around(said, problem, run, stop)
    asking = [source, prompt, count, own_parts]
    source.input(_shown, source, asking[1:], queue=False, **PRIVATE)
    shown = [staged, drawn, said]
    recorded.input(handlers.opening, recorded, shown, queue=False, **PRIVATE)
    form.pair.change(partial(_changed, engine), form.pair, [*asking, recorded, *shown], queue=False, **PRIVATE)
    upload.upload(partial(bring_questions, limits=limits), upload, [own, found, problem], **PRIVATE)
    inputs = [form.pair, source, prompt, own, count, racers, more, runs, grid, tokens, *form.fields]
    wire_run(engine, [run.click], partial(handlers.run, engine), inputs, [staged, drawn, *around], around, BROKEN)
    offer_evaluate(engine)


_WHOLE: dict[str, Any] = {"step": 1, "buttons": []}


def _asked(target: str) -> list[dict[str, Any]]:
    """What the choice, the prompt and the number of questions begin with: questions where answers can be right."""
    is_task = target == SQL_TARGET
    return [
        {"value": "task" if is_task else "prompt"},
        {"value": first_example(target), "visible": not is_task},
        {"visible": is_task},
        {"visible": False},
    ]


def _changed(engine: Engine, pair: str) -> list[Any]:
    """The prompt and the recorded race belong to the pair."""
    target = engine.pairs.target_id(pair)
    recorded = gr.update(value=_recorded(target))
    return [*(gr.update(**values) for values in _asked(target)), recorded, *handlers.opening(target)]


def _recorded(target: str) -> str | None:
    """The recorded race that stands there before anything has run."""
    return target if target in handlers.RECORDED_RACES else None


def _shown(source: Any) -> list[dict[str, Any]]:
    return [gr.update(visible=visible) for visible in (source == "prompt", source != "prompt", source == "own")]
