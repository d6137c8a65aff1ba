"""Who races: from names and settings to contenders."""

from collections.abc import Mapping, Sequence
from dataclasses import fields, replace
from typing import Any

from dsbd.contest.contenders import POINTS, TRANSFORMERS, Contender, contenders
from dsbd.errors import SettingsError
from dsbd.settings import METHODS, DecodingSettings
from visualize.race import label_of

from ..asked.form import number_of

START = ("sampling", "beam_sampling", "speculative", "dsbd:same-law", "dsbd")
"""The default racers: with and without guesses, for one text and for several."""
MORE = (
    *(f"dsbd:{point}" for point in POINTS if point not in ("same-law", "defaults")),
    *(method for method in METHODS if method not in START),
    *TRANSFORMERS,
    "play",
)
"""All others that can race."""
RACERS = (*START, *MORE)
"""Names as the bench reads them; ``play`` is DSBD with every setting of the Play tab."""
PLAY = Contender("dsbd as in Play", "dsbd", DecodingSettings())
WIDTHS = ("min_width", "max_width", "width_threshold")
"""What makes the width dynamic. In a race the width of DSBD stays dynamic, even if the Play tab fixes it."""
SWEPT = ("width_threshold", "draft_width", "draft_depth", "num_beams", "temperature")
"""Settings that may take several values in one race."""
MOST_VALUES = 12

Values = Mapping[str, Sequence[Any]]


def choices(names: Sequence[str]) -> list[tuple[str, str]]:
    """Return label and name of decoders."""
    named = {"dsbd": "dsbd defaults", "play": PLAY.name}
    return [(label_of(named.get(name) or name.replace(":", " ")), name) for name in names]


def racers_of_page(names: Any, settings: DecodingSettings, grid: Values) -> tuple[Contender, ...]:
    """Return contenders in the page's order; points and widths keep their values, all else is as ``settings`` say.

    Raises: SettingsError: an unknown name, or none.
    """
    _check_names(names)
    return tuple(one for name in RACERS if name in names for one in _racers(name, settings, grid))


def racers_of_program(names: Any, given: Values) -> tuple[Contender, ...]:
    """Return contenders with the settings that a program gives; all others have their defaults.

    Decoders of ``transformers`` are refused: they cannot be stopped inside a decode. Raises: SettingsError: an unknown
    name, none, or a setting that a point fixes.
    """
    if isinstance(names, (list, tuple)):
        names = [name.removesuffix(":defaults") if isinstance(name, str) else name for name in names]
    _check_names(names, [name for name in RACERS if name != "play" and name not in TRANSFORMERS])
    return contenders(names, given)


def _check_names(names: Any, known: Sequence[str] = RACERS) -> None:
    if not isinstance(names, (list, tuple)):
        raise SettingsError(f'methods is a {type(names).__name__}; give a list of names, such as ["dsbd"]')
    if not names:
        raise SettingsError("no decoder is chosen; choose one or more")
    for name in names:
        if name not in known:
            raise SettingsError(f"decoder is {str(name)[:60]!r}; choose among {', '.join(known)}")


def _racers(name: str, settings: DecodingSettings, grid: Values) -> tuple[Contender, ...]:
    if name == "play":
        return (replace(PLAY, settings=replace(settings, method="dsbd")),)
    fixed = {"method", *POINTS.get(name.partition(":")[2], {}), *(WIDTHS if name.startswith("dsbd") else ())}
    values = {field.name: [getattr(settings, field.name)] for field in fields(settings) if field.name not in fixed}
    swept = {field: chosen for field, chosen in grid.items() if field in values or field == "width_threshold"}
    return contenders([name], values | swept)


def grid_of(given: Any) -> dict[str, list[Any]]:
    """Return one setting and its values, or nothing.

    Given is a text such as ``draft_width = 2, 4, 6``, or an object such as ``{"draft_width": [2, 4, 6]}``. Raises:
    SettingsError.
    """
    if not given:
        return {}
    if isinstance(given, str):
        name, _, values = given.partition("=")
        given = {name.strip(): [number_of(value) for value in values.split(",")]}
    remedy = "give one setting and its values, such as draft_width = 2, 4, 6"
    if not isinstance(given, dict) or len(given) != 1:
        raise SettingsError(f"grid is a {type(given).__name__} of another form; {remedy}")
    ((name, values),) = given.items()
    if name not in SWEPT:
        raise SettingsError(f"grid names {name[:60]!r}; choose among {', '.join(SWEPT)}")
    if not isinstance(values, list) or not 1 <= len(values) <= MOST_VALUES:
        raise SettingsError(f"the grid has no list of 1 to {MOST_VALUES} values; {remedy}")
    for value in values:
        if isinstance(value, bool) or not isinstance(value, (int, float)):
            raise SettingsError(f"values of the grid hold {str(value)[:40]!r}; {remedy}")
    is_real = isinstance(getattr(DecodingSettings, name), float)
    return {name: [float(value) if is_real else value for value in values]}
