"""The Play tab: the prompt, the settings, the forest of a decode as it grows, and what can be done with its text.

The browser keeps traces: a run sends the records of its iterations, and ``play.js`` adds them to the viewer. Opening
a file, the list of a visit's decodes, saving and sharing happen there. Of a visitor's last decode the server keeps the
trace, to draw it with Plotly.
"""

import json
import os
import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict, dataclass, replace
from functools import lru_cache, partial
from itertools import count
from typing import Any

import gradio as gr

from dsbd.errors import DsbdError, StoppedError
from dsbd.settings import DecodingSettings
from dsbd.tracing.trace import Trace
from dsbd.util import SMOLLM2, asset_path
from visualize import decode_figure, forest_figure
from visualize.pages.document import packed_json
from visualize.race import describe_seconds
from visualize.theme import Theme
from visualize.words import Words

from . import form as fields
from .comparison import describe, pass_times
from .limits import check_prompt
from .middleware import LEARN, OWN
from .parts import PRIVATE, alert, markup, read, scripted, sentence
from .race_markup import RECORDED, describe_recorded, rows_markup, rows_of, task_of
from .runner import TARGETS, Pairs, Runner, Step

COPIED = "Guesses are copied from the text: there is no small model. "
FRAME_SECONDS = 0.12
"""Shortest time between two updates of a browser, however fast the model is."""
RUN: dict[str, Any] = {**PRIVATE, "concurrency_id": "gpu", "concurrency_limit": 1}
"""An event that uses the models; all these events wait in one line."""
READY = (gr.update(visible=True), gr.update(visible=False))
"""The buttons Run and Stop."""
BEGIN = "() => [{__type__: 'update', visible: false}, {__type__: 'update', visible: true}, '']"
"""The same in the browser, at once, for the run may have to wait; and the last problem goes."""
IS_LENT = bool(os.environ.get("SPACES_ZERO_GPU"))
"""Whether the page runs on ZeroGPU: it lends a GPU to runs only, and a visitor's share of it is small."""
KEEP = gr.skip()
STAYS = ("max_new_tokens", "temperature", "seed")
"""Fields that a preset leaves as they are."""
STOPPED = "Stopped. What was recorded stays."
RECORDED_NOTE = "A recorded decode. Press Run to measure it here."
_NUMBERS = count(1)


@dataclass(frozen=True)
class Form:
    """The form: what the next run decodes, and how."""

    pair: gr.Radio
    prompt: gr.Textbox
    method: gr.Dropdown
    fields: list[gr.components.Component]
    run: gr.Button
    stop: gr.Button

    @property
    def filled(self) -> list[gr.components.Component]:
        """What a recorded decode fills in: the prompt, and all settings."""
        return [self.prompt, self.method, *self.fields]


def message(kind: str, **content: Any) -> str:
    """Return what ``play.js`` draws: JSON with a number, which makes every message new, its bulk packed."""
    packed = packed_json(content.pop("bulk", None))
    return json.dumps({"number": next(_NUMBERS), "kind": kind, **content, "packed": packed}, separators=(",", ":"))


@lru_cache(maxsize=1)
def recorded() -> dict[str, Trace]:
    """Return the bundled recordings by name."""
    paths = sorted(asset_path("traces").glob("*.gz"), key=lambda path: int(path.name.partition("-")[0]))
    return {path.name.removesuffix(".json.gz"): Trace.load(path) for path in paths}


def title_of(name: str) -> str:
    """Return a recording as a visitor reads it: ``4-cover-nodes`` is *Cover nodes*."""
    words = name.partition("-")[2].replace("-", " ")
    return words[:1].upper() + words[1:]


