"""The form of the page: its fields, its example prompts, and the conversion of values, settings and addresses.

Labels, help, ranges and readers of a field are in :data:`dsbd.settings.FIELDS`; here is only how it is shown.
"""

import json
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from typing import Any, NamedTuple

import gradio as gr

from dsbd.bench.tasks import load_task
from dsbd.errors import SettingsError
from dsbd.methods import ABOUT, DRAFTING_METHODS
from dsbd.settings import AUTO, AUTO_FIELDS, FIELDS, METHODS, DecodingSettings, branching_of, fields_of
from dsbd.util import SMOLLM2, asset_path
from visualize.pages.live import QUESTION

from .limits import Limits, check_prompt, check_tokens
from .parts import read

SQL = "bundled:sql"
"""The pair whose prompts are questions: a visitor types the question alone."""
_CONTENT = json.loads(read("examples.json"))
EXAMPLES: dict[str, dict[str, str]] = _CONTENT["prompts"]
"""Example prompts of each pair by the words on their buttons, four for every pair; ``others``: of all other pairs."""
EXAMPLES["bundled:memory"] = {
    "A word from long before": next(one.prompt for one in load_task("needle").questions(None) if one.id == "10-6"),
    "A whole chapter": asset_path("chapters/oz.txt").read_text(encoding="utf-8").rstrip("\n"),
} | dict(list(EXAMPLES["bundled:stories"].items())[:2])  # two that only a memory can read: they do not fit the context
DESCRIPTIONS: dict[str, str] = _CONTENT["descriptions"]
"""What a pair can do, in a sentence."""
LIBRARY = re.compile(
    r"\b(author|writer|book|novel|title|cop(y|ies)|member|reader|loan|borrow|lent|branch|librar|prize|genre|fine|staff)",
    re.IGNORECASE,
)
ASKS = re.compile(r"\s*(what|who|when|where|why|how|which|is|are|explain|write|list|translate)\b.*", re.I | re.S)


class Shown(NamedTuple):
    """How a setting is shown: a slider with these ends, a number where there is no step, or what its kind asks for."""

    low: float | None = None
    high: float | None = None
    step: float | None = 1
    main: bool = False
    """True: it is above the fold."""


SHOWN = {
    "max_new_tokens": Shown(1, 256, main=True), "temperature": Shown(0, 2, 0.05, main=True),
    "draft_depth": Shown(0, 8, main=True), "branching": Shown(main=True), "draft_width": Shown(1, 16, main=True),
    "replacement": Shown(main=True), "forest": Shown(main=True), "width_threshold": Shown(0, 1, 0.05, main=True),
    "joint_threshold": Shown(0, 1.05, 0.05, main=True), "block": Shown(1, 3, main=True),
    "num_beams": Shown(1, 16, main=True), "seed": Shown(0, 2**31 - 1, None, main=True), "min_width": Shown(1, 8),
    "max_width": Shown(0, 16), "input_beams": Shown(0, 16), "landing": Shown(), "cover_width": Shown(0, 32),
    "top_k": Shown(0, 200), "top_p": Shown(0.05, 1, 0.05), "length_penalty": Shown(-2, 2, 0.1),
}  # fmt: skip
"""The fields, in the order of the form."""
GUESSING = DRAFTING_METHODS - {"mjsd"}
"""The methods that guess from texts that are known."""
DEFAULT = "default"
"""What the form and links say where the forest is None."""
PRESETS: dict[str, tuple[str, dict[str, Any]]] = {
    "exact": ("Exact: the text of beam sampling, token for token", {"method": "dsbd", "min_width": 4, "max_width": 4}),
    "fast": ("Dynamic: narrower where the large model is sure", {"method": "dsbd", "max_width": 4, "draft_width": 4}),
    "plain": ("Plain: beam sampling, nothing is guessed", {"method": "beam_sampling"}),
}
"""Sets of settings by name: what a visitor reads, and the fields that differ from their defaults."""
SEED = 7
"""The seed of the form when it opens, and of the recordings: so a first run writes the recorded text again."""
WIDTHS = ("draft_width", "min_width", "max_width", "input_beams")
"""The fields by which presets are told apart, besides the method."""
_DEEP: dict[str, Any] = {"draft_depth": 8, "draft_width": 4}
SUITED: dict[str, dict[str, Any]] = {SQL: _DEEP, SMOLLM2: _DEEP | {"temperature": 0.2}}
"""What presets change on a pair: guesses are deeper where nearly all are kept, and a chat model is less random."""
PROMPT, METHOD, PAIR = "prompt", "method", "pair"
NAMES = (PROMPT, METHOD, PAIR, *SHOWN)
OTHERS = ("view", "deep_link", "session_hash", "logs")
"""Names that Gradio and Spaces put into an address, besides those that begin with two underscores."""


