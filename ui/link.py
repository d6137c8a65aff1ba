"""Links that restore the form: the prompt and the settings as the address of the page names them."""

from collections.abc import Mapping
from typing import Any
from urllib.parse import urlencode

from dsbd.errors import SettingsError
from dsbd.settings import DecodingSettings

from .form import DEFAULTS, FIELDS, Field, check_prompt, is_read, settings_of, shown_value, values_of
from .limits import Limits

PROMPT, METHOD = "prompt", "method"
NAMES = (PROMPT, METHOD, *(field.name for field in FIELDS))
TRUTHS = {"true": True, "false": False}
OTHERS = ("view", "deep_link", "session_hash", "logs")
"""Names that Gradio and Spaces put into an address; so are those that begin with two underscores."""


def query_of(prompt: str, settings: DecodingSettings) -> str:
    """The part of an address behind its question mark: the prompt, the method, and what is not its default."""
    given = {PROMPT: prompt, METHOD: settings.method}
    for field, value in zip(FIELDS, values_of(settings), strict=True):
        if value != shown_value(field):
            given[field.name] = str(value).lower() if isinstance(value, bool) else str(value)
    return urlencode(given)


def read_query(query: Mapping[str, str], limits: Limits) -> tuple[str | None, DecodingSettings] | None:
    """Prompt and settings that an address names; None where it names neither. A prompt it leaves out is None.

    Raises:
        SettingsError: a name is unknown, or a value is out of range.
        PromptError: the prompt is blank or too long.
    """
    given = {name: value for name, value in query.items() if name not in OTHERS and not name.startswith("__")}
    if not set(given) & set(NAMES):
        return None
    for name in given:
        if name not in NAMES:
            raise SettingsError(f"the address names {name[:60]!r}, which is no field; known are {', '.join(NAMES)}")
    prompt = check_prompt(given[PROMPT], limits) if PROMPT in given else None
    method = given.get(METHOD, DEFAULTS.method)
    values = [_value(field, given[field.name]) if field.name in given else shown_value(field) for field in FIELDS]
    settings = settings_of(method, values)
    for field in FIELDS:
        if field.name in given and not is_read(method, field.name):
            raise SettingsError(f"the address names {field.name}, which {method} does not read; leave it out")
    return prompt, settings


def _value(field: Field, text: str) -> Any:
    """What the text means to the field; what it cannot mean stays a text, which the settings refuse."""
    start = shown_value(field)
    if isinstance(start, bool):
        return TRUTHS.get(text, text)
    if isinstance(start, str):
        return text
    try:
        return int(text)
    except ValueError:
        pass
    try:
        return float(text)
    except ValueError:
        return text
