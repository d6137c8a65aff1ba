"""What ``load_pair`` lets its caller choose by name: device, device map, dtype and engine."""

import os

import torch

from dsbd.errors import PairError, first_line

DTYPES = {"float64": torch.float64, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
DEVICE_TYPES = ("cpu", "cuda")
DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
ENGINES = ("auto", "eager", "traced", "fused", "graph")


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
    """Check how models are to be spread over devices. Raises: PairError if there is no such way and no such device."""
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


def computes_bfloat16() -> bool:
    """Return True if this processor multiplies bfloat16 natively (AMX or AVX512-BF16)."""
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, probe, lambda: False)() for probe in probes)
