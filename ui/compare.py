"""Handlers of the Race tab."""

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from typing import Any, NamedTuple

import gradio as gr

from dsbd.errors import DsbdError, SettingsError, StoppedError
from dsbd.measure.comparison import Progress
from dsbd.settings import METHODS, DecodingSettings
from visualize import compare_figure

from . import messages
from .decode import KEEP, alert, check_pair, for_programs, sentence, settings_from, why_ended, why_stopped
from .engine import Engine
from .form import FIELDS, METHOD_LABELS, check_prompt, plain_value
from .pair_shelf import PAGE
from .stopped import halt, was_halted

BASELINE = "beam_sampling"
NOT_MEASURED = "not measured"
CHART_HEIGHT = 860
COLUMNS = (
    ("tokens_per_second", "Tokens/s", 1),
    ("ratio", "× beam sampling", 2),
    ("target_calls", "Target calls", 1),
    ("layers_per_iteration", "Layers per iteration", 2),
    ("perplexity", "Perplexity", 2),
    ("best_log_weight", "Best log-weight", 2),
)

UNFINISHED = "The figures of an unfinished comparison are not shown."
STOPPED = f"Stopped. {UNFINISHED}"


class Frame(NamedTuple):
    """The next state of the tab, in the order of its outputs."""

    table: Any = KEEP
    charts: Any = KEEP
    note: Any = KEEP
    problem: Any = ""
    run: Any = KEEP
    stop: Any = KEEP
    halted_at: Any = KEEP


def begin(engine: Engine, session: str) -> Frame:
    """The comparison waits for its turn."""
    return Frame(note=engine.visitors.wait(session), run=gr.update(visible=False), stop=gr.update(visible=True))


def ready(note: Any = KEEP, problem: Any = "") -> Frame:
    """The tab as it is, ready for the next comparison."""
    return Frame(note=note, problem=problem, run=gr.update(visible=True), stop=gr.update(visible=False))


def stopped(engine: Engine, session: str) -> Frame:
    """The visitor stopped the comparison; a part of it would be no comparison."""
    engine.visitors.stop(session)
    return ready(STOPPED)._replace(halted_at=halt())


def broke_off(engine: Engine, session: str, halted_at: float | None) -> Frame:
    """The comparison ended by Stop, never began, or failed in a way that nobody foresaw."""
    if was_halted(halted_at):
        return ready(STOPPED)
    words = "The comparison broke off on the server. The page is ready for another one."
    return ready("", why_ended(engine, session, words))


def run(
    engine: Engine,
    session: str,
    prompt: Any,
    methods: Any,
    runs: Any,
    max_new_tokens: Any,
    *values: Any,
    pair: str = PAGE,
) -> Iterator[Frame]:
    """Measure; one frame per piece of progress, the last with table and charts."""
    seconds = engine.limits.compare_seconds
    with engine.visitors.run(session, seconds) as stop:
        try:
            settings = shared_settings(values, max_new_tokens)
            chosen, times = check_choice(methods, runs)
            asked = check_prompt(prompt, engine.limits)
            for progress in engine.compare(asked, settings, chosen, times, stop, pair):
                yield done(progress.result) if progress.result is not None else going(progress)
        except StoppedError:
            yield ready(f"{why_stopped(stop, seconds, 'compare_seconds')} {UNFINISHED}")
        except DsbdError as error:
            yield ready("", alert(sentence(error)))


def going(progress: Progress) -> Frame:
    """A comparison on its way."""
    busy = {"run": gr.update(visible=False), "stop": gr.update(visible=True)}
    return Frame(note=said(progress), **busy)


def shared_settings(values: Sequence[Any], max_new_tokens: Any) -> DecodingSettings:
    """The settings of the Play tab, every field of it: each method reads its own. Raises: SettingsError."""
    given = {field.name: plain_value(field, value) for field, value in zip(FIELDS, values, strict=True)}
    return DecodingSettings(**{**given, "max_new_tokens": max_new_tokens})


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


def said(progress: Progress) -> str:
    """Progress in words."""
    return f"Run {progress.done} of {progress.total}, warm-up included: {escape(_label(progress.method))}"


def done(result: Mapping[str, Any]) -> Frame:
    """Table and charts."""
    labelled = {**result, "methods": [{**row, "label": _label(row["method"])} for row in result["methods"]]}
    drawn = (compare_figure(labelled, theme="light"), compare_figure(labelled, theme="dark"))
    for figure in drawn:
        figure.update_layout(title_text="", height=CHART_HEIGHT)
    frame = ready("Done. Every figure is measured here, now, on this machine.")
    return frame._replace(table=table(result), charts=messages.figures([drawn]))


def _label(method: str) -> str:
    return METHOD_LABELS.get(method, method)


def table(result: Mapping[str, Any]) -> str:
    """HTML of the figures, one row per method."""
    ratios = result.get("ratios") or {}
    heads = "".join(f'<th scope="col">{escape(title)}</th>' for _, title, _ in COLUMNS)
    rows = "".join(_row(row, ratios) for row in result["methods"])
    return (
        '<div class="table-holder"><table class="figures-table">'
        f'<thead><tr><th scope="col">Method</th>{heads}</tr></thead><tbody>{rows}</tbody></table></div>'
    )


def _row(row: Mapping[str, Any], ratios: Mapping[str, Any]) -> str:
    method = str(row["method"])
    values = {**row, "ratio": ratios.get(method)}
    cells = "".join(f"<td>{_figure(values.get(name), digits)}</td>" for name, _, digits in COLUMNS)
    return f'<tr{" class=ours" if method == "dsbd" else ""}><th scope="row">{escape(_label(method))}</th>{cells}</tr>'


def _figure(value: Any, digits: int) -> str:
    if isinstance(value, bool) or not isinstance(value, (int, float)):
        return f"<small>{NOT_MEASURED}</small>"
    return escape(f"{value:,.{digits}f}").replace("-", "−")


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
    seconds = engine.limits.compare_seconds
    with engine.visitors.run(session, seconds) as stop, for_programs(stop, seconds, "compare_seconds"):
        chosen, times = check_choice(methods, runs)
        asked = settings_from(settings)
        *_, last = engine.compare(check_prompt(prompt, engine.limits), asked, chosen, times, stop, check_pair(pair))
        assert last.result is not None, "a comparison ends with its result"
        return last.result
