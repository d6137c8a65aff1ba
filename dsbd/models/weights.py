"""The size and the damage of a folder of weights, read from the headers of its files: no weight is loaded."""

import json
import math
from pathlib import Path
from typing import Any

from safetensors import SafetensorError, safe_open

from dsbd.errors import PairError, first_line

INDEX = "model.safetensors.index.json"
WHOLE = "model.safetensors"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of a model that are there: those in its index, or the single one."""
    return [folder / name for name in _indexed(folder) or [WHOLE] if (folder / name).is_file()]


def stored_bytes(folder: Path) -> int:
    """Return the bytes of a model's safetensors files."""
    return sum(file.stat().st_size for file in weight_files(folder))


def parameters_of(folder: Path) -> int | None:
    """Return how many numbers the safetensors files of a model hold; None if they do not tell."""
    found = 0
    for file in weight_files(folder):
        try:
            with safe_open(file, "pt") as tensors:
                found += sum(math.prod(tensors.get_slice(name).get_shape()) for name in tensors.keys())  # noqa: SIM118
        except (SafetensorError, OSError):
            return None
    return found or None


def require_weights(folder: Path, name: str) -> None:
    """Check that the safetensors files of a model are whole, as far as their headers tell. Raises: PairError."""
    missing = next((file for file in _indexed(folder) if not (folder / file).is_file()), None)
    damage = None if missing is None else f"its weights are not all there, {missing[:100]} is missing"
    for file in weight_files(folder):
        try:
            with safe_open(file, "pt"):
                pass
        except (SafetensorError, OSError) as error:
            damage = f"{file.name} is damaged ({first_line(error)})"
    if damage is not None:
        raise PairError(f"cannot load {name!r}: {damage}; download it again, or save the model again")


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


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}
