"""The size and the damage of a folder of weights, read from headers: no weight is loaded.

A safetensors file begins with eight bytes, the length of a JSON text that names each tensor with its dtype and shape.
"""

import json
import math
from operator import index
from pathlib import Path
from typing import Any, NamedTuple

from dsbd.errors import PairError

INDEX = "model.safetensors.index.json"
WHOLE = "model.safetensors"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
LONGEST_HEADER = 100_000_000


class Weights(NamedTuple):
    """The size of a model's weights."""

    parameters: int
    """How many numbers all tensors have."""
    stored_bytes: int
    """Bytes of the tensors as they are stored."""


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of a model: those in its index, or the single one."""
    if (folder / INDEX).is_file():
        return [folder / name for name in _indexed(folder) if (folder / name).is_file()]
    return [folder / WHOLE] if (folder / WHOLE).is_file() else []


def weights_of(folder: Path) -> Weights | None:
    """Return the size of the weights in a folder; None if no header tells."""
    files = [_tensors(file)[1] for file in weight_files(folder)]
    sizes = [size for tensors in files for size in tensors or []]
    if not sizes:
        return None
    return Weights(sum(count for count, _ in sizes), sum(stored for _, stored in sizes))


def require_weights(folder: Path, name: str) -> None:
    """Check that the safetensors files of a model are whole, as far as their headers tell. Raises: PairError."""
    damage = _damage(folder)
    if damage is not None:
        raise PairError(f"cannot load {name!r}: {damage}; download it again, or save the model again")


def _damage(folder: Path) -> str | None:
    """Return what is wrong with the files; None if nothing is wrong, or there are no files."""
    missing = next((name for name in _indexed(folder) if not (folder / name).is_file()), None)
    if missing is not None:
        return f"its weights are not all there, {missing[:100]} is missing"
    for file in weight_files(folder):
        start, tensors = _tensors(file)
        if tensors is None:
            return f"{file.name} does not begin as a safetensors file does"
        size, needed = file.stat().st_size, start + sum(stored for _, stored in tensors)
        if size != needed:
            return f"{file.name} has {size:,} of {needed:,} bytes"
    return None


def has_only_pickles(folder: Path) -> bool:
    """Return True if a folder has weights as pickles, which can hold code, and no safetensors."""
    return not weight_files(folder) and any(next(folder.glob(kind), None) for kind in PICKLES)


def is_packed(folder: Path) -> bool:
    """Return True if the configuration says that the weights are quantised."""
    return "quantization_config" in _json(folder / "config.json")


def _indexed(folder: Path) -> list[str]:
    """Return the file names in the index; empty without an index."""
    named = _json(folder / INDEX).get("weight_map")
    return sorted({str(name) for name in named.values()}) if isinstance(named, dict) else []


def _tensors(file: Path) -> tuple[int, list[tuple[int, int]] | None]:
    """Return where a file's tensors begin, and each one's count of numbers and bytes; None if the header is damaged."""
    sizes = []
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            if length > LONGEST_HEADER:
                return 0, None
            header = json.loads(stream.read(length))
        for name, entry in header.items():
            if name != "__metadata__":
                start, end = map(index, entry["data_offsets"])
                sizes.append((math.prod(map(index, entry["shape"])), end - start))
    except (OSError, ValueError, TypeError, KeyError, AttributeError, RecursionError):
        return 0, None
    return 8 + length, sizes


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
