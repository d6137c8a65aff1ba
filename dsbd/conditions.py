"""What a measurement depends on: machine, versions, models. Only runs with equal conditions can be compared."""

import hashlib
from contextlib import suppress
from typing import Any

import torch

from dsbd.machine import machine, versions
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
    found: dict[str, Any] = {
        "id": model.id,
        "revision": model.revision,
        "dtype": str(model.dtype).removeprefix("torch."),
        "attention": model.attention,
        "engine": model.engine,
        "parameters": sum(weight.numel() for weight in model.model.parameters()),
        "digest": _digest(model.model.config.to_json_string(use_diff=False), model.model)[:16],
    }
    if model.memory is not None:
        digest = _digest(repr(model.memory.settings), model.memory.network)[:16]
        found["memory"] = {"name": model.memory.name, "digest": digest}
    return found


def _digest(settings: str, module: torch.nn.Module) -> str:
    """Return a digest of settings and of name, shape and first numbers of every weight, where they can be read."""
    digest = hashlib.sha256(settings.encode())
    for name, weight in module.named_parameters():
        digest.update(f"{name} {tuple(weight.shape)}".encode())
        with suppress(RuntimeError, TypeError):  # on disk, or packed by a quantisation
            digest.update(weight.detach().flatten()[:SAMPLED_WEIGHTS].double().cpu().numpy().tobytes())
    return digest.hexdigest()
