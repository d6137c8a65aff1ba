"""The probabilities that decide a width, read from the record of a layer."""

import math
from collections.abc import Sequence

from dsbd.settings import ResolvedSettings
from dsbd.tracing.records import Draw, Layer


def chances_of(layer: Layer, settings: ResolvedSettings | None, draws: Sequence[Draw] = ()) -> tuple[float, ...]:
    """Return P(accepted >= k), in a likely forest P(k draws all land), for k = 1, 2, ...

    Args:
        layer: the record.
        settings: as resolved; None if they are not known.
        draws: of this layer. Greedy draws without replacement are certain, so they tell which of them land.

    Returns: probabilities that never rise with k.
    """
    if layer.forest_mass is None:
        distribution = layer.accepted_distribution
        return tuple(min(1.0, math.fsum(distribution[k:])) for k in range(1, layer.draws_planned + 1))
    most = settings.max_width if settings else layer.width
    if settings and settings.temperature == 0 and not settings.replacement:
        landed = [draw.landed for draw in draws][:most]
        return tuple(float(all(landed[:k]) and k <= len(landed)) for k in range(1, most + 1))
    return tuple(layer.forest_mass**k for k in range(1, most + 1))
