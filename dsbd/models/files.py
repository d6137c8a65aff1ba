"""The files of a model, looked at before a library reads them: what would break or stop a library is refused in words.

A library builds whatever a configuration asks for, recurses as deep as a JSON text is, and waits for ever at a pipe.
"""

import json
import re
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path
from typing import Any

import numpy as np

from dsbd.errors import PairError, first_line
from dsbd.models.weights import damage_of

CONFIG, ADAPTER, GGUF = "config.json", "adapter_config.json", ".gguf"
SMALL = (".json", ".txt", ".model", ".jinja")
"""How files are named that a configuration and a tokenizer are read from."""
MIB = 1024 * 1024
LONGEST_CONFIG, LONGEST_FILE = 4 * MIB, 256 * MIB
"""Bytes of a ``config.json``, and of any other small file beside it; the largest tokenizers known have 35 MB."""
DEEPEST = 32
"""Lists and objects inside each other in a JSON file; those of known models have fewer than 10."""
RANGES = {
    r"(layers|blocks|depths?)$|^n_layer$": (0, 1_000),
    r"experts": (0, 100_000),
    r"labels$": (0, 100_000),
    r"^((hidden|vocab)_size|n_embd|d_model|n_heads?|num(_attention)?_heads)$": (1, 100_000_000),
}
"""Numbers that say how much is built, by what their names hold: the least and the most. A ``null`` is left alone."""


def require_files(folder: Path, name: str) -> None:
    """Check the files of a model, all but its weights.

    Args:
        folder: where they are.
        name: of the model, for messages.

    Raises:
        PairError: one is no plain file, too large or too deep; there is no ``config.json``, or it names numbers that no
            model has.
    """
    try:
        files = sorted(folder.iterdir())
        strange = next((file for file in files if file.exists() and not (file.is_file() or file.is_dir())), None)
        if strange is not None:
            raise PairError(f"{name!r} has {strange.name}, which is no plain file but a pipe or a device; remove it")
        plain = [file for file in files if file.is_file()]
        require_kind(name, [file.name for file in plain])
        require_sizes(name, {file.name: file.stat().st_size for file in plain})
        for file in plain:
            if file.suffix == ".json":
                _require_depth(file, name)
        _require_config(folder / CONFIG, name)
    except OSError as error:
        raise PairError(f"cannot read {name!r}: {error.strerror or error}; give a folder that can be read") from None


def require_weights(folder: Path, name: str) -> None:
    """Check that the weights are whole, as far as their headers tell. Raises: PairError: they are not."""
    damage = damage_of(folder)
    if damage is not None:
        raise PairError(f"cannot load {name!r}: {damage}; download it again, or save the model again")


MERGE = (
    'pip install peft and python -c "from peft import AutoPeftModelForCausalLM as M; '
    "M.from_pretrained('FOLDER').merge_and_unload().save_pretrained('merged')\""
)
UNPACK = (
    'pip install gguf and python -c "from transformers import AutoModelForCausalLM as M, AutoTokenizer as T, '
    "GgufConfig as C; M.from_pretrained('FOLDER', gguf_file='FILE', quantization_config=C(dequantize=True))"
    ".save_pretrained('unpacked'); T.from_pretrained('FOLDER', gguf_file='FILE').save_pretrained('unpacked')\""
)
"""Commands for a shell, into which no name of a stranger's file is put."""


def require_kind(name: str, files: Collection[str]) -> None:
    """Check by the names of its files that this is a model of transformers. Raises: PairError: it is of another kind.

    The message says how to make one of it.
    """
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
    """Check that a path is no file of llama.cpp. Raises: PairError: it is one; the message says how to unpack it."""
    if path.suffix == GGUF and path.is_file():
        raise _packed(str(path))


def _packed(name: str) -> PairError:
    return PairError(
        f"{name!r} holds a model as GGUF, the format of llama.cpp; give the model that it was made from, or unpack it "
        f"once, with {UNPACK}, and give the folder 'unpacked'"
    )


def require_sizes(name: str, sizes: Mapping[str, int]) -> None:
    """Check the bytes of a model's files, but for its weights. Raises: PairError: one is too large."""
    for file, size in sizes.items():
        most = LONGEST_CONFIG if file == CONFIG else LONGEST_FILE
        if is_small(file) and size > most:
            raise PairError(f"{file} of {name!r} has {size:,} bytes; at most {most:,} are read; download it again")


def is_small(file: str) -> bool:
    """Return True for a file of the model's own folder that a configuration or a tokenizer is read from."""
    return "/" not in file and file.endswith(SMALL)


def _require_depth(file: Path, name: str) -> None:
    """Check how deep a JSON text is, without parsing it. Raises: PairError, OSError."""
    depth = _depth(file.read_bytes())
    if depth > DEEPEST:
        raise PairError(
            f"{file.name} of {name!r} has {depth:,} lists and objects inside each other; at most {DEEPEST} are read; "
            f"download it again"
        )


def _depth(content: bytes) -> int:
    """Return how many lists and objects of a JSON text are inside each other."""
    if b"\\" in content:  # an escaped quote ends no text
        content = content.replace(b"\\\\", b"").replace(b'\\"', b"")
    outside = b"".join(content.split(b'"')[::2])
    brackets = outside.translate(None, delete=bytes(set(range(256)) - set(b"[]{}")))
    steps = (np.frombuffer(brackets, np.uint8) & 2).astype(np.int8) - 1  # 1 for what opens, -1 for what closes
    return int(np.cumsum(steps, dtype=np.int32).max(initial=0))


def _require_config(file: Path, name: str) -> None:
    """Check the numbers of a configuration. Raises: PairError, OSError."""
    try:
        config = json.loads(file.read_text(encoding="utf-8"))
    except (ValueError, RecursionError) as error:
        raise PairError(
            f"config.json of {name!r} is no JSON ({first_line(error)}); download it again, or give a folder or hub id "
            f"of a causal language model"
        ) from None
    if not isinstance(config, dict):
        raise PairError(f"config.json of {name!r} is no JSON object; download it again")
    for field, value in _numbers(config):
        for pattern, (least, most) in RANGES.items():
            if re.search(pattern, field) and not least <= value <= most:
                raise PairError(
                    f"config.json of {name!r} says {field} {str(value)[:40]}; allowed are {least:,} to {most:,}; give "
                    f"a causal language model, or download it again"
                )


def _numbers(config: dict[str, Any]) -> Iterator[tuple[str, float]]:
    """Yield every number that has a name, those of inner configurations too."""
    for field, value in config.items():
        if isinstance(value, dict):
            yield from _numbers(value)
        elif isinstance(value, (int, float)) and not isinstance(value, bool):
            yield field, value
