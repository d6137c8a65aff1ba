"""Draws methods side by side, as ``python -m dsbd compare --json`` measured them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go
from plotly.subplots import make_subplots

from visualize.figures.chart_style import dress, empty_figure
from visualize.look.states import Theme
from visualize.look.theme import Palette, palette
from visualize.words.words import Words, number

PANELS = ("tokens_per_second", "seconds", "target_calls", "layers_per_iteration", "perplexity", "best_log_weight")
COLUMNS = 3
OURS = "dsbd"


@dataclass(frozen=True)
class Bar:
    """One figure of one method."""

    method: str
    label: str
    value: float | None
    """None if it was not measured."""
    runs: tuple[float, ...]
    """The value of each run, if known."""
    half_width: float | None
    """Half the interval of the mean."""
    ratio: float | None
    """The value divided by that of beam sampling; None if beam sampling was not run."""


@dataclass(frozen=True)
class CompareInfo:
    """The bars of each panel, in the order of the methods."""

    panels: dict[str, tuple[Bar, ...]]


def compare_figure(
    rows: Mapping[str, Any] | Sequence[Mapping[str, Any]], *, theme: Theme = "light", language: str = "en"
) -> go.Figure:
    """Draw the measured figures of several methods.

    Args:
        rows: ``{"methods": [...], "ratios": {...}}``, or the list of methods alone. A missing or null figure
            is drawn as "not measured". A figure may be a number, or a list with one number per run: then the
            bar is their mean. ``<figure>_runs`` holds the runs beside a number, ``<figure>_half_width`` its interval.
        theme: ``light`` or ``dark``.
        language: of titles and names.

    Raises:
        ValueError: a method has no name, a figure is no number, or there is no table for the language.
    """
    words = Words(language)
    info = compare_info(rows, words)
    return plot_compare(info, theme, words) if info.panels else empty_figure(words("figure.compare"), theme, words)


def compare_info(rows: Mapping[str, Any] | Sequence[Mapping[str, Any]], words: Words | None = None) -> CompareInfo:
    """Return the data of :func:`compare_figure`. Raises: ValueError."""
    words = words or Words()
    methods: Sequence[Mapping[str, Any]] = (rows.get("methods") or []) if isinstance(rows, Mapping) else rows
    ratios: Mapping[str, Any] = (rows.get("ratios") or {}) if isinstance(rows, Mapping) else {}
    if not methods:
        return CompareInfo({})
    return CompareInfo({panel: tuple(_bar(method, panel, ratios, words) for method in methods) for panel in PANELS})


def _bar(row: Mapping[str, Any], panel: str, ratios: Mapping[str, Any], words: Words) -> Bar:
    if not isinstance(row.get("method"), str):
        raise ValueError(f"a compared method has no name: {str(row)[:60]!r}; each needs 'method'")
    method = row["method"]
    value: Any = row.get(panel)
    runs: list[Any] = list(row.get(f"{panel}_runs") or [])
    if isinstance(value, (list, tuple)):
        value, runs = None, [run for run in value if run is not None]
    half_width = row.get(f"{panel}_half_width")
    for found in (value, half_width, *runs):
        if found is not None and (isinstance(found, bool) or not isinstance(found, (int, float))):
            raise ValueError(f"{panel} of {method} is {found!r}; expected a number, a list of numbers, or null")
    if value is None and runs:
        value = sum(runs) / len(runs)
    ratio = ratios.get(method) if panel == "tokens_per_second" else None
    label = row.get("label") or words.table.get(f"method.{method}", method)
    return Bar(method, str(label), value, tuple(runs), half_width, ratio)


def plot_compare(info: CompareInfo, theme: Theme = "light", words: Words | None = None) -> go.Figure:
    """Draw a :class:`CompareInfo`."""
    words, colors = words or Words(), palette(theme)
    names = [words(f"figure.{panel}") for panel in info.panels]
    rows = -(-len(info.panels) // COLUMNS)
    figure = make_subplots(rows=rows, cols=COLUMNS, subplot_titles=names, horizontal_spacing=0.09, vertical_spacing=0.2)
    figure.update_annotations(yshift=18)  # room between the titles of the panels and the numbers
    for place, bars in enumerate(info.panels.values()):
        cell = {"row": place // COLUMNS + 1, "col": place % COLUMNS + 1}
        _draw_panel(figure, bars, cell, words, colors)
    dress(figure, words("figure.compare"), theme)
    labels = [escape(bar.label, quote=False) for bar in next(iter(info.panels.values()))]
    wrapped = [label.replace(" ", "<br>", 1) for label in labels]  # two lines, so that labels do not overlap
    figure.update_xaxes(tickangle=-90, tickvals=labels, ticktext=wrapped)
    return figure.update_layout(height=380 * rows + 60, bargap=0.35, margin={"t": 96})


def _draw_panel(figure: go.Figure, bars: tuple[Bar, ...], cell: dict[str, int], words: Words, colors: Palette) -> None:
    """Draw bars, a dash for each run, and the number above; a bar that was not measured says so."""
    labels = [escape(bar.label, quote=False) for bar in bars]
    fills = [colors.accent if bar.method == OURS else colors.faint for bar in bars]
    values = [bar.value for bar in bars]
    interval = {"array": [bar.half_width or 0 for bar in bars], "color": colors.ink, "thickness": 1.4, "width": 6}
    error = interval if any(bar.half_width for bar in bars) else None
    figure.add_bar(
        x=labels, y=values, error_y=error, showlegend=False, marker_color=fills, opacity=0.8, hoverinfo="x+y", **cell
    )
    points = [(label, run) for label, bar in zip(labels, bars, strict=True) for run in bar.runs]
    if points:
        x, y = zip(*points, strict=True)
        marker = {"symbol": "line-ew-open", "size": 13, "color": colors.ink, "line": {"width": 1.4}}
        figure.add_scatter(x=x, y=y, mode="markers", marker=marker, showlegend=False, hoverinfo="y", **cell)
    absent = words("figure.not_measured")
    for label, bar in zip(labels, bars, strict=True):
        note: dict[str, Any] = {"x": label, "showarrow": False, "yanchor": "bottom", **cell}
        if bar.value is None:
            font = {"color": colors.soft, "size": 11}
            figure.add_annotation(y=0.03, yref="y domain", text=absent, textangle=-90, font=font, **note)
        else:
            up = bar.value >= 0
            note["yanchor"] = "bottom" if up else "top"
            reach = (bar.half_width or 0) * (1 if up else -1)
            ends = (bar.value + reach, *bar.runs)
            end = max(ends) if up else min(ends)
            text = _text(bar, bar.value, words)
            figure.add_annotation(y=end, yshift=4 if up else -4, text=text, font={"size": 11.5}, **note)


def _text(bar: Bar, value: float, words: Words) -> str:
    shown = f"<b>{number(value, 1) if abs(value) >= 10 else number(value)}</b>"
    return shown if bar.ratio is None else f"{shown}<br>{words('figure.ratio', ratio=number(bar.ratio))}"
