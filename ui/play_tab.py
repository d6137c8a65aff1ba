"""The Play tab: its parts and how they are wired."""

from collections.abc import Iterator
from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from . import decode as handlers
from . import messages, traces
from .components import chart_list, forest_viewer, markup, problem_line, running_line
from .engine import Engine
from .examples import examples_for
from .form import FIELDS, Field, is_known, is_read, method_choices, shown_value
from .limits import Limits
from .pair_shelf import PAGE
from .pairs_panel import build_pairs_panel
from .recording import Recording
from .serving import read
from .stat_strip import stat_strip
from .wiring import ON_GPU, PRIVATE, place_shown_on, session_of

CLICK_DOWNLOAD = "() => setTimeout(() => document.querySelector('#trace-file')?.click(), 120)"


@dataclass(frozen=True)
class Form:
    """What a run is asked to do."""

    pair: gr.State
    """Key of the visitor's pair."""
    chips: list[gr.Button]
    prompt: gr.Textbox
    method: gr.Dropdown
    fields: list[gr.components.Component]
    run: gr.Button
    stop: gr.Button

    @property
    def inputs(self) -> list[gr.components.Component]:
        """In the order of the handlers' arguments."""
        return [self.pair, self.prompt, self.method, *self.fields]


@dataclass(frozen=True)
class Stage:
    """What a run shows."""

    forest: gr.HTML
    text: gr.HTML
    stats: gr.HTML
    charts: gr.HTML
    note: gr.HTML
    problem: gr.HTML


@dataclass(frozen=True)
class TraceTools:
    """What visitors do with traces."""

    recorded: gr.Dropdown
    upload: gr.UploadButton
    download: gr.Button
    file: gr.DownloadButton
    verify: gr.Button
    verdict: gr.HTML


def build_play_tab(engine: Engine) -> Form:
    """The whole tab; returns the form, whose settings the Race tab shares."""
    recording = gr.State(None)
    opening = traces.opening_recording(engine.pair.target.id)
    with gr.Row(elem_classes="workbench", equal_height=False):
        with gr.Column(elem_classes="sidebar", scale=0, min_width=280):
            form = _form(engine, opening)
            tools = _trace_tools(engine)
        with gr.Column(elem_classes="main", scale=1, min_width=320):
            stage = _stage(opening)
    outputs = _outputs(form, stage, recording)
    _wire_run(engine, form, tools, outputs)
    _wire_traces(engine, tools, opening, outputs)
    _wire_pair(engine, form, tools, outputs)
    _offer(engine)
    return form


def _form(engine: Engine, opening: Recording | None) -> Form:
    limits, examples = engine.limits, examples_for(engine.pair.target.id)
    with gr.Column(elem_classes="group ask"):
        prompt = gr.Textbox(
            opening.prompt if opening else next(iter(examples.values())),
            label="Prompt",
            lines=4,
            max_lines=10,
            elem_id="prompt",
        )
        with gr.Row(elem_classes="chips"):
            chips = [gr.Button(word, size="sm", elem_classes="chip", min_width=0) for word in examples]
        with gr.Row(elem_classes="actions"):
            run = gr.Button("Run", variant="primary", elem_id="run")
            stop = gr.Button("Stop", variant="stop", visible=False, elem_id="stop")
    with gr.Column(elem_classes="group settings"):
        method = gr.Dropdown(method_choices(), value="dsbd", label="Method", filterable=False, elem_id="method")
        controls = {field.name: _control(field, limits) for field in FIELDS if field.main}
        with gr.Accordion("More settings", open=False, elem_classes="fold"):
            controls |= {field.name: _control(field, limits) for field in FIELDS if not field.main}
    pair = build_pairs_panel(engine)
    fields = [controls[field.name] for field in FIELDS]
    method.change(_fields_of, method, fields, queue=False, **PRIVATE)
    return Form(pair, chips, prompt, method, fields, run, stop)


def _fields_of(method: Any) -> list[dict[str, Any]]:
    return handlers.fields_shown([is_known(method) and is_read(method, field.name) for field in FIELDS])


def _control(field: Field, limits: Limits) -> gr.components.Component:
    common: dict[str, Any] = {"label": field.label, "info": field.info, "elem_id": f"field-{field.name}"}
    common |= {"value": shown_value(field), "visible": is_read("dsbd", field.name)}
    if field.choices:
        return gr.Dropdown(list(field.choices), filterable=False, **common)
    if isinstance(common["value"], str):
        return gr.Textbox(max_lines=1, **common)
    if field.low is None or field.high is None:
        return gr.Checkbox(**common)
    if field.step is None:
        return gr.Number(precision=0, **common)  # its range is checked with the settings, whose message is better
    high = limits.max_new_tokens if field.name == "max_new_tokens" else field.high
    return gr.Slider(field.low, high, step=field.step, buttons=[], **common)


def _stage(opening: Recording | None) -> Stage:
    note = "A recorded decode; nothing has run yet. Step through it below, or press Run."
    if opening is None:
        note = "Nothing is recorded yet. Write a prompt and press Run."
    note_part = markup(note, elem_id="note")
    problem = problem_line("problem")
    text = running_line(messages.text(opening) if opening else "")
    markup(read("marks.html"))
    stats = markup(stat_strip(opening) if opening else "", elem_id="stats")
    forest = forest_viewer(messages.whole_scene(opening) if opening else "")
    with gr.Accordion("Charts of the whole decode", open=False, elem_classes="fold"):
        charts = chart_list(handlers.charts(opening) if opening else "", "decode-charts")
    return Stage(forest, text, stats, charts, note_part, problem)


