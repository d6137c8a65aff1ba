"""Copies what live pages share into a folder: the bundled pairs, the libraries that run them, and the live decoder."""

import hashlib
import json
import re
from collections.abc import Iterator, Sequence
from pathlib import Path

from dsbd.assets import BUNDLED_PAIRS, asset_path
from visualize.files import write

LIST = "files.json"
ROLES = ("target", "draft")
WEIGHTS = ("browser.onnx", "config.json", "*.safetensors")
TOKENIZER = ("generation_config.json", "tokenizer.json", "tokenizer_config.json")
SCRIPTS = Path(__file__).resolve().parents[1]
_IMPORT = re.compile(r'^(?:import|export) .*? from "(\.{1,2}/[^"]+)"', re.M | re.S)


def copy_live_files(folder: str | Path, pairs: Sequence[str] = BUNDLED_PAIRS) -> list[str]:
    """Copy the files that live pages share: some 33 MB for the story pair.

    The scripts go to ``scripts/live/``, those that they import beside them; the libraries to ``runtime/``; the models
    to ``pairs/NAME/ROLE/``. ``files.json`` has the size and the SHA-256 of each file but the scripts.

    Args:
        folder: is made if it is missing; files of the same name are replaced.
        pairs: names of bundled pairs.

    Returns:
        The paths of the files below ``folder``.

    Raises:
        ValueError: no bundled pair has one of these names.
        TraceError: a file cannot be written.
    """
    unknown = [name for name in pairs if name not in BUNDLED_PAIRS]
    if unknown:
        raise ValueError(f"there is no bundled pair {unknown[0]!r}; there are {', '.join(BUNDLED_PAIRS)}")
    files = {f"runtime/{file.name}": file for file in sorted(asset_path("live").iterdir())}
    for name in pairs:
        for role in ROLES:
            patterns = WEIGHTS + TOKENIZER * (role == "target")
            found = [
                file for pattern in patterns for file in sorted((asset_path("models") / name / role).glob(pattern))
            ]
            files |= {f"pairs/{name}/{role}/{file.name}": file for file in found}
    contents = {path: file.read_bytes() for path, file in files.items()}
    sums = {path: {"bytes": len(one), "sha256": hashlib.sha256(one).hexdigest()} for path, one in contents.items()}
    called = {name: "bundled" if name == BUNDLED_PAIRS[0] else f"bundled:{name}" for name in pairs}
    contents[LIST] = json.dumps({"format": "dsbd-live/1", "pairs": called, "files": sums}, indent=1).encode()
    contents |= {f"scripts/{file.relative_to(SCRIPTS).as_posix()}": file.read_bytes() for file in _scripts()}
    for path, content in contents.items():
        file = Path(folder) / path
        file.parent.mkdir(parents=True, exist_ok=True)
        write(file, content)
    return list(contents)


def _scripts() -> list[Path]:
    """Return the scripts of the live decoder, and all that they import."""
    found = dict.fromkeys(sorted((SCRIPTS / "live").rglob("*.js")))
    waiting = list(found)
    while waiting:
        for file in _imported(waiting.pop()):
            if file not in found:
                found[file] = None
                waiting.append(file)
    return list(found)


def _imported(file: Path) -> Iterator[Path]:
    if file.suffix == ".js":
        for name in _IMPORT.findall(file.read_text(encoding="utf-8")):
            yield (file.parent / name).resolve()
