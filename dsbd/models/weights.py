"""What a folder of weights holds, read from its small files: nothing is loaded.

A safetensors file begins with eight bytes, the length of a JSON text that names each tensor with its dtype and shape.
"""

import json
import math
from pathlib import Path
from typing import Any, NamedTuple

INDEX = "model.safetensors.index.json"
WHOLE = "model.safetensors"
PICKLES = ("*.bin", "*.pt", "*.pth", "*.ckpt")
LONGEST_HEADER = 100_000_000


class Weights(NamedTuple):
    """The size of a model's weights."""

    parameters: int
    """Numbers in all tensors."""
    stored_bytes: int
    """Bytes of the tensors as they are stored."""

    def loaded_bytes(self, bytes_per_number: int, packed: bool) -> int:
        """Return the bytes that they take in memory; ``packed`` (quantised) weights stay as they are stored."""
        return self.stored_bytes if packed else self.parameters * bytes_per_number


def weight_files(folder: Path) -> list[Path]:
    """Return the safetensors files of a model: those that its index names, or the one that needs no index."""
    index = folder / INDEX
    if index.is_file():
        named = _json(index).get("weight_map")
        names = sorted({str(name) for name in named.values()}) if isinstance(named, dict) else []
        return [folder / name for name in names if (folder / name).is_file()]
    return [folder / WHOLE] if (folder / WHOLE).is_file() else []


def weights_of(folder: Path) -> Weights | None:
    """Return the size of the weights in a folder; None if its files do not tell."""
    tensors = [entry for file in weight_files(folder) for entry in _header(file).values()]
    sizes = [(math.prod(entry["shape"]), entry["data_offsets"]) for entry in tensors if "data_offsets" in entry]
    if not sizes:
        return None
    return Weights(sum(count for count, _ in sizes), sum(end - start for _, (start, end) in sizes))


def has_only_pickles(folder: Path) -> bool:
    """Return True if the weights in a folder are pickles, which can hold code, and no safetensors."""
    return not weight_files(folder) and any(next(folder.glob(kind), None) for kind in PICKLES)


def is_packed(folder: Path) -> bool:
    """Return True if the configuration says that the weights are quantised."""
    return "quantization_config" in _json(folder / "config.json")


def _header(file: Path) -> dict[str, Any]:
    try:
        with file.open("rb") as stream:
            length = int.from_bytes(stream.read(8), "little")
            found = json.loads(stream.read(length)) if length <= LONGEST_HEADER else {}
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}


def _json(file: Path) -> dict[str, Any]:
    try:
        found = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return found if isinstance(found, dict) else {}