def build_play_tab(runner: Runner, page: gr.Blocks) -> Form:
    """Build the tab; returns its form, whose settings Race shares."""
    traces, pair = recorded(), runner.pairs.first
    own = [name for name, trace in traces.items() if trace.models.target.id == runner.pairs.target(pair)]
    own.sort(key=lambda name: traces[name].settings.min_width < traces[name].settings.max_width)  # first what is exact
    opening = traces[own[0]] if own else None
    settings = fields.preset("exact", pair)
    with gr.Column(elem_classes="workbench main play"):
        form, presets, chips, knows, note = _build_form(runner, settings, bool(own))
        problem = scripted("", "${value}", "problem.js", "problem")
        stage = _build_stage(runner, opening, own[0] if own else "", traces)
        last = gr.State(None)
        _wire_plotly(last, traces)
    parts = [stage, note, problem, form.run, form.stop, last]
    _wire_run(runner, form, parts)
    _wire_form(runner.pairs, form, presets, chips, [knows, note])
    _wire_link(runner, form, page, problem)
    return form


def _build_form(
    runner: Runner, settings: DecodingSettings, has_opening: bool
) -> tuple[Form, gr.Radio, list[gr.Button], gr.HTML, gr.HTML]:
    pairs, words = runner.pairs, fields.examples_for(runner.pairs.first)
    offered = [(pairs.title(name), name) for name in pairs.names]
    with gr.Row(elem_classes="pair-line", equal_height=False):
        pair = gr.Radio(
            offered, value=pairs.first, label="Models", show_label=False, container=False, elem_id="pair",
            visible=True if len(offered) > 1 else "hidden",
        )  # fmt: skip
        knows = markup(_knows(pairs, pairs.first), "knows")
    with gr.Row(elem_classes="ask-line", equal_height=False):
        prompt = gr.Textbox(
            next(iter(words.values())), label="Prompt", show_label=False, container=False,
            placeholder=_placeholder(pairs.first), lines=1, max_lines=6, scale=1, min_width=120, elem_id="prompt",
        )  # fmt: skip
        run = gr.Button("Run", variant="primary", elem_id="run", min_width=0)
        stop = gr.Button("Stop", variant="stop", visible=False, elem_id="stop", min_width=0)
        markup(read("drawer_switch.html"), "gear")
    with gr.Row(elem_classes="chips"):
        chips = [gr.Button(word, size="sm", elem_classes="chip", min_width=0) for word in words]
        note = markup(_note(has_opening), "note")
    with gr.Column(elem_id="drawer", elem_classes="group"):
        markup(read("drawer.html"))
        with gr.Column(elem_classes="settings"):
            named = [(words, name) for name, (words, _) in fields.PRESETS.items()]
            presets = gr.Radio(named, value="exact", label="What to keep", elem_id="preset")
            method = gr.Dropdown(
                fields.method_choices(), value=settings.method, label="Method", filterable=False, elem_id="method"
            )
            make, shown = partial(fields.build_control, settings=settings, limits=runner.limits), fields.SHOWN
            controls = {name: make(name) for name in shown if shown[name].main}
            with gr.Accordion("More settings", open=False, elem_classes="fold"):
                controls |= {name: make(name) for name in shown if name not in controls}
        markup(read("drawer_foot.html"), "drawer-foot")
    return Form(pair, prompt, method, [controls[name] for name in shown], run, stop), presets, chips, knows, note


def _knows(pairs: Pairs, pair: str) -> str:
    tip = f"<p><small>{pairs.tip}</small></p>" if pairs.tip else ""
    return f"<p>{fields.KNOWS.get(pair, 'Continues any text, as well as its large model can.')}</p>{tip}"


def _placeholder(pair: str) -> str:
    asks = {fields.SQL: "Ask about the library", SMOLLM2: "Ask, or give a text to work on"}
    return asks.get(pair, "Write how a text begins")


