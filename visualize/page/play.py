"""The Play tab: the prompt, the settings, the forest of a decode as it grows, and what can be done with its text.

The browser keeps traces: a run sends the records of its iterations, and ``play.js`` adds them to the viewer. Files are
opened, saved and shared there. The server keeps only a visitor's last trace, which it draws with Plotly.
"""

import json
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass
from functools import partial
from typing import Any

import gradio as gr

from dsbd.errors import DsbdError
from dsbd.settings import DecodingSettings
from dsbd.tracing.trace import Trace
from dsbd.util import SMOLLM2
from visualize import decode_figure, forest_figure
from visualize.theme import Theme

from . import form as fields
from .frames import ENDED, FRAME_SECONDS, Frame, decode_frames, drawn_rows, message
from .limits import check_prompt
from .middleware import LEARN, OWN
from .parts import PRIVATE, alert, markup, read, scripted, sentence
from .race_markup import RECORDED, describe_recorded, paying_points
from .recordings import examples_of, recorded, title_of
from .runner import Pairs, Runner

LATER = "async (pair) => { await new Promise((done) => setTimeout(done, 1500)); return pair; }"
"""Waits until the browser has drawn: on the visitor's own machine it uses the processor, too."""
RUN: dict[str, Any] = {**PRIVATE, "concurrency_id": "gpu"}
"""An event that uses the models: all of them wait in one line, of which so many run as the runner has turns."""
BEGIN = "() => [{__type__: 'update', visible: false}, {__type__: 'update', visible: true}, '']"
"""Shows Stop at once, in the browser, for the run may have to wait, and takes the last problem away."""
KEEP = gr.skip()
STAYS = ("max_new_tokens", "temperature", "seed")
"""Fields that a preset leaves as they are."""
STOPPED = "Stopped. What was recorded stays."
RECORDED_NOTE = "A recorded decode. Press Run to measure it here."


@dataclass(frozen=True)
class Form:
    """The form: what the next run decodes, and how."""

    pair: gr.Radio
    description: gr.HTML
    """What the pair can do."""
    prompt: gr.Textbox
    examples: list[gr.Button]
    note: gr.HTML
    """What goes on, beside the examples."""
    presets: gr.Radio
    method: gr.Dropdown
    fields: list[gr.components.Component]
    expected: gr.Textbox
    run: gr.Button
    stop: gr.Button

    @property
    def filled(self) -> list[gr.components.Component]:
        """What a recorded decode fills in: the prompt, and all settings."""
        return [self.prompt, self.method, *self.fields]


def build_play_tab(runner: Runner, page: gr.Blocks) -> Form:
    """Build the tab; returns its form, whose settings Race shares."""
    traces, pair = recorded() | runner.pairs.recordings, runner.pairs.first
    own = [name for name, trace in traces.items() if trace.models.target.id == runner.pairs.target(pair)]
    own.sort(key=lambda name: traces[name].settings.min_width < traces[name].settings.max_width)  # first what is exact
    with gr.Column(elem_classes="workbench main play"):
        form = _build_form(runner, bool(own))
        problem = scripted("", "${value}", "problem.js", "problem")
        stage = _build_stage(runner, traces, own[0] if own else "")
        plots = scripted("", '<div class="plotly-mount"></div>', "plots.js", "plots")
    last = gr.State(None)
    parts = {"stage": stage, "note": form.note, "problem": problem, "run": form.run, "stop": form.stop, "last": last}
    parts["answers"] = gr.State(())  # of this visit alone
    _wire_run(runner, form, parts)
    _wire_form(runner, form, stage, traces)
    _wire_link(runner, form, page, problem)
    _wire_plots(plots, last, traces)
    return form


