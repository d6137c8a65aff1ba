"""The files of a model: found, and checked before a library reads them.

A library raises any error on a damaged file. Here each becomes one sentence. Code that comes with a model is never run,
and transformers never asks the user whether to run it. What a configuration asks for is built: only the host names
models.
"""

import json
import re
from collections.abc import Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from huggingface_hub import HfApi, hf_hub_download, try_to_load_from_cache
from huggingface_hub.errors import GatedRepoError, OfflineModeIsEnabled, RepositoryNotFoundError
from safetensors import SafetensorError, safe_open
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from dsbd.errors import PairError, first_line, wrap_errors
from dsbd.machine import is_out_of_memory

CONFIG, ADAPTER, GGUF = "config.json", "adapter_config.json", ".gguf"
INDEX, WEIGHTS = "model.safetensors.index.json", "model.safetensors"
PICKLES = (".bin", ".pt", ".pth", ".ckpt")
SMALL = (".json", ".txt", ".model", ".jinja")
"""Endings of the files that hold configurations and tokenizers."""
LARGEST_SMALL = 256 * 2**20
"""Most bytes of each of them; the largest known tokenizers have 35 MB."""
CAUSAL = "give a folder or hub id of a causal language model"
PATIENCE_SECONDS = 5
"""How long the hub may take to say what it has; a library would ask again and again."""
_OF_TOKENIZERS = re.compile(r"token|vocab|merges|spiece|bpe|\.model$|\.tiktoken$", re.IGNORECASE)
_SAMPLE = "Once upon a time, 1 + 1 = 2."


class Source(NamedTuple):
    """Where a model's files are."""

    name: str
    """Folder or hub id."""
    folder: Path
    """Holds all files but the weights, checked."""
    local_only: bool
    """True if nothing needs to be fetched."""


def source_of(name: str) -> Source:
    """Find a model, given as an existing folder or a hub id, and check its files.

    Raises:
        PairError: the model is not found, or its files are damaged or not those of a model of transformers.
    """
    folder, local_only = (Path(name), True) if Path(name).is_dir() else _small_files(name)
    try:
        _require_files({file.name: file.stat().st_size for file in folder.iterdir() if file.is_file()}, name)
        if local_only:
            _require_weights(folder, name)
    except OSError as error:
        raise PairError(f"cannot read {name!r}: {error.strerror or error}; give a folder that can be read") from None
    return Source(name, folder, local_only)


def _small_files(name: str) -> tuple[Path, bool]:
    """Return the folder of a hub model's files without weights, fetched or from an earlier load; True for these."""
    try:
        info = HfApi().model_info(name, files_metadata=True, timeout=PATIENCE_SECONDS)
        if info.gated:
            HfApi().auth_check(name)
    except Exception as error:  # all: network errors differ between versions of the library
        cached = try_to_load_from_cache(name, CONFIG)
        if isinstance(cached, str):
            return Path(cached).parent, True
        raise _unreachable(name, error) from None
    sizes = {file.rfilename: file.size or 0 for file in info.siblings or []}
    _require_files(sizes, name)
    try:
        files = [hf_hub_download(name, file, revision=info.sha) for file in sizes if _is_small(file)]
    except Exception as error:  # all: as above
        raise _unreachable(name, error) from None
    return Path(files[0]).parent, False


def _unreachable(name: str, error: Exception) -> PairError:
    """Return an error that says why the hub does not give a model, and what to do."""
    if isinstance(error, GatedRepoError):
        return PairError(
            f"{name!r} is gated: accept its licence on the model's page of the hub, and set HF_TOKEN to a token of the "
            f"account that did"
        )
    if isinstance(error, RepositoryNotFoundError):
        return PairError(f"the hub has no model {name!r}, or it is private; check the spelling, or set HF_TOKEN")
    if isinstance(error, OfflineModeIsEnabled):
        return PairError(
            f"{name!r} is not on this machine, and HF_HUB_OFFLINE forbids to fetch it; unset it, or give a folder"
        )
    return PairError(
        f"{name!r} is not on this machine, and the hub cannot be reached ({first_line(error)}); check the network, or "
        f"give a folder"
    )


def _require_files(sizes: Mapping[str, int], name: str) -> None:
    """Check a model's files by their names and bytes. Raises: PairError, which says what to do."""
    for file, size in sizes.items():
        if _is_small(file) and size > LARGEST_SMALL:
            raise PairError(
                f"{file} of {name!r} has {size:,} bytes; at most {LARGEST_SMALL:,} are read; download it again"
            )
    if CONFIG in sizes:
        return
    if ADAPTER in sizes:
        raise PairError(
            f"{name!r} is an adapter of PEFT without its base model; merge both once with its merge_and_unload, save "
            f"the tokenizer of the base model into the same folder, and give that folder"
        )
    if any(file.endswith(GGUF) for file in sizes):
        raise packed_error(name)
    raise PairError(f"{name!r} has no config.json; give the folder that save_pretrained wrote")


