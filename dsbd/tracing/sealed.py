"""Lists what only the digest seals: nothing else in the trace confirms it.

For a setting this is found by trial: if another value changes no decision, the run did not depend on it. The rest
follows from the record.
"""

import math
from collections.abc import Callable, Iterator
from dataclasses import fields, replace
from typing import Any, NamedTuple

from dsbd.errors import SettingsError
from dsbd.settings import FORESTS, METHODS, ResolvedSettings
from dsbd.tracing.checks import ranks_are_greedy
from dsbd.tracing.law_audit import is_full
from dsbd.tracing.records import Node
from dsbd.tracing.trace import Trace

CHOICES = {"method": METHODS, "forest": FORESTS}
STEP = 1e-3
"""How far a number is moved, relative to itself."""
Place = tuple[str | int, ...]
"""Where something is in a trace: names of fields and places in lists, from the outside in."""
THE_END: Place = ("the end",)
"""Stands for the last iterations, or the result, of a trace that has lost them."""


class Sealed(NamedTuple):
    """Something that could be changed without any other check failing."""

    words: str
    places: frozenset[Place]
    """Where it is; each place with all that is inside it."""


def sealed_only(trace: Trace, follows: Callable[[Trace], bool]) -> tuple[Sealed, ...]:
    """List all that only the digest seals.

    Args:
        trace: one in which everything follows.
        follows: decides a trace again, without its digest.
    """
    found = _Found(trace)
    lines = [*_settings(trace, follows), *found.outside(), *found.texts(), *found.numbers(), *found.laws()]
    return tuple(Sealed(words, frozenset(places)) for words, places in lines if places)


def _settings(trace: Trace, follows: Callable[[Trace], bool]) -> Iterator[tuple[str, list[Place]]]:
    for field in fields(ResolvedSettings):
        value = getattr(trace.settings, field.name)
        for other in _others(field.name, value, trace.settings):
            if other == value:
                continue
            try:
                settings = replace(trace.settings, **{field.name: other})
            except SettingsError:
                continue
            seed = other if field.name == "seed" else trace.seed
            if follows(replace(trace, settings=settings, seed=seed)):
                words = f"settings.{field.name}: {_plain(other)} instead of {_plain(value)} decides the same"
                yield words, [("settings", field.name)]
                break


def _others(name: str, value: Any, settings: ResolvedSettings) -> list[Any]:
    """Values near the recorded one."""
    if name in CHOICES:
        return [other for other in CHOICES[name] if other != value]
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value - 1]
    if isinstance(value, float):
        return [value * (1 + STEP), value * (1 - STEP), value - STEP, value + STEP]
    if name == "branching":
        return [(1,) * settings.draft_depth] if value is None else [(*value[:-1], value[-1] + 1), value[:-1]]
    if isinstance(value, tuple):
        return [(*value[:-1], value[-1] * (1 + STEP))]
    return [64] if name == "input_beams" else [(1.0,) * (settings.draft_depth + 1)]


def _plain(value: Any) -> str:
    return f"{value:g}" if isinstance(value, float) else str(value)


