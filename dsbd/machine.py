"""The machine and the versions that a measurement depends on."""

import hashlib
import os
import platform
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from dsbd.version import __version__

PACKAGE = Path(__file__).resolve().parent
PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "onnxruntime")
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
    return own | {name: found for name in PACKAGES if (found := _version(name))}


def _version(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def source_digest(package: Path = PACKAGE) -> str:
    """Return eight hex digits of the decoder's source, so that changed code counts as another version."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        place = path.relative_to(package)
        if place.parts[0] not in BESIDE_THE_DECODER:
            digest.update(place.as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:8]


def _processor() -> str:
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


def computes_bfloat16() -> bool:
    """Return True if this processor multiplies bfloat16 natively (AMX or AVX512-BF16)."""
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, probe, lambda: False)() for probe in probes)