def _build_stage(runner: Runner, opening: Trace | None, name: str, traces: dict[str, Trace]) -> gr.HTML:
    """The answer, and the forest below it; the script knows the form and the names of all recordings."""
    pairs = runner.pairs
    asked = fields.as_prompt(pairs.first, next(iter(fields.examples_for(pairs.first).values())))
    timed = None if IS_LENT else pass_times(pairs.get(pairs.first), asked)
    facts = fields.form_facts() | {
        "recorded": [
            {
                "name": one,
                "title": title_of(one),
                "target": trace.models.target.id,
                "prompt": trace.prompt.text,
                "rows": drawn_rows(trace),
                "settings": {name: getattr(trace.settings, name) for name in ("method", *fields.WIDTHS)},
            }
            for one, trace in traces.items()
        ],
        "presets": {one: {name: _filled(fields.preset(name, one)) for name in fields.PRESETS} for one in pairs.names},
        "temperatures": {pair: fields.preset("exact", pair).temperature for pair in pairs.names},
        "examples": {pair: list(fields.examples_for(pair).values()) for pair in pairs.names},
        "targets": {pair: pairs.target(pair) for pair in pairs.names},
        "raced": {pairs.target(pair): describe_recorded(pair) for pair in pairs.names if pair in RECORDED},
        "passes": {pairs.target(pairs.first): timed and timed._asdict()},
        "note": RECORDED_NOTE,
        "own": OWN.strip("/"),
        "live": f"{LEARN.strip('/')}/live/",
    }
    first = message("show", name=name, bulk=opening.to_dict()) if opening else ""
    return scripted(first, read("stage.html"), "play.js", "forest", facts)


def _filled(settings: DecodingSettings) -> list[Any]:
    """Return method and fields that a preset fills in; None leaves a field as it is."""
    values = zip(fields.SHOWN, fields.values_of(settings), strict=True)
    return [settings.method, *(None if field in STAYS else value for field, value in values)]


def rows_in(trace: Trace, text: str | None) -> list[Any] | str | None:
    """Return the rows of a text as the query of a decode, or why it has none; None if the decode writes no query."""
    return rows_of(task_of(fields.SQL), text or "") if trace.models.target.id == TARGETS[fields.SQL] else None


def drawn_rows(trace: Trace) -> str:
    """Return markup of the rows of a decode's query; nothing of a decode that writes no query."""
    return "" if trace.result is None else rows_markup(rows_in(trace, trace.result.text))


def _wire_run(runner: Runner, form: Form, parts: list[Any]) -> None:
    """Run and Stop. Gradio closes the run of a visitor who stops it or leaves."""

    def run(request: gr.Request, pair: Any, prompt: Any, method: Any, *values: Any) -> Iterator[list[Any]]:
        yield from decode_frames(runner, request.session_hash or "", pair, prompt, method, values)

    def stopped(request: gr.Request) -> list[Any]:
        runner.stop(request.session_hash or "")
        return [message("stopped"), STOPPED, *READY]

    stage, note, problem, *buttons, _ = parts
    begun = gr.on([form.run.click, form.prompt.submit], None, None, [*buttons, problem], js=BEGIN, **PRIVATE)
    waits: dict[str, Any] = {**RUN, "show_progress": "minimal", "show_progress_on": note}
    running = begun.then(run, [form.pair, *form.filled], parts, **waits)
    running.failure(lambda: READY, None, buttons, queue=False, **PRIVATE)
    ended = form.stop.click(stopped, None, [stage, note, *buttons], cancels=running, queue=False, **PRIVATE)
    ended.then(lambda: STOPPED, None, note, queue=False, **PRIVATE)  # a frame of the run may have come in between