def _build_form(runner: Runner, has_recording: bool) -> Form:
    pairs, shown = runner.pairs, fields.SHOWN
    settings, examples = fields.preset("exact", pairs.first), examples_of(pairs, pairs.first)
    with gr.Row(elem_classes="pair-line", equal_height=False):
        pair = gr.Radio(
            [(pairs.title(name), name) for name in pairs.names], value=pairs.first, label="Models", show_label=False,
            container=False, elem_id="pair", visible=True if len(pairs.names) > 1 else "hidden",
        )  # fmt: skip
        with gr.Row(elem_classes="examples"):
            buttons = [gr.Button(words, size="sm", elem_classes="example", min_width=0) for words in examples]
    with gr.Row(elem_classes="ask-line", equal_height=False):
        prompt = gr.Textbox(
            next(iter(examples.values())), label="Prompt", show_label=False, container=False,
            placeholder=_placeholder(pairs.first), lines=1, max_lines=6, scale=1, min_width=120, elem_id="prompt",
        )  # fmt: skip
        run = gr.Button("Run", variant="primary", elem_id="run", min_width=0)
        stop = gr.Button("Stop", variant="stop", visible=False, elem_id="stop", min_width=0)
        markup(read("settings_switch.html"), "settings-switch")
        markup(read("share.html"), "share-place")
    with gr.Row(elem_classes="note-line", equal_height=False):
        description = markup(_description(pairs, pairs.first), "description")
        note = markup(_note(has_recording), "note")
    with gr.Column(elem_id="settings-panel", elem_classes="group"):
        markup(read("settings_panel.html"))
        with gr.Column(elem_classes="settings"):
            named = [(words, name) for name, (words, _) in fields.PRESETS.items()]
            presets = gr.Radio(named, value="exact", label="What to keep", elem_id="preset")
            method = gr.Dropdown(
                fields.method_choices(), value=settings.method, label="Method", filterable=False, elem_id="method"
            )
            build = partial(fields.build_control, settings=settings, limits=runner.limits)
            controls = {name: build(name) for name in shown if shown[name].main}
            expected = gr.Textbox(
                "", label="I expect this text", lines=2, max_lines=6, elem_id="expected",
                info="What of it is right costs few passes; with Exact, no guess changes a draw",
            )  # fmt: skip
            with gr.Accordion("More settings", open=False, elem_classes="fold"):
                controls |= {name: build(name) for name in shown if name not in controls}
        markup('<button type="button" class="settings-run" data-do="run">Run</button>', "settings-foot")
    inputs = [controls[name] for name in shown]
    return Form(pair, description, prompt, buttons, note, presets, method, inputs, expected, run, stop)


def _description(pairs: Pairs, pair: str) -> str:
    tip = f"<p><small>{pairs.tip}</small></p>" if pairs.tip else ""
    return f"<p>{fields.DESCRIPTIONS.get(pair, 'Continues any text, as well as its large model can.')}</p>{tip}"


def _placeholder(pair: str) -> str:
    placeholders = {fields.SQL: "Ask about the library", SMOLLM2: "Ask, or give a text to work on"}
    return placeholders.get(pair, "Write how a text begins")


def _build_stage(runner: Runner, traces: dict[str, Trace], opening: str) -> gr.HTML:
    """The answer, and the forest below it; the script knows the form and all recordings, of which one opens it."""
    pairs = runner.pairs
    prompt = fields.as_prompt(pairs.first, next(iter(examples_of(pairs, pairs.first).values())))
    costs = runner.costs("", pairs.first, prompt)
    facts = fields.form_facts() | {
        "recorded": [_recording(name, trace) for name, trace in traces.items()],
        "presets": {one: {name: _filled(fields.preset(name, one)) for name in fields.PRESETS} for one in pairs.names},
        "temperatures": {pair: fields.preset("exact", pair).temperature for pair in pairs.names},
        "examples": {pair: list(examples_of(pairs, pair).values()) for pair in pairs.names},
        "targets": {pair: pairs.target(pair) for pair in pairs.names},
        "raced": {pairs.target(pair): describe_recorded(pair) for pair in pairs.names if pair in RECORDED},
        "costs": {pairs.target(pairs.first): costs and costs._asdict()},
        "paying": paying_points(),
        "note": RECORDED_NOTE,
        "own": OWN.strip("/"),
        "live": f"{LEARN.strip('/')}/live/",
    }
    first = message("show", name=opening, bulk=traces[opening].to_dict()) if opening else ""
    return scripted(first, read("stage.html"), "play.js", "forest", facts)


def _recording(name: str, trace: Trace) -> dict[str, Any]:
    """Return what the script knows of a recording before it fetches it."""
    return {
        "name": name,
        "title": title_of(name),
        "target": trace.models.target.id,
        "prompt": trace.prompt.text,
        "rows": drawn_rows(trace),
        "settings": {field: getattr(trace.settings, field) for field in ("method", *fields.WIDTHS)},
    }


