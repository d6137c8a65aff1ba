"""The speed of forests, by depth and continuation; and the continuation from which on a forest pays."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import NamedTuple

from dsbd.auto.plan import DEEPEST, LIKELY, SAMPLED
from dsbd.depth import expected_layers
from dsbd.errors import PlanError
from dsbd.measure.iteration_time import Forward, iteration_milliseconds, milliseconds_per_token
from dsbd.measure.memory_needs import forest_nodes
from dsbd.settings import FORESTS, DecodingSettings, ResolvedSettings

HALVINGS = 40
"""Steps of the search for the continuation that a forest needs."""


class Shape(NamedTuple):
    """The layers of a forest."""

    forest: str
    draft_width: int
    cover_width: int

    def __str__(self) -> str:
        return f"{self.forest}:{self.draft_width}" + (f"+{self.cover_width}" if self.cover_width else "")


@dataclass(frozen=True)
class DepthForecast:
    """What one draft depth gives."""

    draft_depth: int
    nodes: int
    expected_layers: float
    milliseconds_per_iteration: float
    milliseconds_per_token: float
    ratio: float
    """Speed over beam sampling of the same width."""


@dataclass(frozen=True)
class ForestForecast:
    """A forest at its best depth."""

    forest: str
    """As in ``sampled:6+8``: 6 drafts and 8 cover nodes a layer."""
    continuation: float | None
    """None: not given, so its speed is not known."""
    best: DepthForecast | None
    needed_continuation: float | None
    """From here on it is at least as fast as the forest that was asked about; None: it never is."""


def shape_of(text: str) -> Shape:
    """Read the name of a forest: ``sampled:6``, ``sampled:6+8``, ``likely:24``. Raises: PlanError."""
    forest, _, widths = text.partition(":")
    width, plus, cover = widths.partition("+")
    numbers = width.isdecimal() and (cover.isdecimal() if plus else True)
    if forest not in FORESTS or not numbers or (plus and forest == "likely"):
        raise PlanError(f"forest is {text[:60]!r}; write sampled:WIDTH, sampled:WIDTH+COVER or likely:WIDTH")
    shape = Shape(forest, int(width), int(cover or 0))
    DecodingSettings(draft_width=shape.draft_width, cover_width=shape.cover_width)  # checks the ranges
    return shape


class ForestSpeed:
    """Milliseconds by forest, depth and continuation."""

    def __init__(self, settings: ResolvedSettings, target: Forward, draft: Forward, overhead: float) -> None:
        self._settings, self._costs = settings, (target, draft, overhead)
        self.alone = iteration_milliseconds(self._at(Shape("sampled", 1, 0), 0), *self._costs)
        """Of beam sampling, per token."""

    def _at(self, shape: Shape, depth: int) -> ResolvedSettings:
        return replace(self._settings, **shape._asdict(), draft_depth=depth)

    def depths(self, shape: Shape, continuation: float) -> tuple[DepthForecast, ...]:
        """Return every depth from 1 to the deepest that ``auto`` tries, or that was asked for."""
        found = []
        for depth in range(1, max(DEEPEST, self._settings.draft_depth) + 1):
            settings = self._at(shape, depth)
            each = milliseconds_per_token(settings, continuation, *self._costs)
            layers = expected_layers(continuation, depth)
            nodes = forest_nodes(settings)
            found.append(DepthForecast(depth, nodes, layers, each * layers, each, self.alone / each))
        return tuple(found)

    def forests(self, given: Mapping[Shape, float], bar: DepthForecast) -> Iterator[ForestForecast]:
        """Yield the forests whose continuation is given, then the others that ``auto`` tries."""
        sampled = (Shape("sampled", width, cover) for width, cover in SAMPLED)
        likely = (Shape("likely", width, 0) for width in LIKELY)
        for shape in dict.fromkeys((*given, *sampled, *likely)):
            continuation = given.get(shape)
            best = None if continuation is None else fastest(self.depths(shape, continuation))
            yield ForestForecast(str(shape), continuation, best, self._needed(shape, bar.milliseconds_per_token))

    def _needed(self, shape: Shape, bar: float) -> float | None:
        """Return the least continuation at which a forest needs at most ``bar`` milliseconds per token."""

        def reaches(continuation: float) -> bool:
            return fastest(self.depths(shape, continuation)).milliseconds_per_token <= bar * (1 + 1e-9)

        low, high = 0.0, 1.0
        if not reaches(high):
            return None
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if reaches(middle) else (middle, high)
        return high


def fastest(depths: Sequence[DepthForecast]) -> DepthForecast:
    """Return the depth of the fewest milliseconds per token."""
    return min(depths, key=lambda one: one.milliseconds_per_token)
