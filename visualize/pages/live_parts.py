"""The form that decodes in the reader's browser: its element, and what its page needs."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from dsbd.assets import BUNDLED_PAIRS
from dsbd.methods import EVERY_METHOD, READS
from dsbd.settings import DecodingSettings
from visualize.pages.document import Kit, embedded_json, style
from visualize.pages.live_files import fetched_files
from visualize.scenes.records import Scene
from visualize.viewer.bundle import source
from visualize.words.words import Words

METHODS = ("dsbd", "beam_sampling", "beam_search", "speculative_beam_search", "speculative", "sampling", "greedy")
"""The methods that a browser decodes with."""
LIVE = "page.live."
"""How the keys of the form's words start."""
ALSO_SAID = {
    "stop": "page.lab.stop", "passes": "stat.iterations", "seconds": "figure.seconds",
    "field.num_beams": "page.lab.width", "field.seed": "page.lab.seed",
}  # fmt: skip
"""Words of the form that stand elsewhere in the tables."""


def live_element(scene: Scene, base: str, language: str, *, prompt: str = "", is_small: bool = False) -> str:
    """Return the element that the script fills.

    Args:
        scene: its prompt and settings stand in the form at first.
        base: address of the folder of shared files, with a slash.
        language: of the form.
        prompt: stands in the form instead of the scene's.
        is_small: only a prompt and Run, for the card of a lesson.
    """
    words = Words(language).table
    said = live_words(language)
    said |= {name: words[key] for name, key in ALSO_SAID.items()}
    said |= {
        key.removeprefix("count."): words[key] for key in words if key.startswith(("count.tokens.", "count.passes."))
    }
    pair = live_pair(scene.models)
    data = {
        "base": base,
        "megabytes": round(sum(one.stat().st_size for one in fetched_files(pair).values()) / 1e6),
        "pair": pair,
        "prompt": prompt or "".join(scene.prompt),
        "settings": _defaults() | asked(scene.settings),
        "reads": {method: _fields(method) for method in METHODS},
        "methods": [[method, words[f"method.{method}"]] for method in METHODS],
        "words": said,
        "isSmall": is_small,
    }
    return f'<div class="dsbd-live"><script type="application/json">{embedded_json(data)}</script></div>'


def live_words(language: str) -> dict[str, str]:
    """Return the words that only a form has, without the start of their keys."""
    words = Words(language).table
    return {key.removeprefix(LIVE): text for key, text in words.items() if key.startswith(LIVE)}


def _fields(method: str) -> list[str]:
    """Return the fields that the form shows; num_beams of DSBD only stands in for max_width in a likely forest."""
    return [name for name in (*READS[method], *EVERY_METHOD) if (method, name) != ("dsbd", "num_beams")]


def _defaults() -> dict[str, Any]:
    names = [name for method in METHODS for name in _fields(method) if name != "depth_costs"]
    return {name: value for name in names if (value := getattr(DecodingSettings(), name)) is not None}


def live_pair(models: Sequence[str]) -> str:
    """Return the bundled pair with one of these models, or else the default one."""
    return next((name for name in BUNDLED_PAIRS for model in models if f":{name}/" in model), BUNDLED_PAIRS[0])


def asked(resolved: Mapping[str, Any]) -> dict[str, Any]:
    """Return what a form asks for to repeat resolved settings; the defaults where a browser has no such method."""
    if resolved.get("method") not in METHODS:
        return {"method": METHODS[0]}
    names = [*EVERY_METHOD, *READS[resolved["method"]]]
    found = {name: resolved[name] for name in names if resolved[name] is not None}
    return {"method": resolved["method"], **found}


def live_kit(kit: Kit, base: str) -> Kit:
    """Return the kit of a page with forms; ``base`` as for :func:`live_element`."""
    script = f'<script src="{base}live.js" defer></script>'
    scripts = kit.scripts if "'self'" in kit.scripts else f"{kit.scripts} 'self'"
    return replace(
        kit, head=kit.head + style(source("live/live.css")), body=kit.body + script, scripts=scripts, asks=True
    )
