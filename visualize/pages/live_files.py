"""The files that live pages share: the bundled pairs, the libraries that run them, the decoder and its form."""

import hashlib
import json
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

from dsbd.assets import BUNDLED_PAIRS, asset_path
from visualize.files import write
from visualize.pages import page_file
from visualize.viewer.bundle import joined

FOLDER = "live"
"""The folder of shared files, below the pages that decode."""
LIST = "files.json"
SERVICE_WORKER = "service-worker.js"
ROLES = ("target", "draft")
WEIGHTS = ("browser.onnx", "config.json", "*.safetensors")
TOKENIZER = ("generation_config.json", "tokenizer.json", "tokenizer_config.json")
RUNTIME = "runtime/"


def live_files() -> dict[str, Path | str]:
    """Return every shared file by its path in the folder: the path of a bundled file, or a text.

    The libraries are in ``runtime/``, the models in ``pairs/NAME/ROLE/``, and the scripts beside them. ``files.json``
    has the size and the SHA-256 of each bundled file.
    """
    bundled = _runtime() | {path: file for name in BUNDLED_PAIRS for path, file in _models(name).items()}
    names = "globalThis.DsbdLive = {Client, sentenceOf};"
    form = f'(() => {{\n"use strict";\n{joined("live/panel.js")}\n{names}\n}})();\n'
    scripts = {"live.js": form, "worker.js": joined("live/worker.js")}
    return {**bundled, **scripts, LIST: _list(bundled)}


def fetched_files(pair: str) -> dict[str, Path]:
    """Return the files that a browser fetches before its first decode with a pair."""
    return _runtime() | _models(pair)


def write_live(folder: Path) -> None:
    """Write the shared files into ``folder``/live, and beside it the script that keeps them. Raises: TraceError."""
    for path, content in live_files().items():
        file = folder / FOLDER / path
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, content.read_bytes() if isinstance(content, Path) else content)
    write(folder / SERVICE_WORKER, page_file("service_worker.js"))


def _runtime() -> dict[str, Path]:
    return {f"{RUNTIME}{file.name}": file for file in sorted(asset_path("live").iterdir())}


def _models(pair: str) -> dict[str, Path]:
    return {f"pairs/{pair}/{role}/{file.name}": file for role in ROLES for file in _files_of(pair, role)}


def _files_of(pair: str, role: str) -> Iterator[Path]:
    for pattern in WEIGHTS + TOKENIZER * (role == "target"):
        yield from sorted((asset_path("models") / pair / role).glob(pattern))


@lru_cache
def _sum(file: Path) -> dict[str, int | str]:
    content = file.read_bytes()
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}


def _list(files: dict[str, Path]) -> str:
    """Return the list against which a browser checks what it fetched, with the names of the pairs in traces."""
    called = {name: "bundled" if name == BUNDLED_PAIRS[0] else f"bundled:{name}" for name in BUNDLED_PAIRS}
    sums = {path: _sum(file) for path, file in files.items()}
    return json.dumps({"format": "dsbd-live/1", "pairs": called, "files": sums}, indent=1)
