"""Links that restore the form: pair, prompt and settings in the address of the page."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from dsbd.errors import PairError, SettingsError
from dsbd.settings import DecodingSettings

from ..host.limits import Limits, check_tokens
from ..pairs.shelf import PairShelf
from .form import DEFAULTS, FIELDS, Field, check_prompt, is_read, number_of, settings_of, shown_value, values_of

PROMPT, METHOD, PAIR = "prompt", "method", "pair"
NAMES = (PROMPT, METHOD, PAIR, *(field.name for field in FIELDS))
TRUTHS = {"true": True, "false": False}
OTHERS = ("view", "deep_link", "session_hash", "logs")
"""Names that Gradio and Spaces put into an address, beside those that begin with two underscores."""


class Linked(NamedTuple):
    """What an address asks for; None where it names nothing."""

    prompt: str | None
    settings: DecodingSettings | None
    pair: str | None
    """Key of a pair of this page."""


def is_form(linked: Linked) -> bool:
    """Return whether more than the pair is named."""
    return linked.prompt is not None or linked.settings is not None


def query_of(prompt: str, settings: DecodingSettings, pair: str) -> str:
    """Return the part of an address behind its question mark: the method and all that is not the default.

    ``pair`` is a name of :func:`pair_name`.
    """
    given = {PROMPT: prompt, METHOD: settings.method, PAIR: pair}
    for field, value in zip(FIELDS, values_of(settings), strict=True):
        if value != shown_value(field):
            given[field.name] = str(value).lower() if isinstance(value, bool) else str(value)
    return urlencode(given)


def read_query(query: Mapping[str, str], limits: Limits, pairs: PairShelf) -> Linked | None:
    """Return what an address asks for; None if it names nothing of the form.

    Raises:
        SettingsError: a name is unknown, or a value is out of range.
        PromptError: the prompt is blank or too long.
        PairError: this page does not have the pair.
    """
    given = {name: value for name, value in query.items() if name not in OTHERS and not name.startswith("__")}
    if not set(given) & set(NAMES):
        return None
    for name in given:
        if name not in NAMES:
            raise SettingsError(f"the address names {name[:60]!r}, which is no field; known are {', '.join(NAMES)}")
    prompt = check_prompt(given[PROMPT], limits) if PROMPT in given else None
    pair = pair_key(given[PAIR], pairs) if PAIR in given else None
    return Linked(prompt, None if set(given) == {PAIR} else _settings(given, limits), pair)


def pair_name(key: str, pairs: PairShelf) -> str:
    """Return the name of a pair in a link, which also a page with other keys understands.

    A bundled pair has its name, any other the names of its models; of a folder only the last part is shown.
    """
    return pairs.bundled(key) or pairs.words(key)


def pair_key(name: str, pairs: PairShelf) -> str:
    """Return the key of the pair that a link names. Raises: PairError."""
    known = [(pair_name(key, pairs), key) for key in pairs.available()]
    for one, key in known:
        if one == name:
            return key
    raise PairError(
        f"the link asks for the pair {name[:100]!r}, which this page does not have; it has "
        f"{', '.join(one for one, _ in known)}; load that pair under Models first, or open the link without pair="
    )


def _settings(given: Mapping[str, str], limits: Limits) -> DecodingSettings:
    method = given.get(METHOD, DEFAULTS.method)
    values = [_value(field, given[field.name]) if field.name in given else shown_value(field) for field in FIELDS]
    check_tokens(limits, values[[field.name for field in FIELDS].index("max_new_tokens")])
    settings = settings_of(method, values)
    for field in FIELDS:
        if field.name in given and not is_read(method, field.name):
            raise SettingsError(f"the address names {field.name}, which {method} does not read; leave it out")
    return settings


def _value(field: Field, text: str) -> Any:
    """Return the value that a text stands for; other text stays as it is, and the settings refuse it."""
    start = shown_value(field)
    if isinstance(start, bool):
        return TRUTHS.get(text, text)
    return text if isinstance(start, str) else number_of(text)
