"""Figures of a bench about the machine: forwards and their floor, shares of the limits, memory, energy."""

from dataclasses import dataclass
from html import escape

import plotly.graph_objects as go

from dsbd.measure.bench.records import ContenderSummary, bench_summary
from visualize.figures.bench import Summary
from visualize.figures.chart_style import dress, empty_figure
from visualize.look.states import Theme

SHARES = {"hardware": ("#0072b2", ""), "algorithm": ("#e69f00", "/"), "total": ("#009e73", "x")}
NOT_MEASURED = "not measured"
BAR_PIXELS = 18


@dataclass(frozen=True)
class BarsInfo:
    """Groups of bars: a value per name in each series, None where it was not measured."""

    title: str
    unit: str
    names: tuple[str, ...]
    series: dict[str, tuple[float | None, ...]]


def limits_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Draw how much of what is possible each contender reaches: 1 is the limit."""
    return plot_bars(limits_info(summary), theme)


def limits_info(summary: Summary) -> BarsInfo:
    """Return the data of :func:`limits_figure`; contenders that do not report what they ran are left out."""
    found = [(row.contender, row.limits) for row in bench_summary(summary).contenders if row.limits]
    series: dict[str, tuple[float | None, ...]] = {
        "hardware": tuple(limits.hardware for _, limits in found),
        "algorithm": tuple(limits.algorithm for _, limits in found),
        "total": tuple(limits.total for _, limits in found),
    }
    return BarsInfo("Share of the limit reached", "share", tuple(name for name, _ in found), series)


def memory_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Draw the largest size of keys and values, beside what other designs would need."""
    return plot_bars(memory_info(summary), theme)


def memory_info(summary: Summary) -> BarsInfo:
    """Return the data of :func:`memory_figure`, in megabytes."""
    rows = [row for row in bench_summary(summary).contenders if row.memory.kv_peak_bytes is not None]
    others = [row.memory.computed for row in rows]
    series = {
        "measured": tuple(_mega(row.memory.kv_peak_bytes) for row in rows),
        "one sequence (computed)": tuple(_mega(other.one_sequence_bytes if other else None) for other in others),
        "a cache per beam (computed)": tuple(_mega(other.cache_per_beam_bytes if other else None) for other in others),
    }
    return BarsInfo("Keys and values", "MB", tuple(row.contender for row in rows), series)


def energy_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Draw joules per token: the whole device's, and those above the idle device's."""
    return plot_bars(energy_info(summary), theme)


def energy_info(summary: Summary) -> BarsInfo:
    """Return the data of :func:`energy_figure`; without names if nothing was measured."""
    rows = bench_summary(summary).contenders
    series: dict[str, tuple[float | None, ...]] = {}
    for device in sorted({device for row in rows for device in (row.energy or {})}):
        series |= _energy_series(device, rows)
    return BarsInfo("Energy", "joules per token", tuple(row.contender for row in rows) if series else (), series)


def _energy_series(device: str, rows: tuple[ContenderSummary, ...]) -> dict[str, tuple[float | None, ...]]:
    """Return the two series of a device; nothing if it was not measured."""
    used = [(row.energy or {}).get(device) for row in rows]
    states = [one.state for one in used if one is not None and one.joules_per_token is not None]
    if not states:
        return {}
    return {
        f"{device} ({states[0]})": tuple(one.joules_per_token if one else None for one in used),
        f"{device}, above idle": tuple(one.above_idle_joules_per_token if one else None for one in used),
    }


def _mega(size: int | None) -> float | None:
    return None if size is None else size / 1e6


def plot_bars(info: BarsInfo, theme: Theme = "light") -> go.Figure:
    """Draw a :class:`BarsInfo`; a bar that was not measured says so."""
    if not info.names:
        return empty_figure(f"{info.title}: {NOT_MEASURED}", theme)
    figure, codes = go.Figure(), list(SHARES.values())
    names = [escape(name, quote=False) for name in info.names]
    for place, (series, values) in enumerate(info.series.items()):
        color, shape = codes[place % len(codes)]
        figure.add_bar(
            y=names,
            x=values,
            orientation="h",
            name=series,
            text=[NOT_MEASURED if value is None else f"{value:.2f}" for value in values],
            textposition="outside",
            textangle=0,
            cliponaxis=False,
            marker={"color": color, "pattern": {"shape": shape, "fillmode": "overlay", "size": 6}},
        )
    dress(figure, info.title, theme)
    figure.update_xaxes(title=info.unit)
    figure.update_yaxes(automargin=True, autorange="reversed", showgrid=False)
    return figure.update_layout(barmode="group", height=150 + BAR_PIXELS * len(names) * len(info.series))


@dataclass(frozen=True)
class ForwardsInfo:
    """For each model, milliseconds of a forward by its number of tokens, and the least time to read the weights."""

    models: dict[str, tuple[tuple[int, ...], tuple[float, ...], float]]


def forwards_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Draw measured forwards and their floor: the time that reading the weights takes."""
    info = forwards_info(summary)
    return plot_forwards(info, theme) if info.models else empty_figure("Forwards", theme)


def forwards_info(summary: Summary) -> ForwardsInfo:
    """Return the data of :func:`forwards_figure`."""
    forwards = bench_summary(summary).forwards
    found = {}
    for role, model in (forwards.by_role if forwards else {}).items():
        sizes, milliseconds = zip(*sorted(model.milliseconds.items()), strict=True)
        found[role] = (sizes, milliseconds, model.floor_milliseconds)
    return ForwardsInfo(found)


def plot_forwards(info: ForwardsInfo, theme: Theme = "light") -> go.Figure:
    """Draw a :class:`ForwardsInfo`."""
    figure = go.Figure()
    for (role, (sizes, milliseconds, floor)), (color, _) in zip(info.models.items(), SHARES.values(), strict=False):
        symbol = "circle" if role == "target" else "square"
        line = {"color": color}
        figure.add_scatter(
            x=sizes, y=milliseconds, mode="lines+markers", name=role, line=line, marker={"symbol": symbol, "size": 8}
        )
        ends = (sizes[0], sizes[-1])
        dashed = {"color": color, "dash": "dash"}
        figure.add_scatter(x=ends, y=(floor, floor), mode="lines", name=f"{role}: floor of the weights", line=dashed)
    dress(figure, "A forward by its tokens", theme)
    figure.update_xaxes(type="log", title="tokens", tickvals=next(iter(info.models.values()))[0])
    return figure.update_layout(yaxis_title="milliseconds")
