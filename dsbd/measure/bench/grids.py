"""Grids: many points of several methods under one name. Needs no torch.

*Source:* the evaluation of the paper, figures 4 and 5 and its tables: draft widths 2 to 6, thresholds 0.7 and 0.9,
least widths 1 to 3, all beams kept or one, and beam sampling at its own widths.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import replace
from typing import Any

from dsbd.errors import SettingsError
from dsbd.measure.bench.contenders import BASELINE, Contender, require_names, swept
from dsbd.settings import DecodingSettings

ALL_AND_ONE = (None, 1)
"""Values of ``input_beams``: all beams are kept, or one sequence."""
PAPER: dict[str, dict[str, tuple[Any, ...]]] = {
    "dsbd": {
        "draft_depth": (2, 3, 4),
        "draft_width": (2, 3, 4, 5, 6),
        "min_width": (1, 2, 3),
        "width_threshold": (0.7, 0.9),
        "input_beams": ALL_AND_ONE,
    },
    "beam_sampling": {"num_beams": (1, 2, 3, 4, 5)},
    "speculative": {"draft_depth": (2, 3, 4)},
    "specinfer": {},
    "sampling": {},
}
SMALL = PAPER["dsbd"] | {"draft_depth": (3,), "draft_width": (4, 6), "min_width": (1, 3)}
GRIDS = {"paper": PAPER, "paper-small": PAPER | {"dsbd": SMALL, "speculative": {"draft_depth": (3,)}}}
"""By name, then by method: the values of the settings that the grid sweeps.

``paper-small`` has one depth, two draft widths and two least widths: a processor gets through it in minutes.
"""
GRID_BASELINE = f"{BASELINE} num_beams={DecodingSettings.num_beams}"
"""The point of every grid that the others are compared with."""


def grid_contenders(name: str, values: Mapping[str, Sequence[Any]]) -> tuple[Contender, ...]:
    """Return the contenders of a grid, with the values of settings that it does not sweep.

    Points that measure nothing new are left out: a ``min_width`` above ``draft_width``, and a second threshold if the
    width is fixed.

    Raises:
        SettingsError: an unknown name, or a field that the grid sweeps already.
    """
    require_names("grid", [name], GRIDS)
    for fields in GRIDS[name].values():
        for field in fields:
            if field in values:
                raise SettingsError(f"grid {name!r} sweeps {field}; leave out the grid or the flag")
    found = [one for method, fields in GRIDS[name].items() for one in swept(method, None, {**values, **fields})]
    return tuple(_distinct(found))


def _distinct(found: Iterable[Contender]) -> Iterable[Contender]:
    seen = set()
    for contender in found:
        settings = contender.settings
        if contender.method == "dsbd":
            if int(settings.draft_width) < settings.min_width:
                continue
            if settings.min_width == settings.widest:
                settings = replace(settings, width_threshold=1.0)
        if (contender.method, settings) not in seen:
            seen.add((contender.method, settings))
            yield contender
