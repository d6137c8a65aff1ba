"""Checks a model's files before a library reads them, and refuses those that would break or block it.

A library builds whatever a configuration asks for, recurses as deep as a JSON text goes, and waits forever at a pipe.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dsbd.errors import PairError, first_line

CONFIG, ADAPTER, GGUF = "config.json", "adapter_config.json", ".gguf"
SMALL = (".json", ".txt", ".model", ".jinja")
"""Endings of the files that hold configurations and tokenizers."""
MIB = 1024 * 1024
LONGEST_CONFIG, LONGEST_FILE = 4 * MIB, 256 * MIB
"""Most bytes of ``config.json`` and of each other small file; the largest known tokenizers have 35 MB."""
DEEPEST = 32
"""Most levels of lists and objects in a JSON file; known models have fewer than 10."""
RANGES = {
    r"(layers|blocks|depths?)$|^n_layer$": (0, 1_000),
    r"experts": (0, 100_000),
    r"labels$": (0, 100_000),
    r"^((hidden|vocab)_size|n_embd|d_model|n_heads?|num(_attention)?_heads)$": (1, 100_000_000),
}
"""Allowed values of the fields that say how much is built, by a pattern of the field's name."""


def require_files(folder: Path, name: str) -> None:
    """Check the files of a model, except its weights.

    Args:
        folder: holds the files.
        name: of the model, for messages.

    Raises:
        PairError: a file is not a plain file, too large or nested too deep; or ``config.json`` is missing or has
            impossible numbers.
    """
    try:
        files = sorted(folder.iterdir())
        strange = next((file for file in files if file.exists() and not (file.is_file() or file.is_dir())), None)
        if strange is not None:
            raise PairError(f"{name!r} has {strange.name}, which is not a plain file but a pipe or a device; remove it")
        plain = [file for file in files if file.is_file()]
        require_kind(name, [file.name for file in plain])
        require_sizes(name, {file.name: file.stat().st_size for file in plain})
        for file in plain:
            if file.suffix == ".json":
                _require_depth(file, name)
        _require_config(folder / CONFIG, name)
    except OSError as error:
        raise PairError(f"cannot read {name!r}: {error.strerror or error}; give a folder that can be read") from None


MERGE = (
    'pip install peft and python -c "from peft import AutoPeftModelForCausalLM as M; '
    "M.from_pretrained('FOLDER').merge_and_unload().save_pretrained('merged')\""
)
UNPACK = (
    'pip install gguf and python -c "from transformers import AutoModelForCausalLM as M, AutoTokenizer as T, '
    "GgufConfig as C; M.from_pretrained('FOLDER', gguf_file='FILE', quantization_config=C(dequantize=True))"
    ".save_pretrained('unpacked'); T.from_pretrained('FOLDER', gguf_file='FILE').save_pretrained('unpacked')\""
)
"""Commands for a shell; a stranger's file names never go into them."""


def require_kind(name: str, files: Collection[str]) -> None:
    """Check by file names that this is a model of transformers. Raises: PairError, which says how to convert it."""
    if CONFIG in files:
        return
    if ADAPTER in files:
        raise PairError(
            f"{name!r} is an adapter of PEFT without its base model; merge both once, with {MERGE}, save the tokenizer "
            f"of the base model into that folder, and give the folder"
        )
    if any(file.endswith(GGUF) for file in files):
        raise _packed(name)
    raise PairError(f"{name!r} has no config.json; give the folder that save_pretrained wrote")


def require_no_gguf(path: Path) -> None:
    """Check that a path is not a GGUF file of llama.cpp. Raises: PairError, which says how to convert it."""
    if path.suffix == GGUF and path.is_file():
        raise _packed(str(path))


def _packed(name: str) -> PairError:
    return PairError(
        f"{name!r} holds a model as GGUF, the format of llama.cpp; give the model that it was made from, or unpack it "
        f"once, with {UNPACK}, and give the folder 'unpacked'"
    )


def require_sizes(name: str, sizes: Mapping[str, int]) -> None:
    """Check the sizes of a model's small files, in bytes. Raises: PairError: one is too large."""
    for file, size in sizes.items():
        most = LONGEST_CONFIG if file == CONFIG else LONGEST_FILE
        if is_small(file) and size > most:
            raise PairError(f"{file} of {name!r} has {size:,} bytes; at most {most:,} are read; download it again")


def is_small(file: str) -> bool:
    """Return True if a file directly in the model's folder holds a configuration or a part of a tokenizer."""
    return "/" not in file and file.endswith(SMALL)


def _require_depth(file: Path, name: str) -> None:
    """Check the depth of a JSON text without parsing it. Raises: PairError, OSError."""
    depth = _depth(file.read_bytes())
    if depth > DEEPEST:
        raise PairError(
            f"{file.name} of {name!r} has {depth:,} lists and objects inside each other; at most {DEEPEST} are read; "
            f"download it again"
        )


def _depth(content: bytes) -> int:
    """Return the most levels of lists and objects in a JSON text."""
    if b"\\" in content:  # an escaped quote does not end a string
        content = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(content.split(b'"')[::2])
    brackets = outside.translate(None, delete=bytes(set(range(256)) - set(b"[]{}")))
    steps = (np.frombuffer(brackets, np.uint8) & 2).astype(np.int8) - 1  # opening 1, closing -1
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0))


def _require_config(file: Path, name: str) -> None:
    """Check the numbers of a configuration. Raises: PairError, OSError."""
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise PairError(
            f"config.json of {name!r} is not JSON ({first_line(error)}); download it again, or give a folder or hub id "
            f"of a causal language model"
        ) from None
    if not isinstance(config, dict):
        raise PairError(f"config.json of {name!r} is not a JSON object; download it again")
    for field, value in _numbers(config):
        for pattern, (least, most) in RANGES.items():
            if re.search(pattern, field) and not least <= value <= most:
                raise PairError(
                    f"config.json of {name!r} says {field} {str(value)[:40]}; allowed are {least:,} to {most:,}; give "
                    f"a causal language model, or download it again"
                )


def _numbers(config: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield every named number, also in inner configurations."""
    for field, value in config.items():
        if isinstance(value, dict):
            yield from _numbers(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield field, value
