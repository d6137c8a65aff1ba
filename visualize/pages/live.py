"""The form that decodes in the reader's browser, and the files of live pages: bundled pairs and libraries."""

import hashlib
import json
from collections import defaultdict
from collections.abc import Iterator, Sequence
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from dsbd.methods import READS
from dsbd.settings import EVERY_METHOD, FIELDS
from dsbd.tracing.trace import Trace
from dsbd.util import BUNDLED_PAIRS, asset_path
from visualize.pages.document import fragment
from visualize.viewer.bundle import classic, joined
from visualize.words import Words

FOLDER = "live"  # the folder of shared files, beside the pages that decode
LIST = "files.json"
ROLES = ("target", "draft")
WEIGHTS = ("browser.onnx", "config.json", "*.safetensors")
TOKENIZER = ("generation_config.json", "tokenizer.json", "tokenizer_config.json")
METHODS = ("dsbd", "beam_sampling", "beam_search", "speculative_beam_search", "speculative", "sampling", "greedy")
"""The methods that a browser can decode with."""
QUESTION = "Q: {}\nSQL:"  # how the pair for SQL wants a question; a visitor types the question alone
PROMPTS = {"stories": "{}", "sql": QUESTION}  # what the models of each pair read; ``{}`` is what a visitor types
OPENINGS = {"stories": "Once upon a time", "sql": "How many old branches are there in each city?"}
"""What the form starts with for a pair without a recorded decode."""
MAIN = ("max_new_tokens", "temperature", "draft_depth", "draft_width", "num_beams", "seed")
HIDDEN = ("method", "continuation", "branching", "depth_costs", "joint_threshold", "block")
"""The fields above the fold, and those that the form does not show, or shows elsewhere."""
LARGEST = 2**53 - 1
"""The largest whole number of JavaScript."""
SHARED_WORDS = {
    "stop": "page.lab.stop", "passes": "stat.iterations", "seconds": "figure.seconds",
    "field.num_beams": "page.lab.width", "field.seed": "page.lab.seed",
}  # fmt: skip
"""Words of the form that the tables list under other keys."""


def live_element(
    traces: Sequence[Trace], base: str, language: str, *, prompt: str = "", is_small: bool = False
) -> Markup:
    """Return the form.

    Args:
        traces: the form starts with the pair of the first one, and for each pair with prompt and settings of its first.
        base: address of the folder of shared files, with a slash.
        language: of the form.
        prompt: replaces that of the traces.
        is_small: only a prompt and Run, for the card of a lesson, with the pair of its trace.
    """
    words = Words(language)
    pairs: dict[str, dict[str, Any]] = {}
    for trace in traces:
        name = live_pair([model.id for model in (trace.models.target, trace.models.draft) if model])
        before, _, after = PROMPTS[name].partition("{}")
        question = prompt or trace.prompt.text.removeprefix(before).removesuffix(after)
        pairs.setdefault(name, {"prompt": question, "settings": repeatable(vars(trace.settings))})
    for name in () if is_small else BUNDLED_PAIRS:
        pairs.setdefault(name, {"prompt": OPENINGS[name], "settings": {"method": METHODS[0]}})
    texts = words.below("count.") | {name: words(key) for name, key in SHARED_WORDS.items()} | live_words(language)
    data = {
        "base": base,
        "pairs": [{"name": name, "megabytes": _megabytes(name), **start} for name, start in pairs.items()],
        "reads": {method: [*READS[method], *EVERY_METHOD] for method in METHODS},
        "words": texts,
        "isSmall": is_small,
    }
    fields = {name: about for name, about in FIELDS.items() if name not in HIDDEN}
    values = {"fields": fields, "main": MAIN, "largest": LARGEST, "texts": defaultdict(str, texts), "words": words}
    return fragment("live.html", data=data, **values)


def _megabytes(pair: str) -> int:
    """Return the size of what a browser fetches for a pair."""
    files = [file for path, file in _bundled().items() if path.startswith(("runtime/", f"pairs/{pair}/"))]
    return round(sum(file.stat().st_size for file in files) / 1e6)


def live_pair(models: Sequence[str]) -> str:
    """Return the bundled pair that has one of these models, else the default one."""
    return next((name for name in BUNDLED_PAIRS for model in models if f":{name}/" in model), BUNDLED_PAIRS[0])


def live_words(language: str) -> dict[str, str]:
    """Return the words that only the form uses, without the common start of their keys."""
    return Words(language).below("page.live.")


def repeatable(resolved: dict[str, Any]) -> dict[str, Any]:
    """Return the settings of a form that repeat resolved ones; the defaults where a browser lacks the method."""
    if resolved["method"] not in METHODS:
        return {"method": METHODS[0]}
    names = [*EVERY_METHOD, *READS[resolved["method"]]]
    return {"method": resolved["method"]} | {name: resolved[name] for name in names}


def live_files() -> dict[str, Path | str]:
    """Return every shared file by its path in the folder: the path of a bundled file, or a text.

    Libraries are in ``runtime/``, models in ``pairs/NAME/ROLE/``, and scripts at the top. ``files.json`` lists the size
    and the SHA-256 of each bundled file, and for each pair its name in traces and its prompt.
    """
    form = classic("live/panel.js", "globalThis.DsbdLive = {Client, sentenceOf};")
    ids = {name: "bundled" if name == BUNDLED_PAIRS[0] else f"bundled:{name}" for name in BUNDLED_PAIRS}
    pairs = {name: {"id": ids[name], "prompt": PROMPTS[name]} for name in BUNDLED_PAIRS}
    digests = {path: _digest(file) for path, file in _bundled().items()}
    table = json.dumps({"format": "dsbd-live/1", "pairs": pairs, "files": digests}, indent=1)
    return {**_bundled(), "live.js": form, "worker.js": joined("live/worker.js"), LIST: table}


def _bundled() -> dict[str, Path]:
    runtime = {f"runtime/{file.name}": file for file in sorted(asset_path("live").iterdir())}
    pairs = ((pair, role) for pair in BUNDLED_PAIRS for role in ROLES)
    return runtime | {f"pairs/{pair}/{role}/{file.name}": file for pair, role in pairs for file in _files(pair, role)}


def _files(pair: str, role: str) -> Iterator[Path]:
    for pattern in WEIGHTS + TOKENIZER * (role == "target"):
        yield from sorted((asset_path("models") / pair / role).glob(pattern))


@lru_cache
def _digest(file: Path) -> dict[str, int | str]:
    content = file.read_bytes()
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
