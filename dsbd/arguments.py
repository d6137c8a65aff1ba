"""Checks the arguments of the public functions; an error names the value and what is allowed."""

from collections.abc import Collection
from typing import Any

from dsbd.errors import PairError, SettingsError
from dsbd.methods import has_auto
from dsbd.models.pair import Pair
from dsbd.observer import Observer
from dsbd.settings import DecodingSettings
from dsbd.snapshot import Enough, Until, never_enough


def settings_of(pair: Any, settings: Any) -> DecodingSettings:
    """Return the settings asked for, the defaults for None.

    Raises:
        PairError: ``pair`` is not a pair.
        SettingsError: ``settings`` are of another type.
    """
    if not isinstance(pair, Pair):
        raise PairError(f"pair is {_named(pair)}; give what dsbd.load_pair or dsbd.make_pair returns")
    if settings is None:
        return DecodingSettings()
    if not isinstance(settings, DecodingSettings):
        remedy = "DecodingSettings.from_dict(...)" if isinstance(settings, dict) else "DecodingSettings(...)"
        raise SettingsError(f"settings is {_named(settings)}; give dsbd.{remedy} or None")
    return settings


def enough_of(until: Any, record: bool) -> Enough:
    """Return when a decode may end. Raises: SettingsError: ``until`` is not a list of texts, or a trace is recorded."""
    is_list = isinstance(until, Collection) and not isinstance(until, str)
    if not is_list or not all(isinstance(text, str) and text for text in until):
        raise SettingsError(f"until is {_named(until)}; give a list of texts that are not empty")
    if until and record:
        raise SettingsError("until ends a decode early, and a trace is of a whole decode; leave out until or record")
    return Until(list(until)) if until else never_enough


def check_helpers(observers: Any, stop: Any) -> None:
    """Check observers and ``stop``. Raises: SettingsError: one of them is of another kind."""
    if not isinstance(observers, Collection) or not all(isinstance(one, Observer) for one in observers):
        raise SettingsError(f"observers is {_named(observers)}; give a list of dsbd.Observer")
    if stop is not None and not callable(stop):
        raise SettingsError(f"stop is {_named(stop)}; give a function without arguments, or None")


def check_processors(processors: Any, asked: DecodingSettings, record: bool) -> None:
    """Check processors. Raises: SettingsError: one is not a function, or another argument rules them out."""
    if not isinstance(processors, Collection) or not all(callable(processor) for processor in processors):
        raise SettingsError(f"processors is {_named(processors)}; give a list of functions of ids and logits")
    reasons = {
        "a trace does not hold what they did; leave out record": record,
        "auto measures without them; give numbers": has_auto(asked),
        "mjgd searches blocks without them; choose another method": asked.method == "mjgd",
    }
    for reason, applies in reasons.items():
        if processors and applies:
            raise SettingsError(f"processors are given, and {reason}")


def _named(value: Any) -> str:
    """Return a value as an error names it: small ones whole, any other by its type."""
    shown = repr(value)
    return shown if len(shown) <= 60 else f"a value of type {type(value).__name__}"
