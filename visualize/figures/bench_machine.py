"""Figures of a bench about the machine: forwards against their floor, shares of the limits, memory, energy."""

from collections.abc import Mapping
from dataclasses import dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from visualize.figures.chart_style import dress, empty_figure
from visualize.look.states import Theme

Summary = Mapping[str, Any]
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
    """How much of what is possible each contender reaches: 1 is the limit."""
    return plot_bars(limits_info(summary), theme)


def limits_info(summary: Summary) -> BarsInfo:
    """The data of :func:`limits_figure`; contenders that do not say what they ran are left out."""
    rows = [row for row in summary["contenders"] if row["limits"]]
    series = {share: tuple(row["limits"][share] for row in rows) for share in SHARES}
    return BarsInfo("Share of the limit reached", "share", tuple(row["contender"] for row in rows), series)


def memory_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Keys and values at the fullest moment, beside what other designs would take."""
    return plot_bars(memory_info(summary), theme)


def memory_info(summary: Summary) -> BarsInfo:
    """The data of :func:`memory_figure`, in megabytes."""
    rows = [row for row in summary["contenders"] if row["memory"]["kv_peak_bytes"] is not None]
    computed = [row["memory"]["computed"] or {} for row in rows]
    series = {
        "measured": tuple(_mega(row["memory"]["kv_peak_bytes"]) for row in rows),
        "one sequence (computed)": tuple(_mega(sizes.get("one_sequence_bytes")) for sizes in computed),
        "a cache per beam (computed)": tuple(_mega(sizes.get("cache_per_beam_bytes")) for sizes in computed),
    }
    return BarsInfo("Keys and values", "MB", tuple(row["contender"] for row in rows), series)


def energy_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Joules per token, raw and above the idle device."""
    return plot_bars(energy_info(summary), theme)


def energy_info(summary: Summary) -> BarsInfo:
    """The data of :func:`energy_figure`; no names where nothing was measured."""
    rows = summary["contenders"]
    devices = sorted({device for row in rows for device in (row["energy"] or {})})
    series: dict[str, tuple[float | None, ...]] = {}
    for device in devices:
        taken = [(row["energy"] or {}).get(device) or {} for row in rows]
        raw = tuple(one.get("joules_per_token") for one in taken)
        if any(value is not None for value in raw):
            state = next(one["state"] for one in taken if one.get("joules_per_token") is not None)
            series[f"{device} ({state})"] = raw
            series[f"{device}, above idle"] = tuple(one.get("above_idle_joules_per_token") for one in taken)
    return BarsInfo("Energy", "joules per token", tuple(row["contender"] for row in rows) if series else (), series)


def _mega(size: int | None) -> float | None:
    return None if size is None else size / 1e6


def plot_bars(info: BarsInfo, theme: Theme = "light") -> go.Figure:
    """Draw a :class:`BarsInfo`; what was not measured says so."""
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
    """Milliseconds of a forward by its tokens, per model, and the floor that streaming the weights sets."""

    models: dict[str, tuple[tuple[int, ...], tuple[float, ...], float]]


def forwards_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Measured forwards against their floor."""
    info = forwards_info(summary)
    return plot_forwards(info, theme) if info.models else empty_figure("Forwards", theme)


def forwards_info(summary: Summary) -> ForwardsInfo:
    """The data of :func:`forwards_figure`."""
    found = {}
    for role, model in (summary.get("forwards") or {}).items():
        if model is not None:
            points = sorted((int(size), value) for size, value in model["milliseconds"].items())
            floor = 1000 * model["weight_bytes"] / model["bandwidth_bytes_per_second"]
            found[role] = (tuple(size for size, _ in points), tuple(value for _, value in points), floor)
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