def decode_frames(
    runner: Runner, session: str, pair: Any, prompt: Any, method: Any, values: Any
) -> Iterator[list[Any]]:
    """Yield stage, note, problem, Run, Stop and the trace so far; every few iterations, and at the end of the run."""
    news: list[Any] = []
    passes, shown_at, words, told = 0, 0.0, "", Words().counted
    trace: Any = None
    try:
        settings = fields.settings_of(method, values, runner.limits)
        name, typed = runner.pairs.check(pair), check_prompt(runner.limits, prompt)
        far = fields.far_from(name, typed)
        with closing(runner.decode(session, name, fields.as_prompt(name, typed), settings, not IS_LENT)) as steps:
            for step in steps:
                if step.beside is not None:
                    rows = [rows_in(trace, text) for text in (trace.result.text, step.beside.text)]
                    yield [message("beside", **describe(trace, step.beside, rows)), KEEP, "", KEEP, KEEP, KEEP]
                    continue
                if step.opening is not None:
                    trace, used = step.opening, runner.pairs.get(name)
                    far += "Sent as a chat. " if used.is_chat else ""
                    far += COPIED if trace.settings.draft_depth and used.copies else ""
                    yield [message("begin", bulk=trace.to_dict()), KEEP, "", KEEP, KEEP, None]
                    continue
                if step.iteration is None:
                    yield [KEEP, f"{words} {step.doing}", "", KEEP, KEEP, KEEP]
                    continue
                passes += 1
                news.append(step.iteration.to_dict())
                if step.trace is not None:
                    trace = step.trace
                    took = describe_seconds(trace.result.stats["seconds"])
                    words = f"{far}Decoded just now: {told('passes', passes)}, {took}."
                    whole = replace(trace, iterations=[]).to_dict()
                    yield [_more(news, step, whole, drawn_rows(trace)), words, "", KEEP, KEEP, trace]
                elif time.monotonic() - shown_at >= FRAME_SECONDS:
                    shown_at = time.monotonic()
                    yield [_more(news, step), f"{far}Decoding, pass {passes} …", "", KEEP, KEEP, KEEP]
                    news = []
        yield [KEEP, f"{words} Step through them below.", "", *READY, KEEP]
    except StoppedError as error:
        yield [message("stopped"), f"{error} What was recorded stays: {told('passes', passes)}.", "", *READY, KEEP]
    except Exception as error:
        yield [message("stopped"), "", alert(sentence(error)), *READY, KEEP]


def _more(news: list[Any], step: Step, whole: Any = None, rows: str = "") -> str:
    """Return the iterations that are new; ``whole``: the trace without them, once the decode has ended."""
    return message("more", settled=step.settled, rows=rows, bulk={"iterations": news, "trace": whole})


def _note(has_recording: bool) -> str:
    return RECORDED_NOTE if has_recording else "Press Run."


def _wire_form(pairs: Pairs, form: Form, presets: gr.Radio, chips: list[gr.Button], said: list[gr.HTML]) -> None:
    """Examples belong to the pair, fields to the method."""
    _, note = said

    def fields_of(method: Any) -> list[Any]:
        return [gr.update(visible=fields.is_read(method, name)) for name in fields.SHOWN]

    def other(pair: Any) -> list[Any]:
        words = [gr.update(value=word) for word in fields.examples_for(pair)]
        note = _note(any(trace.models.target.id == pairs.target(pair) for trace in recorded().values()))
        return [_knows(pairs, pair), note, *words, gr.update(placeholder=_placeholder(pair))]

    form.method.change(fields_of, form.method, form.fields, queue=False, **PRIVATE)
    fitting = "(...settings) => globalThis.DsbdPage.fitting(...settings)"
    settings: list[Any] = form.filled[1:]
    gr.on([control.change for control in settings], None, settings, presets, js=fitting, **PRIVATE)
    choose = "(name, pair) => globalThis.DsbdPage.preset(name, pair)"
    presets.input(None, [presets, form.pair], form.filled[1:], js=choose, **PRIVATE)
    for place, chip in enumerate(chips):
        click = f"(...chosen) => globalThis.DsbdPage.example({place}, ...chosen)"
        chip.click(None, [form.pair, presets], [form.prompt, note], js=click, **PRIVATE)
    asks = "(pair, prompt) => globalThis.DsbdPage.asks(pair, prompt)"
    form.prompt.change(None, [form.pair, form.prompt], note, js=asks, **PRIVATE)
    form.pair.change(other, form.pair, [*said, *chips, form.prompt], queue=False, **PRIVATE)
    begin = "(name, pair) => globalThis.DsbdPage.begin(name, pair)"
    form.pair.input(None, [presets, form.pair], form.filled, js=begin, **PRIVATE)
    ask = gr.Button(visible="hidden", elem_id="form-ask")  # scripts press these two, for Gradio alone knows the form
    ask.click(None, [form.pair, *form.filled], js="(...form) => globalThis.DsbdPage.told(form)", **PRIVATE)
    fill = gr.Button(visible="hidden", elem_id="form-fill")
    fill.click(None, outputs=[form.pair, *form.filled, note], js="() => globalThis.DsbdPage.filling()", **PRIVATE)


