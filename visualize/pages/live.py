"""The form that decodes in the reader's browser, and the files that live pages share: bundled pairs and libraries."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import lru_cache
from pathlib import Path
from typing import Any

from markupsafe import Markup

from dsbd.methods import READS
from dsbd.settings import EVERY_METHOD
from dsbd.tracing.trace import Trace
from dsbd.util import BUNDLED_PAIRS, asset_path
from visualize.pages.document import PageAssets, data_element, style
from visualize.viewer.bundle import classic, joined, source
from visualize.words import Words

FOLDER = "live"
"""The folder of shared files, below the pages that decode."""
LIST = "files.json"
ROLES = ("target", "draft")
WEIGHTS = ("browser.onnx", "config.json", "*.safetensors")
TOKENIZER = ("generation_config.json", "tokenizer.json", "tokenizer_config.json")
METHODS = ("dsbd", "beam_sampling", "beam_search", "speculative_beam_search", "speculative", "sampling", "greedy")
"""The methods that a browser decodes with."""
QUESTION = "Q: {}\nSQL:"
"""How the pair for SQL wants a question; a visitor types the question alone."""
PROMPTS = {"stories": "{}", "sql": QUESTION}
"""What the models of each pair read: ``{}`` is what a visitor types."""
OPENINGS = {"stories": "Once upon a time", "sql": "How many old branches are there in each city?"}
"""What stands in the form for a pair without a recorded decode."""
ALSO_SAID = {
    "stop": "page.lab.stop", "passes": "stat.iterations", "seconds": "figure.seconds",
    "field.num_beams": "page.lab.width", "field.seed": "page.lab.seed",
}  # fmt: skip
"""Words of the form that stand elsewhere in the tables."""


def live_element(
    traces: Sequence[Trace], base: str, language: str, *, prompt: str = "", is_small: bool = False
) -> Markup:
    """Return the element that the script fills.

    Args:
        traces: prompt and settings of each pair's first one stand in the form; the first pair is chosen.
        base: address of the folder of shared files, with a slash.
        language: of the form.
        prompt: stands in the form instead of a trace's.
        is_small: only a prompt and Run, for the card of a lesson, with the pair of its trace.
    """
    words = Words(language)
    pairs: dict[str, dict[str, Any]] = {}
    for trace in traces:
        name = live_pair([model.id for model in (trace.models.target, trace.models.draft) if model])
        before, _, after = PROMPTS[name].partition("{}")
        typed = prompt or trace.prompt.text.removeprefix(before).removesuffix(after)
        pairs.setdefault(name, {"prompt": typed, "settings": asked(vars(trace.settings))})
    for name in () if is_small else BUNDLED_PAIRS:
        pairs.setdefault(name, {"prompt": OPENINGS[name], "settings": {"method": METHODS[0]}})
    data = {
        "base": base,
        "pairs": [{"name": name, "megabytes": _megabytes(name), **shown} for name, shown in pairs.items()],
        "reads": {method: [*READS[method], *EVERY_METHOD] for method in METHODS},
        "methods": [[method, words(f"method.{method}")] for method in METHODS],
        "words": words.below("count.") | {name: words(key) for name, key in ALSO_SAID.items()} | live_words(language),
        "isSmall": is_small,
    }
    return data_element("dsbd-live", data)


def _megabytes(pair: str) -> int:
    """Return how much a browser fetches for a pair."""
    fetched = [file for path, file in _bundled().items() if path.startswith(("runtime/", f"pairs/{pair}/"))]
    return round(sum(file.stat().st_size for file in fetched) / 1e6)


def live_pair(models: Sequence[str]) -> str:
    """Return the bundled pair with one of these models, or else the default one."""
    return next((name for name in BUNDLED_PAIRS for model in models if f":{name}/" in model), BUNDLED_PAIRS[0])


def live_words(language: str) -> dict[str, str]:
    """Return the words that only a form has, without the start of their keys."""
    return Words(language).below("page.live.")


def asked(resolved: dict[str, Any]) -> dict[str, Any]:
    """Return what a form asks for to repeat resolved settings; the defaults where a browser has no such method."""
    if resolved["method"] not in METHODS:
        return {"method": METHODS[0]}
    names = [*EVERY_METHOD, *READS[resolved["method"]]]
    return {"method": resolved["method"]} | {name: resolved[name] for name in names}


def with_live(assets: PageAssets, base: str) -> PageAssets:
    """Return the assets of a page of a site with forms; ``base`` as for :func:`live_element`."""
    script = Markup('<script src="{}live.js" defer></script>').format(base)
    return replace(assets, head=assets.head + style(source("live/live.css")), body=assets.body + script, fetches=True)


def live_files() -> dict[str, Path | str]:
    """Return every shared file by its path in the folder: the path of a bundled file, or a text.

    The libraries are in ``runtime/``, the models in ``pairs/NAME/ROLE/``, and the scripts beside them. ``files.json``
    has the size and the SHA-256 of each bundled file, and of each pair its name in traces and its prompt.
    """
    form = classic("live/panel.js", "globalThis.DsbdLive = {Client, sentenceOf};")
    called = {
        name: {"id": "bundled" if name == BUNDLED_PAIRS[0] else f"bundled:{name}", "prompt": PROMPTS[name]}
        for name in BUNDLED_PAIRS
    }
    sums = {path: _sum(file) for path, file in _bundled().items()}
    listed = json.dumps({"format": "dsbd-live/1", "pairs": called, "files": sums}, indent=1)
    return {**_bundled(), "live.js": form, "worker.js": joined("live/worker.js"), LIST: listed}


def _bundled() -> dict[str, Path]:
    runtime = {f"runtime/{file.name}": file for file in sorted(asset_path("live").iterdir())}
    pairs = ((pair, role) for pair in BUNDLED_PAIRS for role in ROLES)
    return runtime | {f"pairs/{pair}/{role}/{file.name}": file for pair, role in pairs for file in _files(pair, role)}


def _files(pair: str, role: str) -> Iterator[Path]:
    for pattern in WEIGHTS + TOKENIZER * (role == "target"):
        yield from sorted((asset_path("models") / pair / role).glob(pattern))


@lru_cache
def _sum(file: Path) -> dict[str, int | str]:
    content = file.read_bytes()
    return {"bytes": len(content), "sha256": hashlib.sha256(content).hexdigest()}
