"""The form of the Play tab: the line with the prompt, and the drawer with every setting."""

from dataclasses import dataclass
from functools import partial
from typing import Any

import gradio as gr

from dsbd.settings import DecodingSettings

from ..asked.examples import examples_for
from ..asked.form import FIELDS, Field, is_known, is_read, method_choices, shown_value, values_of
from ..decodes import traces
from ..decodes.opening import Opening
from ..engine import Engine
from ..host.limits import Limits
from ..parts.components import drawer_switch, markup
from ..parts.files import read
from ..parts.wiring import PRIVATE
from .pair_loading import build_pairs_panel
from .plotly_view import forest_switch


@dataclass(frozen=True)
class Form:
    """The form: what the next run decodes, and how."""

    pair: gr.State
    """Key of the visitor's pair."""
    pairs: gr.Radio
    """Where it is chosen."""
    chips: list[gr.Button]
    prompt: gr.Textbox
    method: gr.Dropdown
    fields: list[gr.components.Component]
    run: gr.Button
    stop: gr.Button

    @property
    def inputs(self) -> list[gr.components.Component]:
        """In the order of the handlers' arguments."""
        return [self.pair, *self.filled]

    @property
    def filled(self) -> list[gr.components.Component]:
        """What :func:`updates` fills in."""
        return [self.prompt, self.method, *self.fields]


@dataclass(frozen=True)
class TraceTools:
    """What the drawer has besides settings: the list of decodes, and a file of the visitor."""

    shown: gr.Dropdown
    upload: gr.UploadButton
    said: gr.HTML


def build_form(engine: Engine, opening: Opening) -> tuple[Form, TraceTools]:
    """The line and, behind its switch, the drawer, both as the page opens."""
    with gr.Row(elem_classes="ask-line", equal_height=False):
        prompt = gr.Textbox(
            opening.prompt, label="Prompt", show_label=False, container=False, placeholder="Write how a text begins",
            lines=1, max_lines=6, scale=1, min_width=120, elem_id="prompt",
        )  # fmt: skip
        with gr.Row(elem_classes="chips"):
            words = examples_for(engine.pair.target.id)
            chips = [gr.Button(word, size="sm", elem_classes="chip", min_width=0) for word in words]
        run = gr.Button("Run", variant="primary", elem_id="run", min_width=0)
        stop = gr.Button("Stop", variant="stop", visible=False, elem_id="stop", min_width=0)
        drawer_switch()
        forest_switch()
    with gr.Column(elem_id="drawer", elem_classes="group"):
        markup(read("play/drawer.html"))
        tools = _trace_tools(engine)
        method, fields = _settings(engine.limits, opening.settings)
        pair, pairs = build_pairs_panel(engine)
    return Form(pair, pairs, chips, prompt, method, fields, run, stop), tools


def updates(prompt: str | None, settings: DecodingSettings | None, limits: Limits) -> list[Any]:
    """Updates of the whole form, in the order of :attr:`Form.filled`; None leaves a part as it is."""
    asked = gr.skip() if prompt is None else prompt
    if settings is None:
        return [asked, gr.skip(), *[gr.skip()] * len(FIELDS)]
    values = values_of(settings)
    shown = [
        gr.update(value=_within(field, value, limits), visible=is_read(settings.method, field.name))
        for field, value in zip(FIELDS, values, strict=True)
    ]
    return [asked, settings.method, *shown]


def _within(field: Field, value: Any, limits: Limits) -> Any:
    """A slider refuses a value outside its range, so the value of a recording is moved into it."""
    if field.step is None or field.low is None or field.high is None or not isinstance(value, (int, float)):
        return value
    return min(max(value, field.low), _highest(field, limits))


def _settings(limits: Limits, settings: DecodingSettings) -> tuple[gr.Dropdown, list[gr.components.Component]]:
    start = dict(zip((field.name for field in FIELDS), values_of(settings), strict=True))
    make = partial(_control, method=settings.method, start=start, limits=limits)
    with gr.Column(elem_classes="settings"):
        offered = method_choices()
        method = gr.Dropdown(offered, value=settings.method, label="Method", filterable=False, elem_id="method")
        controls = {field.name: make(field) for field in FIELDS if field.main}
        with gr.Accordion("More settings", open=False, elem_classes="fold"):
            controls |= {field.name: make(field) for field in FIELDS if not field.main}
    fields = [controls[field.name] for field in FIELDS]
    method.change(_fields_of, method, fields, queue=False, **PRIVATE)
    return method, fields


def _fields_of(method: Any) -> list[dict[str, Any]]:
    return [gr.update(visible=is_known(method) and is_read(method, field.name)) for field in FIELDS]


def _control(field: Field, method: str, start: dict[str, Any], limits: Limits) -> gr.components.Component:
    common: dict[str, Any] = {"label": field.label, "info": field.info, "elem_id": f"field-{field.name}"}
    common |= {"value": _within(field, start[field.name], limits), "visible": is_read(method, field.name)}
    if field.choices:
        return gr.Dropdown(list(field.choices), filterable=False, **common)
    if isinstance(shown_value(field), str):
        return gr.Textbox(max_lines=1, **common)
    if field.low is None or field.high is None:
        return gr.Checkbox(**common)
    if field.step is None:
        return gr.Number(**common)  # its range is checked with the settings, whose message is better
    return gr.Slider(field.low, _highest(field, limits), step=field.step, buttons=[], **common)


def _highest(field: Field, limits: Limits) -> float:
    assert field.high is not None, "the field has a range"
    return limits.max_new_tokens if field.name == "max_new_tokens" else field.high


def _trace_tools(engine: Engine) -> TraceTools:
    known = traces.recordings_for(engine.pair.target.id)
    with gr.Column(elem_classes="trace-tools"):
        shown = gr.Dropdown(
            known, value=known[0][1] if known else None, label="Decode to look at",
            info="Recorded ones, and the last runs of this visit", filterable=False, elem_id="shown",
        )  # fmt: skip
        with gr.Row(elem_classes="tools"):
            types = [".gz", ".json"]
            upload = gr.UploadButton("Open a trace", file_types=types, size="sm", elem_id="upload", min_width=0)
        said = markup("", elem_id="said")
    return TraceTools(shown, upload, said)
