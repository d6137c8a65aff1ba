"""Figures of a bench about the machine: forwards and their floor, shares of the limits, memory, energy."""

from collections.abc import Mapping, Sequence
from html import escape

import plotly.graph_objects as go

from dsbd.measure.bench.records import ContenderSummary, bench_summary
from visualize.figures.bench import Summary
from visualize.figures.chart_style import dress, empty_figure
from visualize.look.states import Theme

STYLES = (("#0072b2", ""), ("#e69f00", "/"), ("#009e73", "x"))
"""Colours and patterns of the series, in this order."""
NOT_MEASURED = "not measured"
BAR_PIXELS = 18

Values = list[float | None]
"""A value for each name; None if it was not measured."""


def limits_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Draw how much of what is possible each contender reaches: 1 is the limit.

    Contenders that do not report their forwards are left out.
    """
    rows = [row for row in bench_summary(summary).contenders if row.limits]
    series: dict[str, Values] = {
        share: [getattr(row.limits, share) for row in rows] for share in ("hardware", "algorithm", "total")
    }
    return _bars("Share of the limit reached", "share", rows, series, theme)


def memory_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Draw the largest size of keys and values in megabytes, beside what other designs would need."""
    rows = [row for row in bench_summary(summary).contenders if row.memory.kv_peak_bytes is not None]
    others = [row.memory.computed for row in rows]
    series = {
        "measured": [_mega(row.memory.kv_peak_bytes) for row in rows],
        "one sequence (computed)": [_mega(other.one_sequence_bytes if other else None) for other in others],
        "a cache per beam (computed)": [_mega(other.cache_per_beam_bytes if other else None) for other in others],
    }
    return _bars("Keys and values", "MB", rows, series, theme)


def _mega(size: int | None) -> float | None:
    return None if size is None else size / 1e6


def energy_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Draw joules per token of each device: all of them, and those above the idle device's."""
    rows = bench_summary(summary).contenders
    series: dict[str, Values] = {}
    for device in sorted({device for row in rows for device in (row.energy or {})}):
        used = [(row.energy or {}).get(device) for row in rows]
        states = [one.state for one in used if one is not None and one.joules_per_token is not None]
        if states:
            series[f"{device} ({states[0]})"] = [one.joules_per_token if one else None for one in used]
            series[f"{device}, above idle"] = [one.above_idle_joules_per_token if one else None for one in used]
    return _bars("Energy", "joules per token", rows if series else [], series, theme)


def _bars(
    title: str, unit: str, rows: Sequence[ContenderSummary], series: Mapping[str, Values], theme: Theme
) -> go.Figure:
    """Draw groups of bars; a bar that was not measured says so."""
    if not rows:
        return empty_figure(f"{title}: {NOT_MEASURED}", theme)
    figure = go.Figure()
    for place, (name, values) in enumerate(series.items()):
        color, shape = STYLES[place % len(STYLES)]
        figure.add_bar(
            y=[escape(row.contender, quote=False) for row in rows],
            x=values,
            orientation="h",
            name=name,
            text=[NOT_MEASURED if value is None else f"{value:.2f}" for value in values],
            textposition="outside",
            textangle=0,
            cliponaxis=False,
            marker={"color": color, "pattern": {"shape": shape, "fillmode": "overlay", "size": 6}},
        )
    dress(figure, title, theme)
    figure.update_xaxes(title=unit)
    figure.update_yaxes(automargin=True, autorange="reversed", showgrid=False)
    return figure.update_layout(barmode="group", height=150 + BAR_PIXELS * len(rows) * len(series))


def forwards_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Draw the milliseconds of a forward by its number of tokens, and the floor: the time to read the weights."""
    forwards = bench_summary(summary).forwards
    models = forwards.by_role if forwards else {}
    if not models:
        return empty_figure("Forwards", theme)
    figure = go.Figure()
    for (role, model), (color, _) in zip(models.items(), STYLES, strict=False):
        sizes, milliseconds = zip(*sorted(model.milliseconds.items()), strict=True)
        figure.add_scatter(
            x=sizes,
            y=milliseconds,
            mode="lines+markers",
            name=role,
            line={"color": color},
            marker={"symbol": "circle" if role == "target" else "square", "size": 8},
        )
        figure.add_scatter(
            x=(sizes[0], sizes[-1]),
            y=(model.floor_milliseconds,) * 2,
            mode="lines",
            name=f"{role}: floor of the weights",
            line={"color": color, "dash": "dash"},
        )
    dress(figure, "A forward by its tokens", theme)
    figure.update_xaxes(type="log", title="tokens", tickvals=figure.data[0].x)
    return figure.update_layout(yaxis_title="milliseconds")
