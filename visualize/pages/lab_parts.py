"""The lab of a lesson: the page decodes with two small tables, and counts how every decode ends."""

import json
import math
from itertools import product
from pathlib import Path
from typing import Any

from dsbd.errors import LessonError
from visualize.pages.document import embedded_json
from visualize.viewer.bundle import joined
from visualize.words.words import Words

ENTRY = "pages/lab/lab.js"
RUNS = 5000
LAB = "page.lab."
"""How the keys of the lab's words start."""
MOST_WORDS, MOST_LAYERS = 4, 3
MAX_BYTES = 100_000
_REMEDY = "benchmarks/lossless_lab.py shows how such a file is made"


def lab_script() -> str:
    """Return the script of all labs of a page."""
    return f'(() => {{\n"use strict";\n{joined(ENTRY)}\n}})();\n'


def lab_element(tables: dict[str, Any], words: Words) -> str:
    """Return the element that the script fills, with its tables and words."""
    spoken = {key.removeprefix(LAB): text for key, text in words.table.items() if key.startswith(LAB)}
    data = embedded_json({"pair": tables, "runs": RUNS, "words": spoken})
    return f'<div class="lab"><script type="application/json">{data}</script></div>'


def read_tables(path: Path) -> dict[str, Any]:
    """Read the tables of a lab: ``words``, ``prompt``, ``layers``, and for ``target`` and ``draft`` a law per path.

    A path is a string with one digit for each word; the law after it is a list of probabilities, one for each word.

    Raises: LessonError; it names what is wrong.
    """
    try:
        raw = path.read_bytes()
    except OSError as error:
        raise LessonError(f"tables {path.name!r}: {error.strerror or error}") from None
    try:
        found: Any = json.loads(raw) if len(raw) <= MAX_BYTES else None
        words, prompt, layers = found["words"], found["prompt"], found["layers"]
        sound = isinstance(words, list) and all(isinstance(text, str) for text in (prompt, *words))
        sound = sound and isinstance(layers, int)
    except (ValueError, TypeError, KeyError):
        sound = False
    if not sound or not (2 <= len(words) <= MOST_WORDS and 2 <= layers <= MOST_LAYERS):
        raise LessonError(
            f"tables {path.name!r}: write words (2 to {MOST_WORDS}), prompt, layers (2 to {MOST_LAYERS}), target and "
            f"draft; {_REMEDY}"
        )
    paths = ["".join(map(str, one)) for length in range(layers) for one in product(range(len(words)), repeat=length)]
    for model in ("target", "draft"):
        table = found.get(model)
        for at in paths:
            law = table.get(at) if isinstance(table, dict) else None
            if not _is_law(law, len(words)):
                raise LessonError(
                    f"tables {path.name!r}: {model} after {at!r} is no law; write {len(words)} probabilities that sum "
                    f"to 1; {_REMEDY}"
                )
    return {key: found[key] for key in ("words", "prompt", "layers")} | {
        model: {at: found[model][at] for at in paths} for model in ("target", "draft")
    }


def _is_law(law: Any, count: int) -> bool:
    if not isinstance(law, list) or len(law) != count:
        return False
    if not all(isinstance(prob, (int, float)) and not isinstance(prob, bool) and 0 <= prob <= 1 for prob in law):
        return False
    return math.isclose(math.fsum(law), 1.0, abs_tol=1e-9)
