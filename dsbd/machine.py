"""What a measurement depends on: machine, versions, models. Only runs with equal conditions can be compared."""

import hashlib
import os
import platform
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from dsbd.models.language_model import LanguageModel
from dsbd.models.load_options import computes_bfloat16
from dsbd.models.pair import Pair
from dsbd.version import __version__

PACKAGE = Path(__file__).resolve().parent
PACKAGES = ("torch", "transformers", "tokenizers", "numpy")
SAMPLED_WEIGHTS = 64
BESIDE_THE_DECODER = (
    "measure",
    "evaluation",
    "tasks",
    "tracing",
    "commands",
    "bounded.py",
    "files.py",
    "progress.py",
    "__main__.py",
)
"""Files and folders of this package that do not change how long a run takes."""


def conditions(pair: Pair) -> dict[str, Any]:
    """Return plain data; a bench continues a results file only if this data is equal."""
    models = {"target": pair.target, "draft": pair.draft}
    return {
        "machine": machine(pair.device),
        "versions": versions(),
        "models": {role: None if model is None else model_identity(model) for role, model in models.items()},
    }


def machine(device: torch.device) -> dict[str, Any]:
    """Return the processor, cores, threads and the device that computes."""
    found: dict[str, Any] = {
        "processor": _processor(),
        "cores": os.cpu_count(),
        "threads": torch.get_num_threads(),
        "native_bfloat16": computes_bfloat16(),
        "device": str(device),
    }
    if device.type == "cuda":
        properties = torch.cuda.get_device_properties(device)
        found |= {"gpu": properties.name, "gpu_memory_bytes": properties.total_memory, "cuda": torch.version.cuda}
    return found


def versions() -> dict[str, str]:
    """Return the versions of Python, of the libraries that compute, and of this package with a digest of its source."""
    own = {"python": platform.python_version(), "dsbd": f"{__version__}+{source_digest()}"}
    return own | {name: version(name) for name in PACKAGES}


def source_digest(package: Path = PACKAGE) -> str:
    """Return eight hex digits of the decoder's source, so that changed code counts as another version."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] not in BESIDE_THE_DECODER:
            digest.update(place.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:8]


def model_identity(model: LanguageModel) -> dict[str, Any]:
    """Return name, size, type, and a digest of the configuration and of a part of every weight."""
    digest = hashlib.sha256(model.model.config.to_json_string(use_diff=False).encode())
    for name, weight in model.model.named_parameters():
        digest.update(f"{name} {tuple(weight.shape)}".encode())
        digest.update(_sample(weight))
    return {
        "id": model.id,
        "revision": model.revision,
        "dtype": str(model.dtype).removeprefix("torch."),
        "attention": model.attention,
        "engine": model.engine,
        "parameters": sum(weight.numel() for weight in model.model.parameters()),
        "digest": digest.hexdigest()[:16],
    }


def _sample(weight: torch.Tensor) -> bytes:
    """Return the first numbers of a weight; nothing if they cannot be read: on disk, or packed by a quantisation."""
    try:
        return weight.detach().flatten()[:SAMPLED_WEIGHTS].double().cpu().numpy().tobytes()
    except (RuntimeError, TypeError):
        return b""


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()