def _filled(settings: DecodingSettings) -> list[Any]:
    """Return method and fields that a preset fills in; None leaves a field as it is."""
    values = zip(fields.SHOWN, fields.values_of(settings), strict=True)
    return [settings.method, *(None if field in STAYS else value for field, value in values)]


def _wire_run(runner: Runner, form: Form, parts: dict[str, Any]) -> None:
    """Run and Stop. Gradio closes the run of a visitor who stops it or leaves."""

    def placed(frame: Frame) -> Frame:
        return {parts[name]: value for name, value in frame.items()}

    def run(request: gr.Request, pair: Any, prompt: Any, method: Any, *values: Any) -> Iterator[Frame]:
        *shown, expected, answers = values
        asked = (pair, prompt, method, shown, expected, answers)
        with closing(decode_frames(runner, request.session_hash or "", *asked)) as frames:
            yield from map(placed, frames)

    def stop(request: gr.Request) -> Frame:
        runner.stop(request.session_hash or "")
        return placed({"stage": message("stopped"), "note": STOPPED} | ENDED)

    buttons = [form.run, form.stop]
    begun = gr.on([form.run.click, form.prompt.submit], None, None, [*buttons, parts["problem"]], js=BEGIN, **PRIVATE)
    waits: dict[str, Any] = {**RUN, "concurrency_limit": runner.turns.most}
    waits |= {"show_progress": "minimal", "show_progress_on": form.note}
    inputs = [form.pair, *form.filled, form.expected, parts["answers"]]
    running = begun.then(run, inputs, list(parts.values()), **waits)
    running.failure(lambda: placed(ENDED), None, buttons, queue=False, **PRIVATE)
    outputs = [parts["stage"], form.note, *buttons]
    ended = form.stop.click(stop, None, outputs, cancels=running, queue=False, **PRIVATE)
    ended.then(lambda: STOPPED, None, form.note, queue=False, **PRIVATE)  # a frame of the run may have come in between


def _note(has_recording: bool) -> str:
    return RECORDED_NOTE if has_recording else "Press Run."


def _wire_form(runner: Runner, form: Form, stage: gr.HTML, traces: dict[str, Trace]) -> None:
    """Examples belong to the pair, fields to the method."""
    pairs = runner.pairs

    def measure(request: gr.Request, pair: Any) -> str:
        prompt = fields.as_prompt(pair, next(iter(examples_of(pairs, pairs.check(pair)).values())))
        costs = runner.costs(request.session_hash or "", pair, prompt)
        return json.dumps({"target": pairs.target(pair), "costs": costs and costs._asdict()})

    def show_fields(method: Any) -> Frame:
        named = zip(fields.SHOWN, form.fields, strict=True)
        shown = {control: gr.update(visible=fields.is_read(method, name)) for name, control in named}
        return shown | {form.expected: gr.update(visible=method in fields.GUESSING)}

    def show_pair(pair: Any) -> Frame:
        has_recording = any(trace.models.target.id == pairs.target(pair) for trace in traces.values())
        named = zip(form.examples, examples_of(pairs, pair), strict=True)
        return {
            form.description: _description(pairs, pair),
            form.note: _note(has_recording),
            form.prompt: gr.update(placeholder=_placeholder(pair)),
            **{button: gr.update(value=words) for button, words in named},
        }

    settings: list[Any] = form.filled[1:]
    begin = [form.presets, form.pair]
    form.method.change(show_fields, form.method, [*form.fields, form.expected], queue=False, **PRIVATE)
    gr.on([one.change for one in settings], None, settings, form.presets, js=_calls("fitting"), **PRIVATE)
    form.presets.input(None, begin, settings, js=_calls("preset"), **PRIVATE)
    distinct: Any
    distinct, forest = (form.fields[list(fields.SHOWN).index(name)] for name in ("replacement", "forest"))
    distinct.input(None, settings, forest, js=_calls("guesses"), **PRIVATE)
    for index, button in enumerate(form.examples):
        click = f"(...chosen) => globalThis.DsbdPage.example({index}, ...chosen)"
        button.click(None, [form.pair, form.presets], [form.prompt, form.note], js=click, **PRIVATE)
    form.prompt.change(None, [form.pair, form.prompt], form.note, js=_calls("ask"), **PRIVATE)
    outputs = [form.description, form.note, *form.examples, form.prompt]
    form.pair.change(show_pair, form.pair, outputs, queue=False, **PRIVATE)
    form.pair.input(None, begin, form.filled, js=_calls("begin"), **PRIVATE)
    costs = gr.Textbox("", visible="hidden")
    measured = form.pair.input(measure, form.pair, costs, js=LATER, queue=False, **PRIVATE)
    measured.then(None, costs, js=_calls("takeCosts"), **PRIVATE)
    # The script of the stage triggers these two, for Gradio alone knows what the form holds, and can fill it in.
    stage.select(None, [form.pair, *form.filled], None, js=_calls("answerForm"), **PRIVATE)
    stage.input(None, None, [form.pair, *form.filled, form.note], js=_calls("filling"), **PRIVATE)


