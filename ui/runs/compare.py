"""Methods side by side, for programs: the endpoint ``/compare``. The Race tab shows the same to visitors."""

from typing import Any

import gradio as gr

from dsbd.errors import SettingsError
from dsbd.settings import METHODS

from ..asked.form import check_prompt
from ..engine import Engine
from ..jobs import comparison
from ..pairs.shelf import PAGE
from ..parts.wiring import ON_GPU, session_of
from .decode import check_pair, settings_from
from .sentences import in_sentences


def compare(
    engine: Engine, session: str, prompt: Any, methods: Any, runs: Any = 1, settings: Any = None, pair: Any = PAGE
) -> dict[str, Any]:
    """Measure methods side by side: the endpoint for programs.

    Args:
        prompt: text.
        methods: names of methods.
        runs: runs per method, 1 or more.
        settings: fields of DecodingSettings by name.
        pair: "page", "bundled:stories" or "bundled:sql".

    Returns:
        ``methods`` (one entry each; null = not measured) and ``ratios`` over beam sampling.
    """
    with in_sentences(), engine.visit(session, "compare_seconds") as stop:
        chosen, times = check_choice(methods, runs)
        asked, words = settings_from(settings, engine.limits), check_prompt(prompt, engine.limits)
        *_, last = engine.run(comparison(engine.limits, words, asked, chosen, times, check_pair(pair)), stop)
        assert last.result is not None, "a comparison ends with its result"
        return last.result


def check_choice(methods: Any, runs: Any) -> tuple[list[str], int]:
    """Methods in the house's order, and how many runs. Raises: SettingsError."""
    if not isinstance(methods, (list, tuple)):
        raise SettingsError(f'methods is a {type(methods).__name__}; give a list of names, such as ["dsbd"]')
    for method in methods:
        if method not in METHODS:
            raise SettingsError(f"method is {method!r}; choose among {', '.join(METHODS)}")
    if not methods:
        raise SettingsError("no method is chosen; choose one or more")
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise SettingsError(f"runs is {runs!r}; allowed are whole numbers from 1")
    return [method for method in METHODS if method in methods], runs


def offer_compare(engine: Engine) -> None:
    """Add the endpoint to the page that is being built."""

    def endpoint(
        request: gr.Request,
        prompt: str,
        methods: list[str],
        runs: int = 1,
        settings: dict[str, Any] | None = None,
        pair: str = PAGE,
    ) -> dict[str, Any]:
        return compare(engine, session_of(request), prompt, methods, runs, settings, pair)

    endpoint.__doc__ = compare.__doc__
    gr.api(endpoint, api_name="compare", **ON_GPU)
