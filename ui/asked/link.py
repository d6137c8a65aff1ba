"""Links that restore the form: pair, prompt and settings as the address of the page names them."""

from collections.abc import Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

from dsbd.errors import PairError, SettingsError
from dsbd.settings import DecodingSettings

from ..host.limits import Limits, check_tokens
from ..pairs.shelf import BUNDLED_KEYS, PAGE, PairShelf, bundled_key
from .form import DEFAULTS, FIELDS, Field, check_prompt, is_read, settings_of, shown_value, values_of

PROMPT, METHOD, PAIR = "prompt", "method", "pair"
NAMES = (PROMPT, METHOD, PAIR, *(field.name for field in FIELDS))
TRUTHS = {"true": True, "false": False}
OTHERS = ("view", "deep_link", "session_hash", "logs")
"""Names that Gradio and Spaces put into an address; so are those that begin with two underscores."""


class Linked(NamedTuple):
    """What an address asks for; None is what it does not name."""

    prompt: str | None
    settings: DecodingSettings | None
    pair: str | None
    """Key of a pair of this page."""


def is_form(linked: Linked) -> bool:
    """True where more is named than the pair."""
    return linked.prompt is not None or linked.settings is not None


def query_of(prompt: str, settings: DecodingSettings, pair: str) -> str:
    """The part of an address behind its question mark.

    Args:
        prompt: as typed.
        settings: the method is named, and what is not its default.
        pair: of :func:`pair_name`.
    """
    given = {PROMPT: prompt, METHOD: settings.method, PAIR: pair}
    for field, value in zip(FIELDS, values_of(settings), strict=True):
        if value != shown_value(field):
            given[field.name] = str(value).lower() if isinstance(value, bool) else str(value)
    return urlencode(given)


def read_query(query: Mapping[str, str], limits: Limits, pairs: PairShelf) -> Linked | None:
    """What an address asks for; None where it names nothing of the form.

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
    """How a link names a pair, also to a page that keeps it under another key.

    A bundled pair has its name, any other one those of its models; of a folder on this machine only the last part.
    """
    own = bundled_key(pairs.page_pair) if key == PAGE else key
    if own in BUNDLED_KEYS:
        return own
    return pairs.words(key)


def pair_key(name: str, pairs: PairShelf) -> str:
    """The key of the pair that a link names so. Raises: PairError."""
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
