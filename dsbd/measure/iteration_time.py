"""The time of one iteration from the times of its forwards, and the least time that a forward can take.

A forward cannot be faster than its bytes over the bandwidth, nor than its operations over the arithmetic; the larger
of the two is its floor.

*Source:* Theorem 3.2 of the paper for the expected layers; docs/algorithm.md, *The engine*.
"""

from collections.abc import Callable
from dataclasses import dataclass

from dsbd.depth import expected_layers
from dsbd.measure.devices import Device
from dsbd.measure.memory_needs import forest_nodes
from dsbd.measure.model_sizes import ModelSizes
from dsbd.settings import ResolvedSettings

Forward = Callable[[float], float]
"""Milliseconds of a forward, by its number of tokens."""


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


def floor_of(model: ModelSizes, device: Device, role: str, tokens: float, slots: float) -> ForwardFloor:
    """Return the floor of a forward of ``tokens`` tokens behind ``slots`` slots in use."""
    arithmetic = None if device.flops is None else 1000 * model.flops_of(tokens, slots) / device.flops
    return ForwardFloor(role, round(tokens), 1000 * model.bytes_of(tokens, slots) / device.bandwidth, arithmetic)


def floors(model: ModelSizes, device: Device, slots: float) -> Forward:
    """Return the floors of a model's forwards behind ``slots`` slots in use, by their number of tokens."""
    return lambda tokens: floor_of(model, device, "", tokens, slots).floor


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
