"""A model without its weights: configuration, tokenizer, and layers that have shapes and no numbers.

Damaged or hostile files make libraries raise any error; here each becomes one sentence. Code that comes with a model is
never run, and transformers never asks the user whether to run it.
"""

import re
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer

from dsbd.errors import PairError, first_line, told_as
from dsbd.models.files import require_files
from dsbd.models.free_memory import is_out_of_memory
from dsbd.models.hub import local_folder, on_hub, small_files
from dsbd.models.weights import require_weights

CAUSAL = "give a folder or hub id of a causal language model"
_OF_TOKENIZERS = re.compile(r"token|vocab|merges|spiece|bpe|\.model$|\.tiktoken$", re.IGNORECASE)
"""What the name of a tokenizer's file contains."""
_SAMPLE = "Once upon a time, 1 + 1 = 2."


class Source(NamedTuple):
    """Where a model's files are."""

    name: str
    """Folder or hub id."""
    folder: Path
    """Holds all files but the weights, checked."""
    local_only: bool
    """True if nothing needs to be fetched."""


def source_of(name: str, fetch: bool = True) -> Source:
    """Find a model and check its files.

    Args:
        name: an existing folder, or a hub id.
        fetch: whether the hub may be asked; if not, the files must be on this machine.

    Raises:
        PairError: the model is not found, or its files are damaged, hostile, or not those of a causal model.
    """
    info = None if Path(name).is_dir() or not fetch else on_hub(name)
    folder = local_folder(name) if info is None else small_files(name, info)
    if folder is None:
        raise PairError(f"{name!r} is not on this machine, and nothing is fetched here; load it once, or give a folder")
    require_files(folder, name)
    if info is None:
        require_weights(folder, name)
    return Source(name, folder, info is None)


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

    return told_as(error_of)


def config_of(source: Source) -> Any:
    """Return the configuration. Raises: PairError: it is damaged, or not of a decoder-only language model."""
    with loading_errors(repr(source.name)):
        config = AutoConfig.from_pretrained(source.name, local_files_only=source.local_only, trust_remote_code=False)
    if getattr(config, "is_encoder_decoder", False):
        raise PairError(f"{source.name} is an encoder-decoder model; use a decoder-only (causal) one")
    return config


def without_weights(name: str, config: Any, dtype: torch.dtype, **how: Any) -> Any:
    """Return the model with shapes and no numbers. Raises: PairError: it cannot be built."""
    with loading_errors(repr(name)), torch.device("meta"):
        return AutoModelForCausalLM.from_config(config, dtype=dtype, trust_remote_code=False, **how).eval()


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


def try_out(folder: str) -> None:
    """Read all of a model but its weights, in a process that may crash. Raises: PairError."""
    source = source_of(folder, fetch=False)
    config = config_of(source)
    without_weights(source.name, config, torch.bfloat16)
    tokenizer_of(source)
