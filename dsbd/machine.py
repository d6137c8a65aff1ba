"""The machine and the versions that a measurement depends on."""

import hashlib
import os
import platform
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from dsbd.version import __version__

PACKAGE = Path(__file__).resolve().parent
PACKAGES = ("torch", "transformers", "tokenizers", "numpy", "onnxruntime")


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
    found = {"python": platform.python_version(), "dsbd": f"{__version__}+{source_digest()}"}
    for package in PACKAGES:
        with suppress(PackageNotFoundError):
            found[package] = version(package)
    return found


def source_digest(package: Path = PACKAGE) -> str:
    """Return eight hex digits of this package's source, so that changed code counts as another version."""
    digest = hashlib.sha256()
    for path in sorted(package.rglob("*.py")):
        digest.update(path.relative_to(package).as_posix().encode() + path.read_bytes())
    return digest.hexdigest()[:8]


def _processor() -> str:
    with suppress(OSError):
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    return platform.processor() or platform.machine()


def computes_bfloat16() -> bool:
    """Return True if this processor multiplies bfloat16 natively (AMX or AVX512-BF16)."""
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, probe, lambda: False)() for probe in probes)
