"""Checks at load that a model gives the same logits for a forest in one cache row as for each path alone.

Models with position biases of their own (ALiBi), recurrent states or unusual layers fail the check.
"""

import math
from collections.abc import Callable
from typing import NamedTuple

import torch

from dsbd.law.beams import Node
from dsbd.models.engines.fused import why_not_fused
from dsbd.models.engines.traced import routes
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows import ForestRow, PathRows, Row, new_row

KNOWN_LAYER_TYPES = frozenset({"full_attention", "sliding_attention"})
TOLERANCE = {torch.float64: 1e-6, torch.float32: 1e-3, torch.float16: 0.03, torch.bfloat16: 0.08}
"""Allowed root mean square error over the spread of the logits. Rounding is far below it, a wrong mask far above."""

_PROMPT_SIZE = 7
_PARENTS = (0, 0, 1, 1, 2)  # five nodes: 1 and 2 below the root, then 3 and 4 below 1, and 5 below 2
_LAYERS = (2, 3)

MakeRow = Callable[[LanguageModel], Row]


class ForestCheck(NamedTuple):
    """The outcome of the check."""

    passed: bool
    error: float
    """Root mean square error of the logits over their spread; infinite if the model raised an error."""
    reason: str


@torch.inference_mode()
def check_forest(model: LanguageModel) -> ForestCheck:
    """Run a five-node forest, keep part of it, run another, and compare with each path alone."""
    unknown = set(model.windows) - KNOWN_LAYER_TYPES
    if unknown:
        return ForestCheck(False, float("inf"), f"layers of kind {', '.join(sorted(unknown))}")
    return _compare(model, ForestRow, PathRows, "forest and single paths")


@torch.inference_mode()
def check_engine(model: LanguageModel) -> ForestCheck:
    """Run the same forests through the forwards that ``model.engine`` names and eagerly, and compare."""
    if model.is_hooked:
        return ForestCheck(False, float("inf"), "hooks move its layers between devices, which only its own Python does")
    if model.processes > 1:
        return ForestCheck(False, float("inf"), "processes join its parts, which only its own Python does")
    if model.engine == "traced" and routes(model.config):
        return ForestCheck(False, float("inf"), "experts are chosen by the tokens, and a trace knows one way only")
    if model.engine == "fused" and (reason := why_not_fused(model)) is not None:
        return ForestCheck(False, float("inf"), reason)
    return _compare(model, new_row, ForestRow, f"{model.engine} and eager forwards")


def _compare(model: LanguageModel, tried: MakeRow, trusted: MakeRow, names: str) -> ForestCheck:
    """Run the same forests through two kinds of row; if the tried one raises, the check has failed."""
    try:
        ours = _two_iterations(tried(model), model)
    except (RuntimeError, ValueError, TypeError, AttributeError, IndexError, NotImplementedError) as error:
        return ForestCheck(False, float("inf"), f"{type(error).__name__}: {str(error).splitlines()[0][:120]}")
    theirs = _two_iterations(trusted(model), model)
    distance = float((ours - theirs).square().mean().sqrt() / (theirs - theirs.mean()).square().mean().sqrt())
    if math.isnan(distance):
        return ForestCheck(False, float("inf"), "the logits are not numbers (NaN)")
    passed = distance <= TOLERANCE.get(model.dtype, 0.08)
    return ForestCheck(passed, distance, f"{names} {'agree' if passed else 'differ'}")


def _two_iterations(row: Row, model: LanguageModel) -> torch.Tensor:
    """Return logits [nodes, vocabulary] in float64 of two small forests, the second below a node of the first."""
    device, vocabulary = model.device, model.vocabulary_size
    tokens = [(37 * place + 11) % vocabulary for place in range(_PROMPT_SIZE + len(_PARENTS))]
    root = Node(None, -1, 0)
    row.prefill(tokens[:_PROMPT_SIZE], root)
    nodes = [root]
    for parent, token in zip(_PARENTS, tokens[_PROMPT_SIZE:], strict=True):
        nodes.append(nodes[parent].child(token))
    row.open([root], len(_PARENTS))
    fed = torch.tensor(tokens[_PROMPT_SIZE:], device=device)
    first = row.feed(fed, torch.tensor(_PARENTS, device=device), _LAYERS)
    row.register(nodes[1:])
    beams = [nodes[3].child(tokens[0]), nodes[4].child(tokens[1]), nodes[5].child(tokens[2])]
    row.commit(beams)
    row.open(beams, 3)
    second = row.feed(fed[:3], torch.arange(3, device=device), (3,))
    return torch.cat([first, second]).double()