def _wire_link(runner: Runner, form: Form, page: gr.Blocks, problem: gr.HTML) -> None:
    """A link fills in the form and, with a prompt, runs it."""

    def linked(request: gr.Request) -> list[Any]:
        kept: list[Any] = [KEEP] * (2 + len(fields.SHOWN))
        try:
            prompt, settings, pair = fields.read_query(dict(request.query_params), runner.limits)
            chosen = KEEP if pair is None else runner.pairs.check(pair)
        except DsbdError as error:
            words = f"The link could not be followed: {sentence(error)} Known are {', '.join(fields.NAMES)}."
            return [KEEP, *kept, alert(words), False]
        values = kept[2:] if settings is None else fields.values_of(settings)
        method = KEEP if settings is None else settings.method
        return [chosen, KEEP if prompt is None else prompt, method, *values, "", prompt is not None]

    runs = gr.Checkbox(False, visible="hidden")
    outputs = [form.pair, *form.filled, problem, runs]
    told = page.load(linked, None, outputs, queue=False, **PRIVATE)
    click = "(runs) => globalThis.DsbdPage.followLink(runs)"
    told.then(None, runs, js=click, **PRIVATE)


def _wire_plotly(last: gr.State, traces: dict[str, Trace]) -> None:
    """The decode as Plotly figures: each forest as a frame, and the whole decode as one tree."""

    def drawn(shown: str, dark: bool, trace: Trace | None) -> str:
        trace = traces.get(shown, trace)
        if trace is None or not trace.iterations:
            return json.dumps([])
        theme: Theme = "dark" if dark else "light"
        figures = (forest_figure(trace, "all", theme=theme), decode_figure(trace, theme=theme))
        return json.dumps([json.loads(figure.to_json()) for figure in figures])

    name, dark = gr.Textbox("", visible="hidden"), gr.Checkbox(False, visible="hidden")
    figures = gr.Textbox("", visible="hidden")
    ask = gr.Button(visible="hidden", elem_id="plotly-ask")  # play.js presses it
    drawing = ask.click(None, None, [name, dark], js="() => globalThis.DsbdPage.plotlyAsked()", **PRIVATE)
    drawing = drawing.then(drawn, [name, dark, last], figures, concurrency_id="traces", **PRIVATE)
    drawing.then(None, figures, js="(figures) => globalThis.DsbdPage.drawPlotly(JSON.parse(figures))", **PRIVATE)


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
            ``text`` of the best hypothesis so far, which may still change, and ``iteration``, from 1; at last ``text``,
            ``token_ids``, ``beams`` (ranked), ``stats`` and ``settings`` as resolved.
        """
        told_at = 0.0
        try:
            asked = DecodingSettings.from_dict(settings if settings is not None else {})
            name = runner.pairs.check(pair or runner.pairs.first)
            given = check_prompt(runner.limits, prompt)
            with closing(runner.decode(request.session_hash or "", name, given, asked)) as steps:
                for step in steps:
                    if step.trace is not None and step.trace.result is not None:
                        yield {**asdict(step.trace.result), "settings": asdict(step.trace.settings)}
                    elif step.iteration is not None and time.monotonic() - told_at >= FRAME_SECONDS:
                        yield {"text": step.text, "iteration": step.iteration.index + 1}
                        told_at = time.monotonic()
        except Exception as error:
            raise gr.Error(sentence(error), print_exception=False) from None

    gr.api(decode, api_name="decode", concurrency_id="gpu", concurrency_limit=1)