class _Found:
    """The places beside the settings, with a line for each kind."""

    def __init__(self, trace: Trace) -> None:
        self.trace, self.settings, self.result = trace, trace.settings, trace.result
        self.nodes, self.layers = [*self.items("nodes")], [*self.items("layers")]
        self.forest: list[tuple[Place, Node]] = [(place, node) for place, node in self.nodes if node.kind != "drawn"]

    def items(self, kind: str) -> Iterator[tuple[Place, Any]]:
        """Every node, trial, draw, beginning or layer, with its place."""
        for number, iteration in enumerate(self.trace.iterations):
            for at, item in enumerate(getattr(iteration, kind)):
                yield ("iterations", number, kind, at), item

    def outside(self) -> Iterator[tuple[str, list[Place]]]:
        """What the decode was given, and the time and memory that it took."""
        trace, numbers = self.trace, range(len(self.trace.iterations))
        models = [name for name in ("target", "draft") if getattr(trace.models, name) is not None]
        software = ", ".join(f"{name} {version}" for name, version in trace.software.items())
        facts = f"id, revision, dtype, device, attention and vocabulary_size of {' and '.join(models)}"
        yield f"software: {software or 'none named'}", [("software",)]
        yield f"models: {facts}", [("models",)]
        memory = "" if trace.prompt.memory is None else ", and what its memory recalled"
        yield f"prompt: its text and tokens{memory}", [("prompt",)]
        clocks: list[Place] = [("iterations", number, "phases") for number in numbers]
        yield "clock times of iterations, all together, but not their sums", clocks
        yield "cache slots named by iterations", [("iterations", number, "kept") for number in numbers]
        if self.result is not None:
            yield "that the decode did not stop before its last iterations, or its result", [THE_END]
            names = ["prefill_seconds", "kv_peak_bytes", *self._uncounted()]
            yield f"statistics {', '.join(names)}", [("result", "stats", name) for name in names]

    def _uncounted(self) -> list[str]:
        """Statistics whose counting depends on how a model keeps its beams."""
        target, draft = self.trace.models.target, self.trace.models.draft
        names = [] if target.attention == "forest" else ["target_calls", "kv_peak_slots"]
        is_counted = not self.settings.searches_blocks and draft is not None and draft.attention == "forest"
        return names if is_counted or self.settings.draft_depth == 0 else [*names, "draft_calls"]

    def texts(self) -> Iterator[tuple[str, list[Place]]]:
        """Words, and the tokens that they belong to."""
        pairs: list[Place] = [(*place, name) for place, _ in self.nodes for name in ("token_id", "text", "bytes")]
        pairs += [(*place, "alternatives", at, name) for place, layer in self.layers
                  for at in range(len(layer.alternatives)) for name in ("token_id", "text")]  # fmt: skip
        if self.result is not None:
            beams = range(len(self.result.beams))
            pairs += [("result", name) for name in ("text", "token_ids")]
            pairs += [("result", "beams", at, name) for at in beams for name in ("text", "token_ids")]
        yield "ids and texts of tokens, wherever they stand", pairs
        taken = {beam.node for _, layer in self.layers for beam in layer.beams}
        known = {node.token_id for _, node in self.nodes if node.id in taken}
        ends: list[Place] = [(*place, "ends") for place, node in self.nodes if node.token_id not in known]
        yield "whether tokens that no beam took end a text", ends

    def numbers(self) -> Iterator[tuple[str, list[Place]]]:
        """Numbers that follow from no decision and no other number."""
        tests = [found for kind in ("trials", "draws", "beginnings") for found in self.items(kind)]
        uniforms = [(*place, "uniform") for place, item in tests if item.uniform is not None]
        yield "uniforms, each within the interval that its decision leaves", uniforms
        kinds = {"fresh"}
        kinds |= {"recovered"} if ranks_are_greedy(self.settings) else set()
        fresh = [(*place, "draft_prob") for place, draw in self.items("draws") if draw.kind in kinds]
        yield "draft_prob of draws that no residual took part in", fresh
        rests = [(*place, name) for place, one in self.items("beginnings") if one.rest is not None
                 for name in ("rest", "acceptance")]  # fmt: skip
        yield "rest of beginnings, together with their chances, where no residual is drawn from", rests
        if self.settings.searches_blocks:
            yield "that no other block is likelier", [("another block",)]

    def laws(self) -> Iterator[tuple[str, list[Place]]]:
        """Numbers of laws that nothing was drawn from, or that are known within bounds only."""
        idle = [place for place, node in self.forest if self._is_idle(node)]
        yield "parents and probabilities of nodes of the forest that verification did not reach", idle
        lost = [place for place, node in self.forest if not node.target_prob and not self._is_idle(node)]
        held = [(*place, name) for place in lost for name in ("parent", "target_log_prob")]
        yield "parent and target_log_prob of nodes without a probability, within the order", held
        yield "whether probabilities that are the least of their layers were cut off", self._least()
        drafted = [(*place, "draft_log_prob") for place, _ in self.forest]
        yield "draft_log_prob of nodes, within single precision or where Q is not compared", drafted
        others = [(*place, "alternatives", at) for place, layer in self.layers
                  for at, pair in enumerate(layer.alternatives) if pair.node is None]  # fmt: skip
        yield "likeliest pairs beside the forest, within their order", others
        supports = [(*place, "target_support") for place, layer in self.layers
                    if not is_full(self.settings, layer.target_support)]  # fmt: skip
        yield "numbers of pairs of P, within bounds", supports

    def _is_idle(self, node: Node) -> bool:
        """True for a node of the forest that verification did not reach, or passed by in a tree or a joint test."""
        return (node.target_prob if self.settings.lossless else node.target_log_prob) is None

    def _least(self) -> list[Place]:
        """The least P and Q of each layer that decided nothing, where top-k or top-p may have cut them off."""
        least: dict[tuple[Place, int, str], tuple[float, Place]] = {}
        if self.settings.top_k == 0 and self.settings.top_p == 1:
            return []
        for place, node in self.forest:
            for name in ("target_prob", "draft_prob") if not self._is_idle(node) else ():
                found = getattr(node, name) or math.inf, (*place, name)
                layer = place[:2], node.layer, name
                least[layer] = min(least.get(layer, found), found)
        return [place for probability, place in least.values() if probability < math.inf]
