"""Checks at load that a model gives the same logits for a forest in one KV cache as for each path alone.

Models with recurrent states or unusual layers fail. Then the same forests tell which state with a cache for each path
is right.
"""

import math
from collections.abc import Callable
from dataclasses import replace
from functools import cache
from typing import NamedTuple

import torch

from dsbd.errors import first_line
from dsbd.models.engines.choice import ENGINES, new_state, reference_state
from dsbd.models.engines.onnx import why_not_onnx
from dsbd.models.language_model import LanguageModel
from dsbd.models.states.forest import ForestState
from dsbd.models.states.state import DecodingState
from dsbd.verification.beams import Node

KNOWN_LAYER_TYPES = frozenset({"full_attention", "sliding_attention"})
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3, torch.float16: 0.03, torch.bfloat16: 0.08}
"""Allowed root mean square error over the spread of the logits. Rounding stays far below it, a wrong mask far above."""
ROUGH = 0.2
"""The same for eight bits: rounding stays below 0.13 in the models that were measured; wrong masks begin at 0.36."""

_PROMPT_SIZE = 7
_PARENTS = (0, 0, 1, 1, 2)  # five nodes: 1 and 2 below the root, then 3 and 4 below 1, and 5 below 2
_LAYERS = (2, 3)

Logits = Callable[[], torch.Tensor]


class ForestCheck(NamedTuple):
    """The outcome of a check."""

    passed: bool
    error: float
    """Root mean square error of the logits over their spread; infinite if nothing could be compared."""
    reason: str


class Int8Check(NamedTuple):
    """The outcome of the check of a model in eight bits."""

    outcome: ForestCheck
    overlap: float = 0.0
    """With the float model: the sum of min(p, q) at temperature 1, mean over all nodes; 0 if the check failed."""
    moved: float = 1.0
    """The largest total variation, 1 - sum of min(p, q), between a node in a forest and alone on its path."""


def eager_of(model: LanguageModel) -> Logits:
    """Return what computes the forests in one KV cache with the model's Python: once, for several checks."""
    return cache(lambda: _two_iterations(ForestState(model)))


@torch.inference_mode()
def check_forest(model: LanguageModel, eager: Logits | None = None) -> ForestCheck:
    """Run a forest of five nodes, keep part of it, run another, and compare with each path alone."""
    unknown = set(model.windows) - KNOWN_LAYER_TYPES
    if unknown:
        return _failed(f"layers of kind {', '.join(sorted(unknown))}")
    if "local" in (getattr(model.config, "attention_layers", None) or ()):
        return _failed("local layers count their window in slots")
    return _compare(model, eager or eager_of(model), _paths_of(model), "forest and single paths")


@torch.inference_mode()
def check_states(model: LanguageModel, attention: str) -> ForestCheck:
    """Run the same forests with a cache for each path (``attention`` is ``states`` or ``steps``), and compare.

    Recurrences compute in float32 in a model of any dtype, so the tolerance is at least that of float32.
    """
    least, model = TOLERANCE[torch.float32], replace(model, attention=attention)
    return _compare(model, _states_of(model), _paths_of(model), "caches and single paths", least)


@torch.inference_mode()
def check_causal(model: LanguageModel) -> ForestCheck:
    """Compare a prompt's logits with its logits when other tokens follow."""
    tokens = torch.tensor([_tokens(model, _PROMPT_SIZE + 2)], device=model.device)
    positions = torch.arange(tokens.shape[1], device=model.device)[None]
    short = model.forward(tokens[:, :_PROMPT_SIZE], positions=positions[:, :_PROMPT_SIZE]).double()
    return _compared(model, model.forward(tokens, positions=positions)[:, :_PROMPT_SIZE].double(), short, "prefixes")


@torch.inference_mode()
def check_engine(model: LanguageModel, eager: Logits | None = None) -> ForestCheck:
    """Run the same forests with ``model.engine`` and eagerly, and compare."""
    if model.is_hooked:
        return _failed("hooks move its layers between devices, and only the model's Python runs them")
    if (reason := ENGINES[model.engine].why_not(model)) is not None:
        return _failed(reason)
    return _compare(model, _states_of(model), eager or eager_of(model), f"{model.engine} and eager forwards")


