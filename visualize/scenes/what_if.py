"""Decides the drafts of an iteration again with other settings or random numbers.

Only recorded numbers are used, layer by layer, as far as they still apply. After the first layer whose beams would
differ nothing is recorded; without replacement nothing is recorded after the first changed verdict.
``viewer/law/what_if.js`` is its twin in the browser.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from dsbd.settings import ResolvedSettings
from dsbd.tracing.records import Iteration, Layer, Node, Trial
from visualize.scenes.chances import chances_of

Stop = Literal["beams", "draws", "uniform", "verdict"]


@dataclass(frozen=True)
class Verdict:
    """One trial decided again."""

    trial: int
    """Place in ``Iteration.trials``."""
    verdict: str
    acceptance: float | None
    """None for orphaned and unneeded drafts."""


@dataclass(frozen=True)
class WhatIfLayer:
    """One layer decided again."""

    layer: int
    width: int
    verdicts: tuple[Verdict, ...]
    """Of its trials, in order, as far as the recorded numbers apply."""


@dataclass(frozen=True)
class WhatIf:
    """The layers decided again."""

    layers: tuple[WhatIfLayer, ...]
    stop: Stop | None
    """Why the recorded numbers end with the last of ``layers``: other ``beams`` go on; its ``draws`` would come from
    another law; a draft is tried that had no ``uniform``; a ``verdict`` changed, without replacement. None: they go
    on to the end of the iteration."""


def what_if(
    iteration: Iteration,
    settings: ResolvedSettings,
    *,
    width_threshold: float | None = None,
    min_width: int | None = None,
    uniforms: Mapping[int, float] | None = None,
) -> WhatIf:
    """Decide the trials of an iteration again, with everything before it as recorded.

    Args:
        iteration: the record.
        settings: as resolved for the decode.
        width_threshold: another one, 0 to 1; None = as recorded.
        min_width: another one, at least 1; None = as recorded.
        uniforms: other random numbers in [0, 1), by the place of their trial in ``iteration.trials``; of a block, those
            of the beginnings that end with the draft of the trial.

    Raises:
        ValueError: an argument is out of its range, or there is no such trial.

    A joint test has no random numbers, so nothing is decided again: there are no layers in the answer.
    """
    threshold = settings.width_threshold if width_threshold is None else width_threshold
    least = settings.min_width if min_width is None else min_width
    given = dict(uniforms or {})
    _check(threshold, least, given, len(iteration.trials))
    nodes = {node.id: node for node in iteration.nodes}
    layers: list[WhatIfLayer] = []
    together = _together(iteration, given)
    for layer in [] if any(trial.joint for trial in iteration.trials) else iteration.layers:
        width = layer.width if layer.kind == "bonus" else _width(iteration, layer, settings, threshold, least)
        found, stop = _tried(iteration, layer, width, nodes, given, settings.replacement, together)
        layers.append(found)
        if stop is not None:
            return WhatIf(tuple(layers), stop)
    return WhatIf(tuple(layers), None)


def _check(threshold: float, least: int, uniforms: Mapping[int, float], trials: int) -> None:
    if not 0 <= threshold <= 1:
        raise ValueError(f"width_threshold is {threshold!r}; allowed are numbers from 0 to 1")
    if least < 1:
        raise ValueError(f"min_width is {least!r}; allowed are whole numbers from 1")
    for at, uniform in uniforms.items():
        if not 0 <= at < trials:
            raise ValueError(f"there is no trial {at!r}; this iteration has whole numbers from 0 to {trials - 1}")
        if not 0 <= uniform < 1:
            raise ValueError(f"the uniform of trial {at} is {uniform!r}; allowed are numbers from 0 to below 1")


def _together(iteration: Iteration, uniforms: Mapping[int, float]) -> int | None:
    """How many drafts of a block are accepted together; None where a beginning has no random number, or no block is."""
    for at, one in reversed(list(enumerate(iteration.beginnings))):
        uniform = uniforms.get(at, one.uniform)
        if uniform is None:
            return None
        if uniform < one.acceptance:
            return at + 1
    return 0 if iteration.beginnings else None


def _width(iteration: Iteration, layer: Layer, settings: ResolvedSettings, threshold: float, least: int) -> int:
    draws = [draw for draw in iteration.draws if draw.layer == layer.layer]
    chances = chances_of(layer, settings, draws)
    count = max((k for k, chance in enumerate(chances, 1) if chance >= threshold), default=0)
    width = min(max(count, least), settings.max_width)
    return width if settings.replacement else min(width, layer.target_support)


def _tried(
    iteration: Iteration,
    layer: Layer,
    width: int,
    nodes: dict[int, Node],
    uniforms: dict[int, float],
    replacement: bool,
    together: int | None,
) -> tuple[WhatIfLayer, Stop | None]:
    """Walk the drafts of a layer. With replacement c and S follow from how many were rejected in a row."""
    trials = [(at, trial) for at, trial in enumerate(iteration.trials) if trial.layer == layer.layer]
    verdicts: list[Verdict] = []
    accepted: list[int] = []
    rejections, c, changed = 0, 0.0, False
    stop: Stop | None = None
    for at, trial in trials:
        S = layer.chain_S[rejections]
        acceptance = None
        if len(accepted) == width:
            verdict = "unneeded"
        elif nodes[trial.node].parent not in layer.alive:
            verdict = "orphaned"
        elif iteration.beginnings:
            if together is None:
                stop = "uniform"
                break
            verdict = "accepted" if layer.layer <= together else "rejected"
        else:
            uniform = uniforms.get(at, trial.uniform)
            if uniform is None:
                stop = "uniform"
                break
            recorded = None if changed else trial.acceptance
            acceptance = _chance(nodes[trial.node], trial, c, S) if recorded is None else recorded
            verdict = "accepted" if uniform < acceptance else "rejected"
        verdicts.append(Verdict(at, verdict, acceptance))
        changed = changed or verdict != trial.verdict
        if changed and not replacement:
            stop = "verdict"
            break
        if verdict == "accepted":
            accepted.append(trial.node)
            rejections, c = 0, 0.0
        elif verdict != "unneeded" and rejections + 1 < len(layer.chain_S) and layer.chain_S[rejections + 1] > 0:
            rejections, c = rejections + 1, c + S
    end = stop or _ending(layer, [trial for _, trial in trials], accepted, width, changed)
    return WhatIfLayer(layer.layer, width, tuple(verdicts)), end


def _chance(node: Node, trial: Trial, c: float, S: float) -> float:
    return min(1.0, max((node.target_prob or 0.0) - c * trial.draft_prob, 0.0) / S / trial.draft_prob)


def _ending(layer: Layer, trials: Sequence[Trial], accepted: list[int], width: int, changed: bool) -> Stop | None:
    before = [trial.node for trial in trials if trial.verdict == "accepted"]
    if width != layer.width or sorted(accepted) != sorted(before):
        return "beams"
    return "draws" if changed and len(accepted) < width else None
