"""The Evaluate tab: its parts and how they are wired."""

from functools import partial
from typing import Any

import gradio as gr

from ..asked.evaluation import GRID, OWN, PRESETS, START, grid_choices, method_choices, tasks_of
from ..engine import Engine
from ..pairs.shelf import PAGE
from ..parts.components import chart_list, markup, problem_line
from ..parts.wiring import ON_GPU, PRIVATE, session_of
from ..runs.around import Around, wire_run
from . import handlers

HINT = (
    "Which decoder is better, and which is faster? All of them answer the same questions of a task, in turn. The "
    "result is a table with intervals and a chart of quality against speed."
)
BROKEN = "The evaluation broke off on the server. What was decoded stays: press Evaluate again to go on."
FORMAT = (
    'One question a line: <code>{"prompt": "Q: …\\nA:", "references": ["…"]}</code>, or a CSV file with the columns '
    "prompt and references. Without references the perplexity of what is written is measured."
)


def build_evaluate_tab(engine: Engine, pair: gr.State) -> None:
    """The whole tab; ``pair`` holds the key of the visitor's pair."""
    limits, tasks = engine.limits, tasks_of(engine.pairs)
    with gr.Row(elem_classes="workbench", equal_height=False):
        with gr.Column(elem_classes="sidebar", scale=0, min_width=280), gr.Column(elem_classes="group ask"):
            task = gr.Dropdown(tasks, value=tasks[0][1], label="Questions", filterable=False, elem_id="evaluate-task")
            with gr.Column(visible=False, elem_classes="group") as own:
                upload = gr.UploadButton(
                    "Upload questions", file_types=[".jsonl", ".csv", ".gz"], size="sm", elem_id="evaluate-upload"
                )
                found = markup(f'<p class="said">{FORMAT}</p>', elem_id="evaluate-found")
            most = min(50, limits.max_evaluated)
            questions = gr.Slider(
                1, most, min(10, most), step=1, label="How many questions", buttons=[], elem_id="evaluate-questions"
            )
            methods = gr.Dropdown(
                method_choices(), value=START, multiselect=True, label="Methods", elem_id="evaluate-methods"
            )
            grid = gr.Dropdown(
                grid_choices(), value="", label="Several values of a setting", filterable=False, elem_id="evaluate-grid"
            )
            values = gr.Textbox(label="Values", max_lines=1, visible=False, elem_id="evaluate-values")
            with gr.Accordion("More settings", open=False, elem_classes="fold"):
                seeds = gr.Slider(
                    1, 5, 1, step=1, label="Seeds", info="How often every question is asked", buttons=[],
                    elem_id="evaluate-seeds",
                )  # fmt: skip
                tokens = gr.Slider(
                    0, limits.max_new_tokens, 0, step=1, label="New tokens", info="0: as the task says", buttons=[],
                    elem_id="evaluate-tokens",
                )  # fmt: skip
                temperature = gr.Slider(
                    0, 2, 1, step=0.05, label="Temperature", buttons=[], elem_id="evaluate-temperature"
                )
                beams = gr.Slider(1, 16, 4, step=1, label="Beams", buttons=[], elem_id="evaluate-beams")
            with gr.Row(elem_classes="actions"):
                run = gr.Button("Evaluate", variant="primary", elem_id="evaluate-run")
                stop = gr.Button("Stop", variant="stop", visible=False, elem_id="evaluate-stop")
        with gr.Column(elem_classes="main", scale=1, min_width=320):
            note = markup(HINT, elem_id="evaluate-note")
            problem = problem_line("evaluate-problem")
            table = markup("", elem_id="evaluate-table")
            charts = chart_list("", "evaluate-charts")
            file = gr.DownloadButton("Download all results (zip)", visible=False, size="sm", elem_id="evaluate-file")
    questions_name, kept, around = gr.State(None), gr.State(None), Around(note, problem, run, stop)
    inputs = [pair, task, questions_name, methods, grid, values, questions, seeds, tokens, temperature, beams]
    outputs = [table, charts, *around, file, kept]
    task.change(_own_shown, task, own, queue=False, **PRIVATE)
    grid.change(_grid_shown, grid, [methods, values], queue=False, **PRIVATE)
    _wire_upload(engine, upload, [questions_name, found, problem])
    wire_run(engine, [run.click], partial(handlers.run, engine), inputs, outputs, around, BROKEN)
    _offer(engine)


def _own_shown(task: Any) -> dict[str, Any]:
    return gr.update(visible=task == OWN)


def _grid_shown(grid: Any) -> list[dict[str, Any]]:
    swept = isinstance(grid, str) and grid in PRESETS
    shown = gr.update(visible=True, value=PRESETS[grid][1]) if swept else gr.update(visible=False)
    return [gr.update(visible=grid != GRID), shown]


def _wire_upload(engine: Engine, upload: gr.UploadButton, outputs: list[Any]) -> None:
    def brought(request: gr.Request, path: str | None) -> tuple[str | None, str, str]:
        return handlers.bring_questions(engine, session_of(request), path)

    upload.upload(brought, upload, outputs, **PRIVATE)


def _offer(engine: Engine) -> None:
    def evaluate(
        request: gr.Request,
        task: str,
        methods: list[str],
        questions: int = 10,
        seeds: int = 1,
        grid: dict[str, list[float]] | None = None,
        settings: dict[str, Any] | None = None,
        examples: list[dict[str, Any]] | None = None,
        pair: str = PAGE,
    ) -> dict[str, Any]:
        return handlers.evaluate(
            engine, session_of(request), task, methods, questions, seeds, grid, settings, examples, pair
        )

    evaluate.__doc__ = handlers.evaluate.__doc__
    gr.api(evaluate, api_name="evaluate", **ON_GPU)