def _trace_tools(engine: Engine) -> TraceTools:
    known = traces.recordings_of(engine.pair.target.id)
    with gr.Column(elem_classes="group trace-tools"):
        recorded = gr.Dropdown(
            known,
            value=known[0][1] if known else None,
            label="Recorded decodes",
            filterable=False,
            visible=bool(known),
            elem_id="recorded",
        )
        with gr.Row(elem_classes="tools"):
            upload = gr.UploadButton(
                "Open a trace", file_types=[".gz", ".json"], size="sm", elem_id="upload", min_width=0
            )
            download = gr.Button("Download", size="sm", elem_id="download", min_width=0)
            verify = gr.Button("Verify", size="sm", elem_id="verify", min_width=0)
        verdict = markup("", elem_id="verdict")
        file = gr.DownloadButton("Trace file", visible="hidden", elem_id="trace-file")
    return TraceTools(recorded, upload, download, file, verify, verdict)


def _outputs(form: Form, stage: Stage, recording: gr.State) -> list[Any]:
    """In the order of :class:`.decode.Frame`."""
    parts = [stage.forest, stage.text, stage.stats, stage.charts, stage.note, stage.problem]
    return [*parts, form.run, form.stop, recording, gr.State(None)]


def _wire_run(engine: Engine, form: Form, tools: TraceTools, outputs: list[Any]) -> None:
    recording, halted_at = outputs[-2:]

    def begin(request: gr.Request) -> handlers.Frame:
        return handlers.begin(engine, session_of(request))

    def run(request: gr.Request, pair: str, *given: Any) -> Iterator[handlers.Frame]:
        yield from handlers.run(engine, session_of(request), *given, pair=pair)

    def broke_off(request: gr.Request, *kept: Any) -> handlers.Frame:
        return handlers.broke_off(engine, session_of(request), *kept)

    def stopped(request: gr.Request, kept: Any) -> handlers.Frame:
        return handlers.stopped(engine, session_of(request), kept)

    begun = gr.on([form.run.click, form.prompt.submit], begin, outputs=outputs, queue=False, **PRIVATE)
    begun.then(_forget, outputs=tools.verdict, queue=False, **PRIVATE)
    shown = place_shown_on(outputs[4])
    running = begun.then(run, form.inputs, outputs, trigger_mode="multiple", **shown, **ON_GPU)
    running.failure(broke_off, [halted_at, recording], outputs, queue=False, **PRIVATE)
    form.stop.click(stopped, recording, outputs, cancels=[running], queue=False, **PRIVATE)


def _wire_traces(engine: Engine, tools: TraceTools, opening: Recording | None, outputs: list[Any]) -> None:
    recording = outputs[-2]

    def verify(shown: Recording | None) -> str:
        return handlers.verify(shown or opening)

    def take_away(shown: Recording | None) -> tuple[str | None, str]:
        return handlers.take_away(shown or opening)

    for event, handler, given in (
        (tools.recorded.input, handlers.choose_recorded, tools.recorded),
        (tools.upload.upload, partial(handlers.bring_file, engine.limits), tools.upload),
    ):
        event(handler, given, outputs, **PRIVATE).then(_forget, outputs=tools.verdict, queue=False, **PRIVATE)
    tools.verify.click(verify, recording, tools.verdict, **PRIVATE)
    taken = tools.download.click(take_away, recording, [tools.file, tools.verdict], **PRIVATE)
    taken.then(None, js=CLICK_DOWNLOAD, **PRIVATE)


def _wire_pair(engine: Engine, form: Form, tools: TraceTools, outputs: list[Any]) -> None:
    """Examples, prompt and recordings belong to the pair."""

    def example(place: int, pair: str) -> str:
        return list(examples_for(engine.pairs.target_id(pair)).values())[place]

    def changed(pair: str) -> list[Any]:
        target = engine.pairs.target_id(pair)
        examples, offered = examples_for(target), traces.recordings_of(target)
        words = [gr.update(value=word) for word in examples]
        recorded = gr.update(choices=offered, value=offered[0][1] if offered else None)
        return [next(iter(examples.values())), recorded, *words]

    for place, chip in enumerate(form.chips):
        chip.click(partial(example, place), form.pair, form.prompt, queue=False, **PRIVATE)
    shown = form.pair.change(changed, form.pair, [form.prompt, tools.recorded, *form.chips], queue=False, **PRIVATE)
    shown.then(handlers.choose_recorded, tools.recorded, outputs, queue=False, **PRIVATE)


def _forget() -> str:
    """A verdict belongs to the trace it was about."""
    return ""


def _offer(engine: Engine) -> None:
    def decode(
        request: gr.Request, prompt: str, settings: dict[str, Any] | None = None, pair: str = PAGE
    ) -> dict[str, Any]:
        return handlers.decode(engine, session_of(request), prompt, settings, pair)

    decode.__doc__ = handlers.decode.__doc__
    gr.api(decode, api_name="decode", **ON_GPU)
