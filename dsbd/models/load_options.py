"""The options of ``load_pair``: device, device map, dtype, engine, and arguments of ``from_pretrained``."""

import os
from collections.abc import Mapping
from typing import Any

import torch
from transformers.distributed import DistributedConfig

from dsbd.errors import PairError, first_line
from dsbd.machine import computes_bfloat16

DTYPES = {"float64": torch.float64, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
DEVICE_TYPES = ("cpu", "cuda")
DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
ENGINES = ("auto", "eager", "traced", "fused", "graph", "onnx")


def resolve_device(device: str) -> torch.device:
    """Return the device of this name. Raises: PairError if it is unknown or does not exist here."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        place = torch.device(device)
        if place.type not in DEVICE_TYPES:
            raise RuntimeError(f"device type {place.type} is not supported")
        torch.empty(0, device=place)
    except (RuntimeError, AssertionError) as error:
        raise PairError(f"device {device!r} cannot be used ({first_line(error)}); use auto, cpu or cuda") from None
    return place


def require_device_map(name: str) -> None:
    """Check the name of a device map. Raises: PairError if it is neither a known map nor a device."""
    if name in DEVICE_MAPS:
        return
    try:
        torch.device(name)
    except RuntimeError:
        raise PairError(
            f"device_map is {name[:100]!r}; choose one of {', '.join(DEVICE_MAPS)}, or name a device, such as cuda:0"
        ) from None


def resolve_dtype(dtype: str, device: torch.device) -> torch.dtype:
    """Return the dtype of this name. Raises: PairError if it is unknown."""
    if dtype == "auto":
        return torch.bfloat16 if device.type == "cuda" or computes_bfloat16() else torch.float32
    if dtype not in DTYPES:
        raise PairError(f"dtype is {dtype!r}; choose auto, {', '.join(DTYPES)}")
    return DTYPES[dtype]


def resolve_engine(engine: str, device: torch.device) -> str:
    """Return the engine, with ``auto`` resolved. Raises: PairError: it is unknown, or ``graph`` without a GPU."""
    if engine not in ENGINES:
        raise PairError(f"engine is {engine!r}; choose one of {', '.join(ENGINES)}")
    if engine == "auto":
        if device.type == "cpu":
            return "traced"
        return "eager" if os.environ.get("SPACES_ZERO_GPU") else "graph"
    if engine == "graph" and device.type == "cpu":
        raise PairError("engine 'graph' captures CUDA graphs, and the device is a CPU; use traced, fused, or auto")
    return engine


def checked_arguments(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return the arguments for ``from_pretrained``. Raises: PairError: one is not allowed."""
    arguments = dict(given or {})
    for name in arguments:
        if name in ("dtype", "torch_dtype", "device_map", "attn_implementation", "config") or "remote_code" in name:
            raise PairError(
                f"load_kwargs has {name!r}, which is not allowed; dtype and device_map are arguments of load_pair, "
                f"code of a model is never run, and make_pair takes a model that you load yourself"
            )
    if "tp_plan" in arguments:
        if "WORLD_SIZE" not in os.environ:
            raise PairError(
                "load_kwargs has 'tp_plan', which spreads a model over processes, and there is only this one; start "
                "the program with torchrun --nproc-per-node N"
            )
        arguments["distributed_config"] = DistributedConfig(tp_plan=arguments.pop("tp_plan"))
    return arguments