def examples_for(pair: str) -> dict[str, str]:
    """Return {word: prompt} for a pair."""
    return EXAMPLES.get(pair, EXAMPLES["others"])


def as_prompt(pair: str, text: str) -> str:
    """Return what the models read of what a visitor typed: a question is put into the words of its pair."""
    return text if pair != SQL or text.lstrip().startswith("Q:") else QUESTION.format(text.strip())


def remark_on(pair: str, text: str) -> str:
    """Return a note where a prompt is far from what a bundled pair knows, else nothing."""
    if pair == SQL and not LIBRARY.search(text):
        return "This pair knows a library only, and the question names nothing of it. "
    if pair not in (SQL, SMOLLM2) and pair in DESCRIPTIONS and (ASKS.fullmatch(text) or text.rstrip().endswith("?")):
        return "This pair writes stories; it knows no facts. Give it the beginning of one. "
    return ""


def method_choices() -> list[tuple[str, str]]:
    """Return label and name of every method; the label says its kind: a list has no headings."""
    return [(f"{about.kind[:1].upper()}{about.kind[1:]}: {about.label}", name) for name, about in ABOUT.items()]


def is_read(method: Any, name: str) -> bool:
    """Return whether the method reads the field; an unknown method reads all."""
    return method not in METHODS or name in {field.name for field in fields_of(method)}


def shown_value(name: str, value: Any) -> Any:
    """Return what the form shows for the value of a setting."""
    if value == AUTO and name != "forest":  # shown by its forest
        value = FIELDS[name].default
    if isinstance(value, tuple):
        return ",".join(map(str, value))
    if value is None:
        return DEFAULT if name == "forest" else 0
    return value


def values_of(settings: DecodingSettings) -> list[Any]:
    """Return what the form shows for these settings, in the order of :data:`SHOWN`; :func:`settings_of` reverses it.

    Fields that the method does not read show their defaults.
    """
    values = {name: getattr(settings, name) for name in SHOWN if is_read(settings.method, name)}
    if settings.is_auto and "forest" in values:
        values["forest"] = AUTO
    return [shown_value(name, values.get(name, FIELDS[name].default)) for name in SHOWN]


def preset(name: str, pair: str) -> DecodingSettings:
    """Return the settings of a preset for a pair."""
    values = PRESETS[name][1]
    suited = {field: value for field, value in SUITED.get(pair, {}).items() if is_read(values["method"], field)}
    return DecodingSettings(**(values | suited), seed=SEED)


def settings_of(method: Any, values: Sequence[Any], limits: Limits) -> DecodingSettings:
    """Return the settings of the form, ``values`` in the order of :data:`SHOWN`; hidden fields keep their defaults.

    Raises: SettingsError: a value is out of range, or two contradict each other.
    """
    settings = {name: _plain(name, value) for name, value in zip(SHOWN, values, strict=True) if is_read(method, name)}
    check_tokens(limits, settings.get("max_new_tokens"))
    if settings.get("forest") == AUTO:
        settings |= {"forest": None} | dict.fromkeys(AUTO_FIELDS, AUTO)
    return DecodingSettings(method=method, **settings)


def _plain(name: str, value: Any) -> Any:
    """Return the setting for a component's value. Raises: SettingsError: it is empty or cannot be read."""
    about = FIELDS[name]
    if None in about.also and value in (0, DEFAULT, None):
        return None
    if value is None:
        raise SettingsError(f"{name} is empty; write a value, such as {shown_value(name, about.default)}")
    if name == "branching" and isinstance(value, str):
        return branching_of(value)
    if about.kind == "whole" and isinstance(value, float) and value.is_integer():
        return int(value)
    return value


