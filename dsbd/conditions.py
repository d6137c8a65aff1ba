"""What a measurement depends on: machine, versions, models. Only runs with equal conditions can be compared."""

import hashlib
from typing import Any

import torch

from dsbd.machine import machine, versions
from dsbd.memory.reading import Memory
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair

SAMPLED_WEIGHTS = 64


def conditions(pair: Pair) -> dict[str, Any]:
    """Return plain data; a bench continues a results file only if this data is equal."""
    models = {"target": pair.target, "draft": pair.draft}
    return {
        "machine": machine(pair.device),
        "versions": versions(),
        "models": {role: None if model is None else model_identity(model) for role, model in models.items()},
    }


def model_identity(model: LanguageModel) -> dict[str, Any]:
    """Return name, size, type, and a digest of the configuration and of a part of every weight."""
    digest = hashlib.sha256(model.model.config.to_json_string(use_diff=False).encode())
    for name, weight in model.model.named_parameters():
        digest.update(f"{name} {tuple(weight.shape)}".encode())
        digest.update(_sample(weight))
    found = {
        "id": model.id,
        "revision": model.revision,
        "dtype": str(model.dtype).removeprefix("torch."),
        "attention": model.attention,
        "engine": model.engine,
        "parameters": sum(weight.numel() for weight in model.model.parameters()),
        "digest": digest.hexdigest()[:16],
    }
    return found if model.memory is None else {**found, "memory": _memory_identity(model.memory)}


def _memory_identity(memory: Memory) -> dict[str, Any]:
    """Return the name, and a digest of the sizes and of a part of every weight."""
    digest = hashlib.sha256(repr(memory.settings).encode())
    for name, weight in memory.network.named_parameters():
        digest.update(name.encode())
        digest.update(_sample(weight))
    return {"name": memory.name, "digest": digest.hexdigest()[:16]}


def _sample(weight: torch.Tensor) -> bytes:
    """Return the first numbers of a weight; nothing if they cannot be read: on disk, or packed by a quantisation."""
    try:
        return weight.detach().flatten()[:SAMPLED_WEIGHTS].double().cpu().numpy().tobytes()
    except (RuntimeError, TypeError):
        return b""
