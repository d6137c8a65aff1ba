"""Computes memory and speed of a pair on a device before anything is loaded: from configurations and a datasheet.

A forward cannot be faster than its bytes over the bandwidth, nor than its operations over the arithmetic; the larger
of the two is its floor. An iteration is one target forward of the input beams and the forest, and one draft forward for
each layer. With the continuation this gives milliseconds per token. Nothing is measured here, and real forwards
take longer than their floors.

*Source:* Theorem 3.2 of the paper for the expected layers; docs/algorithm.md, *The engine*.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any, NamedTuple

from dsbd.auto.plan import DEEPEST, LIKELY, SAMPLED
from dsbd.depth import expected_layers
from dsbd.errors import PlanError
from dsbd.measure.devices import OWN, Device, device_for
from dsbd.measure.memory_needs import RESERVED, MemoryNeeds, forest_nodes, largest_context, memory_needs
from dsbd.measure.model_sizes import ModelSizes, model_sizes
from dsbd.methods import resolve
from dsbd.models.choices import ENGINES
from dsbd.models.loading import sources_of
from dsbd.settings import FORESTS, DecodingSettings, ResolvedSettings

PROMPT_TOKENS = 512
HALVINGS = 40
"""Steps of the search for the continuation that a forest needs."""

Forward = Callable[[float], float]
"""Milliseconds of a forward, by its number of tokens."""


class Shape(NamedTuple):
    """The layers of a forest."""

    forest: str
    draft_width: int
    cover_width: int

    def __str__(self) -> str:
        return f"{self.forest}:{self.draft_width}" + (f"+{self.cover_width}" if self.cover_width else "")


@dataclass(frozen=True)
class ForwardFloor:
    """The least milliseconds of one forward."""

    role: str
    tokens: int
    by_bandwidth: float
    by_arithmetic: float | None
    """None where the arithmetic of the device is not known."""

    @property
    def floor(self) -> float:
        """The larger one."""
        return max(self.by_bandwidth, self.by_arithmetic or 0.0)


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


@dataclass(frozen=True)
class Forecast:
    """Everything that was computed; nothing was measured."""

    device: Device
    engine: str
    target: ModelSizes
    draft: ModelSizes
    prompt_tokens: int
    new_tokens: int
    beams: int
    continuation: float
    memory: MemoryNeeds
    fits: bool | None
    """None where the memory of the device is not known."""
    largest_context: int | None
    """Prompt and new tokens that fit in the memory and in the contexts of both models."""
    memory_context: int | None
    """The same, by the memory alone."""
    forwards: tuple[ForwardFloor, ...]
    free_tokens: float | None
    """Tokens of a target forward up to which the bandwidth is the limit: so many cost no more than one."""
    beam_sampling_milliseconds: float
    """Per token."""
    asked: DepthForecast
    depths: tuple[DepthForecast, ...]
    """The forest asked about, at every depth."""
    best: ForestForecast
    """The fastest of the forests whose continuation is given."""
    forests: tuple[ForestForecast, ...]
    rests_on: tuple[str, ...]
    """What the figures assume, in sentences."""
    computed: bool = True

    def to_dict(self) -> dict[str, Any]:
        """Return plain data, ready for JSON; bytes and milliseconds."""
        plain = asdict(self)
        for row, floor in zip(plain["forwards"], self.forwards, strict=True):
            row["floor"] = floor.floor
        return plain


def iteration_milliseconds(settings: ResolvedSettings, target: Forward, draft: Forward, overhead: float = 0.0) -> float:
    """Return the milliseconds of one iteration; of beam sampling where the draft depth is 0.

    Args:
        settings: widest layer, depth and widths of the forest count.
        target: of the target model.
        draft: of the draft model.
        overhead: milliseconds outside the models.
    """
    beams, depth = settings.max_width, settings.draft_depth
    drafting = draft(beams) + (depth - 1) * draft(settings.draft_width) if depth else 0.0
    return target(beams + forest_nodes(settings)) + drafting + overhead


def milliseconds_per_token(
    settings: ResolvedSettings, continuation: float, target: Forward, draft: Forward, overhead: float = 0.0
) -> float:
    """Return the milliseconds of an iteration over its expected layers; arguments as above."""
    layers = expected_layers(continuation, settings.draft_depth)
    return iteration_milliseconds(settings, target, draft, overhead) / layers


def floor_of(model: ModelSizes, device: Device, role: str, tokens: float, slots: float) -> ForwardFloor:
    """Return the floor of a forward of ``tokens`` tokens behind ``slots`` slots in use."""
    arithmetic = None if device.flops is None else 1000 * model.flops_of(tokens, slots) / device.flops
    return ForwardFloor(role, round(tokens), 1000 * model.bytes_of(tokens, slots) / device.bandwidth, arithmetic)


def forecast(
    target: str | Path | None = None,
    draft: str | Path | None = None,
    gpu: str = "H100",
    settings: DecodingSettings | None = None,
    *,
    prompt_tokens: int = PROMPT_TOKENS,
    continuations: Mapping[str, float] | None = None,
    dtype: str = "auto",
    engine: str = "auto",
    memory: float | None = None,
    bandwidth: float | None = None,
    flops: float | None = None,
    overhead: float = 0.0,
) -> Forecast:
    """Compute what a decode at beam sampling's own law needs and how fast it can be.

    Args:
        target: folder or hub id of the target model, of which only ``config.json`` is read; None and
            ``bundled:PAIR`` as for :func:`dsbd.load_pair`.
        draft: the same of the draft model.
        gpu: name of a device in :data:`dsbd.measure.devices.SHEETS`, or ``cpu``.
        settings: forest, depth, widths, ``num_beams``, ``max_new_tokens``, and the ``continuation`` of this forest; as
            many beams as ``num_beams`` go into every iteration. None: the defaults.
        prompt_tokens: length of the prompt.
        continuations: the continuation of further forests, such as ``{"likely:24": 0.7, "sampled:6+8": 0.65}``.
        dtype: of weights and cache; ``auto`` is bfloat16, or float16 where the device does not compute that.
        engine: as for :func:`dsbd.load_pair`; ``auto`` is ``graph``, on a ``cpu`` ``traced``.
        memory: bytes, instead of the device's.
        bandwidth: bytes per second, instead of the device's.
        flops: operations per second, instead of the device's.
        overhead: milliseconds outside the models, of every iteration.

    Raises:
        PairError: a configuration cannot be read, or its model cannot be planned.
        PlanError: device, dtype, engine, a forest or a figure is unknown or out of range.
        SettingsError: the settings contradict each other.
    """
    settings = settings or DecodingSettings()
    if settings.is_auto or not settings.draft_depth:
        raise PlanError("the plan needs a draft_depth from 1 and widths in numbers; it names the best depth by itself")
    if not isinstance(prompt_tokens, int) or not 1 <= prompt_tokens <= 10_000_000:
        raise PlanError(f"prompt_tokens is {prompt_tokens!r}; allowed are whole numbers from 1 to 10000000")
    if not 0 <= overhead < float("inf"):
        raise PlanError(f"overhead is {overhead!r}; allowed are milliseconds from 0")
    if engine not in ENGINES:
        raise PlanError(f"engine is {engine!r}; choose one of {', '.join(ENGINES)}")
    given = {shape_of(name): _share(name, value) for name, value in (continuations or {}).items()}
    device = device_for(gpu, dtype, memory, bandwidth, flops)
    if engine == "auto":
        engine = "traced" if device.name == OWN else "graph"
    target, draft = sources_of(target, draft)
    if draft is None:
        raise PlanError("there is no draft model; a plan is about a pair: give both")
    sizes = model_sizes(target, device.dtype), model_sizes(draft, device.dtype)
    resolved = _same_law(settings)
    slots = prompt_tokens + settings.max_new_tokens / 2
    speed = _Speed(resolved, _floors(sizes[0], device, slots), _floors(sizes[1], device, slots), overhead)
    asked = Shape(resolved.forest, resolved.draft_width, resolved.cover_width)
    depths = speed.depths(asked, settings.continuation)
    forests = tuple(speed.forests({**given, asked: settings.continuation}, _fastest(depths)))
    speeds = {one: one.best.milliseconds_per_token for one in forests if one.best is not None}
    needs = memory_needs(*sizes, resolved, prompt_tokens, engine)
    most = None if device.memory_bytes is None else largest_context(*sizes, resolved, engine, device.memory_bytes)
    limits = [size.context_size for size in sizes if size.context_size is not None]
    return Forecast(
        device=device,
        engine=engine,
        target=sizes[0],
        draft=sizes[1],
        prompt_tokens=prompt_tokens,
        new_tokens=settings.max_new_tokens,
        beams=resolved.max_width,
        continuation=settings.continuation,
        memory=needs,
        fits=None if device.memory_bytes is None else needs.total <= (1 - RESERVED) * device.memory_bytes,
        largest_context=None if most is None else min([most, *limits]),
        memory_context=most,
        forwards=tuple(_listed(sizes, device, resolved, slots)),
        free_tokens=_free_tokens(sizes[0], device, slots),
        beam_sampling_milliseconds=speed.alone,
        asked=depths[resolved.draft_depth - 1],
        depths=depths,
        best=min(speeds, key=speeds.__getitem__),
        forests=forests,
        rests_on=_rests_on(device, settings.continuation, overhead),
    )


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


def _share(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise PlanError(f"the continuation of {name} is {value!r}; allowed are numbers from 0 to 1")
    return value


def _same_law(settings: DecodingSettings) -> ResolvedSettings:
    """Return the settings at which the text follows beam sampling of ``num_beams`` beams."""
    beams = settings.num_beams
    return resolve(replace(settings, method="dsbd", min_width=beams, max_width=beams, depth_costs=None))


class _Speed:
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
            best = None if continuation is None else _fastest(self.depths(shape, continuation))
            yield ForestForecast(str(shape), continuation, best, self._needed(shape, bar.milliseconds_per_token))

    def _needed(self, shape: Shape, bar: float) -> float | None:
        """Return the least continuation at which a forest needs at most ``bar`` milliseconds per token."""

        def reaches(continuation: float) -> bool:
            return _fastest(self.depths(shape, continuation)).milliseconds_per_token <= bar * (1 + 1e-9)

        low, high = 0.0, 1.0
        if not reaches(high):
            return None
        for _ in range(HALVINGS):
            middle = (low + high) / 2
            low, high = (low, middle) if reaches(middle) else (middle, high)
        return high


def _fastest(depths: Sequence[DepthForecast]) -> DepthForecast:
    return min(depths, key=lambda one: one.milliseconds_per_token)


def _floors(model: ModelSizes, device: Device, slots: float) -> Forward:
    return lambda tokens: floor_of(model, device, "", tokens, slots).floor


def _listed(
    sizes: tuple[ModelSizes, ModelSizes], device: Device, settings: ResolvedSettings, slots: float
) -> Iterator[ForwardFloor]:
    """Yield the forwards that a reader looks for: one token, the beams, and a forest or a layer of it."""
    beams = settings.max_width
    counts = ((1, beams, beams + forest_nodes(settings)), (1, beams, settings.draft_width))
    for role, model, tokens in zip(("target", "draft"), sizes, counts, strict=True):
        for count in dict.fromkeys(tokens):
            yield floor_of(model, device, role, count, slots)


def _free_tokens(model: ModelSizes, device: Device, slots: float) -> float | None:
    """Return the number of tokens whose operations take as long as reading everything."""
    if device.flops is None:
        return None
    whole = (model.read_bytes + slots * model.slot_bytes) / device.bandwidth
    return whole / (model.flops_of(1, slots) / device.flops)


def _rests_on(device: Device, continuation: float, overhead: float) -> tuple[str, ...]:
    arithmetic = "not given" if device.flops is None else f"{device.flops / 1e12:g} x 10^12 operations/s"
    return (
        f"Device: {device.bandwidth / 1e9:g} GB/s, {arithmetic} in {device.dtype} ({device.source}).",
        f"Continuation {continuation:g}: how often a draft layer lets verification go on. It is given or assumed, and "
        f"differs with the pair, the text, the temperature, the number of beams and the forest.",
        f"Forwards take their floors, and {overhead:g} ms of every iteration are outside the models. Real ones are "
        f"slower: give measured figures with bandwidth, flops and overhead.",
        f"{RESERVED:.0%} of the memory stays free for the driver, activations and the allocator: assumed.",
        "Both models pass the forest check at load. The prompt's own forward (prefill) is left out.",
    )