def read_query(query: Mapping[str, str], limits: Limits) -> tuple[str | None, DecodingSettings | None, str | None]:
    """Return prompt, settings and pair that an address asks for, None where it names nothing.

    Raises:
        SettingsError: a name is unknown, or a value is out of range.
        PromptError: the prompt is blank or too long.
    """
    texts = {name: value for name, value in query.items() if name not in OTHERS and not name.startswith("__")}
    if not set(texts) & set(NAMES):
        return None, None, None
    for name in set(texts) - set(NAMES):
        raise SettingsError(f"the address names {name[:60]!r}, which is no field; known are {', '.join(NAMES)}")
    prompt = check_prompt(limits, texts[PROMPT]) if PROMPT in texts else None
    return prompt, None if set(texts) == {PAIR} else _linked(texts, limits), texts.get(PAIR)


def _linked(texts: Mapping[str, str], limits: Limits) -> DecodingSettings:
    method = texts.get(METHOD, FIELDS[METHOD].default)
    for name in SHOWN:
        if name in texts and not is_read(method, name):
            raise SettingsError(f"the address names {name}, which {method} does not read; leave it out")
    values = [_typed(name, texts[name]) if name in texts else shown_value(name, FIELDS[name].default) for name in SHOWN]
    return settings_of(method, values, limits)


def _typed(name: str, text: str) -> Any:
    """Return the value that a text stands for; other text stays as it is, and the settings refuse it."""
    if FIELDS[name].kind == "switch":
        return {"true": True, "false": False}.get(text, text)
    if FIELDS[name].kind in ("whole", "number"):
        for kind in (int, float):
            with suppress(ValueError):
                return kind(text)
    return text


def build_control(name: str, settings: DecodingSettings, limits: Limits) -> gr.components.Component:
    """Return the component of a field, with its value of these settings."""
    about, shown = FIELDS[name], SHOWN[name]
    value = dict(zip(SHOWN, values_of(settings), strict=True))[name]
    info = about.help[:1].upper() + about.help[1:]
    if about.kind == "choice":
        info = f"{info.replace('None:', f'{DEFAULT}:')}; {AUTO}: measured here, with depth and width"
    elif about.kind == "whole" and None in about.also:
        info += "; 0 is None"
    common: dict[str, Any] = {"label": about.label, "info": info}
    common |= {"elem_id": f"field-{name}", "visible": is_read(settings.method, name)}
    if about.kind == "choice":
        return gr.Dropdown([DEFAULT, *about.choices, AUTO], value=value, filterable=False, **common)
    if name == "replacement":  # the switch is on where the setting is off
        words = {"label": "Distinct beams", "info": "No two versions of the text are the same, and the forest is wider"}
        return gr.Radio([("On", False), ("Off", True)], value=value, **common | words)
    if about.kind == "switch":
        return gr.Checkbox(value, **common)
    if about.kind == "wholes":
        return gr.Textbox(value, max_lines=1, **common)
    if shown.step is None or shown.low is None or shown.high is None:
        return gr.Number(value, **common)  # its range is checked with the settings, whose message is better
    highest = limits.max_new_tokens if name == "max_new_tokens" else shown.high
    within = min(max(value, shown.low), highest)  # a slider refuses a value outside its range
    return gr.Slider(shown.low, highest, value=within, step=shown.step, buttons=[], **common)


def form_facts() -> dict[str, Any]:
    """Return what the browser knows of the form: its fields, their defaults, and who reads them."""
    return {
        "question": QUESTION,
        "fields": list(SHOWN),
        "defaults": {name: shown_value(name, FIELDS[name].default) for name in SHOWN},
        "settings": {method: {one.name: one.default for one in fields_of(method)} for method in METHODS},
        "reads": {method: [name for name in SHOWN if is_read(method, name)] for method in METHODS},
        "none": {name: shown_value(name, None) for name in SHOWN if None in FIELDS[name].also},
        "labels": {name: FIELDS[name].label for name in SHOWN},
        "methods": {name: about.label for name, about in ABOUT.items()},
        "plain": {name: about.plain for name, about in ABOUT.items()},
        "ranges": {name: [one.low, one.high] for name, one in SHOWN.items() if one.step and one.high},
    }
