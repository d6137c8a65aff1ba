"""Computes memory and speed of a pair on a device before anything is loaded: from configurations and a datasheet.

An iteration is one target forward of the input beams and the forest, and one draft forward for each layer. With the
continuation this gives milliseconds per token. Nothing is measured here, and real forwards take longer than their
floors.
"""

from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

from dsbd.errors import PlanError
from dsbd.measure.devices import OWN, Device, device_for
from dsbd.measure.forest_speed import DepthForecast, ForestForecast, ForestSpeed, Shape, fastest, shape_of
from dsbd.measure.iteration_time import ForwardFloor, floor_of, floors
from dsbd.measure.memory_needs import RESERVED, MemoryNeeds, forest_nodes, largest_context, memory_needs
from dsbd.measure.model_sizes import ModelSizes, model_sizes
from dsbd.methods import resolve
from dsbd.models.choices import ENGINES
from dsbd.models.loading import sources_of
from dsbd.settings import DecodingSettings, ResolvedSettings

PROMPT_TOKENS = 512


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
    fetch: bool = True,
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
        fetch: False: a configuration that is not on this machine is an error, and nothing is asked of a hub.

    Raises:
        PairError: a configuration cannot be read, or its model cannot be planned.
        PlanError: device, dtype, engine, a forest or a figure is unknown or out of range.
        SettingsError: the settings contradict each other.
    """
    settings = settings or DecodingSettings()
    _check(settings, prompt_tokens, overhead)
    given = {shape_of(name): _share(name, value) for name, value in (continuations or {}).items()}
    device = device_for(gpu, dtype, memory, bandwidth, flops)
    engine = _engine_on(device, engine)
    sizes = _sizes_of(*sources_of(target, draft), device.dtype, fetch)
    resolved = _same_law(settings)
    slots = prompt_tokens + settings.max_new_tokens / 2
    speed = ForestSpeed(resolved, floors(sizes[0], device, slots), floors(sizes[1], device, slots), overhead)
    asked = Shape(resolved.forest, resolved.draft_width, resolved.cover_width)
    depths = speed.depths(asked, settings.continuation)
    forests = tuple(speed.forests({**given, asked: settings.continuation}, fastest(depths)))
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


def _check(settings: DecodingSettings, prompt_tokens: int, overhead: float) -> None:
    """Refuse what no plan can be about. Raises: PlanError."""
    if settings.is_auto or not settings.draft_depth:
        raise PlanError("the plan needs a draft_depth from 1 and widths in numbers; it names the best depth by itself")
    if not isinstance(prompt_tokens, int) or not 1 <= prompt_tokens <= 10_000_000:
        raise PlanError(f"prompt_tokens is {prompt_tokens!r}; allowed are whole numbers from 1 to 10000000")
    if not 0 <= overhead < float("inf"):
        raise PlanError(f"overhead is {overhead!r}; allowed are milliseconds from 0")


def _engine_on(device: Device, engine: str) -> str:
    """Return the engine that would run there. Raises: PlanError: there is no such engine."""
    if engine not in ENGINES:
        raise PlanError(f"engine is {engine!r}; choose one of {', '.join(ENGINES)}")
    if engine != "auto":
        return engine
    return "traced" if device.name == OWN else "graph"


def _sizes_of(target: str | Path, draft: str | Path | None, dtype: str, fetch: bool) -> tuple[ModelSizes, ModelSizes]:
    """Return the sizes of both models. Raises: PlanError: there is only one; PairError: as :func:`model_sizes`."""
    if draft is None:
        raise PlanError("there is no draft model; a plan is about a pair: give both")
    return model_sizes(target, dtype, fetch), model_sizes(draft, dtype, fetch)


def _share(name: str, value: float) -> float:
    if not 0 <= value <= 1:
        raise PlanError(f"the continuation of {name} is {value!r}; allowed are numbers from 0 to 1")
    return value


def _same_law(settings: DecodingSettings) -> ResolvedSettings:
    """Return the settings at which the text follows beam sampling of ``num_beams`` beams."""
    beams = settings.num_beams
    return resolve(replace(settings, method="dsbd", min_width=beams, max_width=beams, depth_costs=None))


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