@torch.inference_mode()
def check_int8(model: LanguageModel, eager: Logits) -> Int8Check:
    """Compare forests of a model in eight bits with its single paths, with each other, and with the float model.

    A rounding that falls the other way is amplified by all that follow, so forests and paths agree as in bfloat16. But
    what the root of a forest sees is the same whatever is below it, so its logits are equal in every bit.
    """
    if (reason := why_not_onnx(model)) is not None:
        return Int8Check(_failed(reason))
    ours, alone = cache(_states_of(model)), cache(_paths_of(model))
    paths = _compare(model, ours, alone, "int8 forests and single paths", ROUGH)
    if not paths.passed:
        return Int8Check(paths)
    if not torch.equal(ours()[0], _two_iterations(new_state(model), shift=1)[0]):
        return Int8Check(_failed("the int8 distribution of a token depends on which tokens its forest has"))
    near = _compare(model, ours, eager, "int8 and float distributions", ROUGH)
    if not near.passed:
        return Int8Check(near)
    return Int8Check(paths, float(_overlaps(ours(), eager()).mean()), float(1 - _overlaps(ours(), alone()).min()))


def _overlaps(ours: torch.Tensor, theirs: torch.Tensor) -> torch.Tensor:
    """Return the sum of min(p, q) of each node [nodes], from logits [nodes, vocabulary]."""
    return torch.minimum(ours.softmax(dim=1), theirs.softmax(dim=1)).sum(dim=1)


def _failed(reason: str) -> ForestCheck:
    return ForestCheck(False, float("inf"), reason)


def _states_of(model: LanguageModel) -> Logits:
    return lambda: _two_iterations(new_state(model))


def _paths_of(model: LanguageModel) -> Logits:
    return lambda: _two_iterations(reference_state(model))


def _compare(model: LanguageModel, tried: Logits, trusted: Logits, names: str, least: float = 0.0) -> ForestCheck:
    """Compare the logits of two kinds of state for the same forests; if ``tried`` raises, it fails."""
    try:
        ours = tried()
    except (RuntimeError, ValueError, TypeError, AttributeError, LookupError, AssertionError) as error:
        return _failed(f"{type(error).__name__}: {first_line(error)[:120]}")
    return _compared(model, ours, trusted(), names, least)


def _compared(
    model: LanguageModel, ours: torch.Tensor, theirs: torch.Tensor, names: str, least: float = 0.0
) -> ForestCheck:
    """Return whether logits agree within the tolerance of the model's dtype, or within ``least`` if that is more."""
    distance = float((ours - theirs).square().mean().sqrt() / (theirs - theirs.mean()).square().mean().sqrt())
    if math.isnan(distance):
        return _failed("the logits are not numbers (NaN)")
    passed = distance <= max(TOLERANCE.get(model.dtype, 0.08), least)
    return ForestCheck(passed, distance, f"{names} {'agree' if passed else 'differ'}")


def _two_iterations(state: DecodingState, shift: int = 0) -> torch.Tensor:
    """Return logits [nodes, vocabulary] in float64 of two small forests, the second below a node of the first.

    If the model has a memory, an embedding stands in front of them. ``shift`` is added to the ids of the first forest.
    """
    model = state.model
    tokens = _tokens(model, _PROMPT_SIZE + len(_PARENTS))
    prefix = None if model.memory is None else model.embed(tokens[-1:])[0, 0]
    nodes = [Node(None, -1, 0)]
    state.prefill(tokens[:_PROMPT_SIZE], nodes[0], prefix)
    for parent, token in zip(_PARENTS, tokens[_PROMPT_SIZE:], strict=True):
        nodes.append(nodes[parent].child(token))
    state.begin(nodes[:1], len(_PARENTS))
    drafted = torch.tensor(tokens[_PROMPT_SIZE:], device=model.device).add(shift) % model.vocabulary_size
    first = state.forward(drafted, torch.tensor(_PARENTS, device=model.device), _LAYERS)
    state.assign(nodes[1:])
    beams = [nodes[3].child(tokens[0]), nodes[4].child(tokens[1]), nodes[5].child(tokens[2])]
    state.commit(beams)
    state.begin(beams, 2)  # five tokens with the beams, not six again: so a trace that fits one size only is found
    second = state.forward(drafted[:2], torch.arange(2, device=model.device), (2,))
    return torch.cat([first, second]).double()


def _tokens(model: LanguageModel, count: int) -> list[int]:
    """Return tokens that differ from their neighbours."""
    return [(37 * index + 11) % model.vocabulary_size for index in range(count)]
