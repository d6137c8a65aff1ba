"""Chooses the engine of a model, and makes the decoding state that it needs."""

import os
from typing import Any, cast

import torch

from dsbd.errors import PairError
from dsbd.machine import free_bytes, multiplies_int8
from dsbd.models.engines.batch import lane_state
from dsbd.models.engines.engine import Eager, Engine
from dsbd.models.engines.graph import Graph
from dsbd.models.engines.onnx import Onnx, OnnxPathStates, missing_packages, why_not_onnx
from dsbd.models.engines.traced import Traced
from dsbd.models.language_model import LanguageModel
from dsbd.models.states.recurrent import PathStates, RecurrentState
from dsbd.models.states.state import DecodingState, ThreadedState
from dsbd.util import CancelCheck, never_cancel

ENGINES: dict[str, Engine] = {"eager": Eager(), "traced": Traced(), "graph": Graph(), "onnx": Onnx()}
WEIGHTS = ("auto", "float", "int8")


def engine_for(model: LanguageModel) -> str:
    """Return the engine that ``auto`` is, by one rule.

    - On a GPU ``graph``; on ZeroGPU, which lends one for seconds, ``eager``.
    - On a CPU in float32 ``onnx``, for models that have a graph and fit the memory a second time, packed.
    - Else ``traced``.
    """
    if model.device.type != "cpu":
        return "eager" if os.environ.get("SPACES_ZERO_GPU") else "graph"
    if why_not_onnx(model) is None and model.model.get_memory_footprint() < free_bytes(model.device):
        return "onnx"
    return "traced"


def resolve_engine(engine: str, device: torch.device) -> None:
    """Check the name of an engine. Raises: PairError: it is unknown, or ``graph`` without a GPU."""
    if engine not in ("auto", *ENGINES):
        raise PairError(f"engine is {engine!r}; choose one of auto, {', '.join(ENGINES)}")
    if engine == "graph" and device.type == "cpu":
        raise PairError("engine 'graph' captures CUDA graphs, and the device is a CPU; use traced, onnx, or auto")


def resolve_weights(
    weights: str, engine: str, dtype: Any, device: torch.device, is_suited: bool
) -> tuple[str, str, Any]:
    """Return weights, and the engine and the dtype that they need.

    ``auto`` is ``int8`` for a model that it suits, on a processor that multiplies whole numbers quickly, if engine and
    dtype are free; else ``float``. Raises: PairError: weights are unknown, or not possible here.
    """
    if weights not in WEIGHTS:
        raise PairError(f"weights is {weights!r}; choose one of {', '.join(WEIGHTS)}")
    if weights == "auto":
        is_free = device.type == "cpu" and engine in ("auto", "onnx") and dtype == "auto"
        weights = "int8" if is_suited and is_free and multiplies_int8() and not missing_packages() else "float"
    if weights == "float":
        return weights, engine, dtype
    for name, value, needed in (
        ("device", device.type, "cpu"),
        ("engine", engine, "onnx"),
        ("dtype", dtype, "float32"),
    ):
        if str(value).removeprefix("torch.") not in ("auto", needed):
            raise PairError(f"{name} is {value}, and int8 weights need {needed}; change it, or leave weights at float")
    return weights, "onnx", "float32"


def reference_state(model: LanguageModel, check: CancelCheck = never_cancel) -> PathStates:
    """Return the state that computes every path from its first token, to compare others with it."""
    return (PathStates if model.weights == "float" else OnnxPathStates)(model, check)


def new_state(model: LanguageModel, slots: int = 0, check: CancelCheck = never_cancel) -> DecodingState:
    """Return a state of the kind that ``model.attention`` and ``model.engine`` name, with room for ``slots``.

    In a batch that the caller has joined it is a lane of that.
    ``check`` is called before each forward, and may raise.
    """
    if model.attention == "forest":
        return lane_state(model, slots, check) or ENGINES[model.engine].new_state(model, slots, check)
    return (PathStates if model.attention == "paths" else RecurrentState)(model, check)


def threaded_state(model: LanguageModel, slots: int = 0, check: CancelCheck = never_cancel) -> DecodingState:
    """Return a new state; its forwards will run on as many threads as torch has now, if that makes them faster."""
    state = new_state(model, slots, check)
    needs_threads = model.device.type == "cpu" and model.engine != "onnx" and not model.is_small
    return cast(DecodingState, ThreadedState(state)) if needs_threads else state