def _calls(name: str) -> str:
    """Return JavaScript that calls a function of the page's script."""
    return f"(...values) => globalThis.DsbdPage.{name}(...values)"


def _wire_link(runner: Runner, form: Form, page: gr.Blocks, problem: gr.HTML) -> None:
    """A link fills in the form and, with a prompt, runs it."""

    def follow(request: gr.Request) -> Frame:
        try:
            prompt, settings, pair = fields.read_query(dict(request.query_params), runner.limits)
            changes: Frame = {} if pair is None else {form.pair: runner.pairs.check(pair)}
        except DsbdError as error:
            words = f"The link could not be followed: {sentence(error)} Known are {', '.join(fields.NAMES)}."
            return {problem: alert(words), runs: False}
        if settings is not None:
            changes |= dict(zip(form.filled[1:], [settings.method, *fields.values_of(settings)], strict=True))
        if prompt is not None:
            changes[form.prompt] = prompt
        return changes | {problem: "", runs: prompt is not None}

    runs = gr.Checkbox(False, visible="hidden")
    followed = page.load(follow, None, [form.pair, *form.filled, problem, runs], queue=False, **PRIVATE)
    followed.then(None, runs, js=_calls("followLink"), **PRIVATE)


def _wire_plots(plots: gr.HTML, last: gr.State, traces: dict[str, Trace]) -> None:
    """The decode as Plotly figures: each forest as a frame, and the whole decode as one tree."""

    def draw(recording: str, dark: bool, trace: Trace | None) -> str:
        trace = traces.get(recording, trace)
        if trace is None or not trace.iterations:
            return message("plots", bulk=[])
        theme: Theme = "dark" if dark else "light"
        figures = (forest_figure(trace, "all", theme=theme), decode_figure(trace, theme=theme))
        return message("plots", bulk=[json.loads(figure.to_json()) for figure in figures])

    shown = [gr.Textbox("", visible="hidden"), gr.Checkbox(False, visible="hidden")]
    # its script triggers the event
    plots.submit(draw, [*shown, last], plots, js=_calls("plotted"), concurrency_id="traces", **PRIVATE)


def offer_decode(runner: Runner) -> None:
    """Add the endpoint ``/decode`` for programs."""

    def decode(
        request: gr.Request, prompt: str, settings: dict[str, Any] | None = None, pair: str = ""
    ) -> Iterator[dict[str, Any]]:
        """Decode a prompt. It streams; the answer comes last.

        Args:
            prompt: text.
            settings: fields of DecodingSettings by name; left out ones have their defaults.
            pair: a name of this page's pairs; empty is the first.

        Yields:
            ``text`` of the best hypothesis so far, which may still change, and ``iteration``, from 1, or 0 before the
            first; at last ``text``, ``token_ids``, ``beams`` (ranked), ``stats`` and ``settings`` as resolved.
        """
        sent_at = 0.0
        try:
            checked = DecodingSettings.from_dict(settings if settings is not None else {})
            name, text = runner.pairs.check(pair or runner.pairs.first), check_prompt(runner.limits, prompt)
            with closing(runner.decode(request.session_hash or "", name, text, checked)) as steps:
                for step in steps:
                    if step.trace is not None and step.trace.result is not None:
                        yield {**asdict(step.trace.result), "settings": asdict(step.trace.settings)}
                    elif time.monotonic() - sent_at >= FRAME_SECONDS:
                        yield {"text": step.text, "iteration": step.iteration.index + 1 if step.iteration else 0}
                        sent_at = time.monotonic()
        except Exception as error:
            raise gr.Error(sentence(error), print_exception=False) from None

    gr.api(decode, api_name="decode", concurrency_id="gpu", concurrency_limit=runner.turns.most)
