"""Who races, and on which prompts: from what the page's fields hold to contenders."""

from collections.abc import Sequence
from dataclasses import fields, replace
from typing import Any

from dsbd.errors import SettingsError
from dsbd.measure.bench.contenders import POINTS, TRANSFORMERS, Contender, contenders
from dsbd.settings import METHODS, DecodingSettings
from visualize.scenes.race import label_of

START = ("sampling", "beam_sampling", "speculative", "dsbd:same-law", "dsbd")
"""Those who race if nobody chooses: with and without guesses, for one text and for several."""
OFFERED_POINTS = ("same-law", "auto-same-law", "equal-quality", "auto")
MORE = (
    *(f"dsbd:{point}" for point in OFFERED_POINTS if f"dsbd:{point}" not in START),
    *(method for method in METHODS if method not in START),
    *TRANSFORMERS,
    "play",
)
"""All others that can race."""
RACERS = (*START, *MORE)
"""Names as the bench reads them; ``play`` is DSBD with every setting of the Play tab."""
PLAY = Contender("dsbd as in Play", "dsbd", DecodingSettings())
WIDTHS = ("min_width", "max_width", "width_threshold")
"""What makes the width dynamic: a recording on the Play tab may have fixed it, and this race is not about that one."""


def choices(names: Sequence[str]) -> list[tuple[str, str]]:
    """Label and name of decoders."""
    named = {"dsbd": "dsbd defaults", "play": PLAY.name}
    return [(label_of(named.get(name) or name.replace(":", " ")), name) for name in names]


def contenders_of(names: Sequence[Any], settings: DecodingSettings) -> tuple[Contender, ...]:
    """Contenders in the page's order; points and widths have their own values, everything else is as ``settings`` say.

    Raises:
        SettingsError: an unknown name, or none.
    """
    for name in names:
        if name not in RACERS:
            raise SettingsError(f"decoder is {name!r}; choose among {', '.join(RACERS)}")
    if not names:
        raise SettingsError("no decoder is chosen; choose one or more")
    return tuple(one for name in RACERS if name in names for one in _contenders(name, settings))


def _contenders(name: str, settings: DecodingSettings) -> tuple[Contender, ...]:
    if name == "play":
        return (replace(PLAY, settings=replace(settings, method="dsbd")),)
    return contenders([name], ("defaults",), _values(name, settings))


def _values(name: str, settings: DecodingSettings) -> dict[str, Sequence[Any]]:
    fixed = {"method", *POINTS.get(name.partition(":")[2], {}), *(WIDTHS if name.startswith("dsbd") else ())}
    return {field.name: [getattr(settings, field.name)] for field in fields(settings) if field.name not in fixed}
