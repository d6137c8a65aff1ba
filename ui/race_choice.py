"""Who races, and on which prompts: from what the page's fields hold to contenders."""

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

from dsbd.errors import SettingsError
from dsbd.measure.bench.contenders import OPPONENTS, POINTS, Contender, contenders
from dsbd.settings import METHODS, DecodingSettings
from visualize.scenes.race import label_of

START = ("sampling", "beam_sampling", "speculative", "dsbd:same-law", "dsbd")
"""Those who race if nobody chooses: with and without guesses, for one text and for several."""
OFFERED_POINTS = ("same-law", "auto-same-law", "equal-quality", "auto")
MORE = (
    *(f"dsbd:{point}" for point in OFFERED_POINTS if f"dsbd:{point}" not in START),
    *(method for method in METHODS if method not in START),
    *OPPONENTS,
)
"""All others that can race."""
RACERS = (*START, *MORE)
"""Names as the bench reads them."""


def choices(names: Sequence[str]) -> list[tuple[str, str]]:
    """Label and name of decoders."""
    return [(label_of(f"{name} defaults" if name == "dsbd" else name.replace(":", " ")), name) for name in names]


def contenders_of(names: Sequence[Any], settings: DecodingSettings) -> tuple[Contender, ...]:
    """Contenders in the page's order; a named point has its own values, everything else is as ``settings`` say.

    Raises:
        SettingsError: an unknown name, or none.
    """
    for name in names:
        if name not in RACERS:
            raise SettingsError(f"decoder is {name!r}; choose among {', '.join(RACERS)}")
    if not names:
        raise SettingsError("no decoder is chosen; choose one or more")
    return tuple(
        one for name in RACERS if name in names for one in contenders([name], ("defaults",), _values(name, settings))
    )


def _values(name: str, settings: DecodingSettings) -> dict[str, Sequence[Any]]:
    fixed = {"method", *POINTS.get(name.partition(":")[2], {})}
    return {field.name: [getattr(settings, field.name)] for field in fields(settings) if field.name not in fixed}