def packed_error(name: str) -> PairError:
    """Return the error for a model in the format of llama.cpp; a stranger's file names are no part of its remedy."""
    return PairError(
        f"{name!r} holds a model as GGUF, the format of llama.cpp; give the model that it was made from, or unpack it "
        f"once with from_pretrained(FOLDER, gguf_file=FILE) and save_pretrained, and give that folder"
    )


def _is_small(file: str) -> bool:
    return "/" not in file and file.endswith(SMALL)


def weight_files(folder: Path) -> list[Path]:
    """Return a model's safetensors files: those in its index, or the single one if it is there."""
    shards = _json(folder / INDEX).get("weight_map")
    if isinstance(shards, dict):
        return [folder / name for name in sorted(set(map(str, shards.values())))]
    return [folder / WEIGHTS] if (folder / WEIGHTS).is_file() else []


def _require_weights(folder: Path, name: str) -> None:
    """Check that the safetensors files of a model are whole, as far as their headers tell. Raises: PairError."""
    for file in weight_files(folder):
        damage = None if file.is_file() else f"its weights are not all there, {file.name} is missing"
        if damage is None:
            try:
                with safe_open(file, "pt"):
                    pass
            except (SafetensorError, OSError) as error:
                damage = f"{file.name} is damaged ({first_line(error)})"
        if damage is not None:
            raise PairError(f"cannot load {name!r}: {damage}; download it again, or save the model again")


def has_only_pickles(folder: Path) -> bool:
    """Return True if a folder has weights as pickles, which can hold code, and no safetensors."""
    return not weight_files(folder) and any(file.suffix in PICKLES for file in folder.iterdir())


def is_packed(folder: Path) -> bool:
    """Return True if the configuration says that the weights are quantised."""
    return "quantization_config" in _json(folder / CONFIG)


def _json(file: Path) -> dict[str, Any]:
    try:
        content = json.loads(file.read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return {}
    return content if isinstance(content, dict) else {}


def loading_errors(what: str, remedy: str = CAUSAL) -> AbstractContextManager[None]:
    """Turn whatever a library raises in the block into a PairError: "cannot load WHAT: ...; REMEDY"."""

    def error_of(error: BaseException) -> PairError:
        if "trust_remote_code" in str(error):
            return PairError(
                f"{what} needs code that comes with the model, and such code is never run here; use a model whose kind "
                f"transformers knows without it"
            )
        known = "memory ran out: choose a smaller model, a dtype of fewer bytes, or another device"
        kind = "" if isinstance(error, (OSError, ValueError)) else f"{type(error).__name__}: "
        advice = known if is_out_of_memory(error) else remedy
        return PairError(f"cannot load {what}: {kind}{first_line(error)}; {advice}")

    return wrap_errors(error_of)


def config_of(source: Source) -> Any:
    """Return the configuration. Raises: PairError: it is damaged, or not of a decoder-only language model."""
    with loading_errors(repr(source.name)):
        config = AutoConfig.from_pretrained(source.name, local_files_only=source.local_only, trust_remote_code=False)
    if getattr(config, "is_encoder_decoder", False):
        raise PairError(f"{source.name} is an encoder-decoder model; use a decoder-only (causal) one")
    return config


def without_weights(name: str, config: Any, dtype: torch.dtype) -> Any:
    """Return the model with shapes and no numbers. Raises: PairError: it cannot be built."""
    with loading_errors(repr(name)), torch.device("meta"):
        return AutoModelForCausalLM.from_config(config, dtype=dtype, trust_remote_code=False).eval()


def tokenizer_of(source: Source) -> Any:
    """Return the tokenizer, tried on a short text. Raises: PairError: it is missing or damaged."""
    remedy = "download it again, or save it here with AutoTokenizer.from_pretrained(MODEL).save_pretrained(FOLDER)"
    if not any(_OF_TOKENIZERS.search(file.name) for file in source.folder.iterdir()):
        raise PairError(f"{source.name!r} has no tokenizer; {remedy}")
    with loading_errors(f"the tokenizer of {source.name!r}", remedy):
        tokenizer = AutoTokenizer.from_pretrained(
            source.name, local_files_only=source.local_only, trust_remote_code=False
        )
        tokenizer.decode(tokenizer(_SAMPLE).input_ids)
    return tokenizer
