"""Figures of a bench: speed over the baseline with its limit, quality beside speed, sweeps.

They take the summary of a bench: a record, or the plain data that ``python -m dsbd bench --json`` prints.
"""

from collections.abc import Mapping
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from dsbd.measure.bench.records import BenchSummary, ContenderSummary, bench_summary
from visualize.figures.chart_style import COLORS, DASHES, dress, empty_figure, error_bars
from visualize.look.states import Theme
from visualize.look.theme import palette

Summary = BenchSummary | Mapping[str, Any]
"""A record, or the plain data of its JSON; other data is a ValueError that says what is wrong."""
ROW_PIXELS = 34
WRONG, RIGHT, NEUTRAL = "#d55e00", "#0072b2", "#767d86"
VERDICTS = {True: ("circle", RIGHT, "equal quality"), False: ("x", WRONG, "worse"), None: ("circle-open", NEUTRAL, "")}


def speed_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Draw tokens per second over those of the first baseline, with the interval and the limit.

    The limit is what the forwards alone would allow; contenders that do not report their forwards have none.

    Args:
        summary: of a bench.
        theme: ``light`` or ``dark``.

    Example:
        >>> visualize.speed_figure(bench)

    Raises:
        ValueError: the data is no summary of a bench.
    """
    bench = bench_summary(summary)
    baseline = next(iter(bench.baselines), "")
    ratios = bench.ratios.get(baseline, {})
    found = [(row, ratio) for row in bench.contenders if (ratio := ratios.get(row.contender)) is not None]
    if not found:
        return empty_figure("Speed over the baseline", theme)
    colors, figure = palette(theme), go.Figure()
    medians = [ratio.median for _, ratio in found]
    figure.add_scatter(
        x=medians,
        y=[_name(row) for row, _ in found],
        mode="markers+text",
        name="measured, 95 % interval",
        text=[f"{value:.2f} ×" for value in medians],
        textposition="top center",
        marker={"size": 11, "color": colors.accent},
        error_x=error_bars(medians, [ratio.low for _, ratio in found], [ratio.high for _, ratio in found], colors.ink),
    )
    limited = [(row, row.limits.speed_up_limit) for row, _ in found if row.limits]
    if limited:
        figure.add_scatter(
            x=[limit for _, limit in limited],
            y=[_name(row) for row, _ in limited],
            mode="markers",
            name="limit: forwards alone",
            marker={"size": 13, "symbol": "line-ns-open", "color": WRONG, "line": {"width": 2.5}},
        )
    figure.add_vline(x=1, line={"color": colors.soft, "dash": "dash", "width": 1})
    dress(figure, f"Speed over {escape(baseline, quote=False)}", theme)
    figure.update_xaxes(title="× tokens per second", rangemode="tozero", gridcolor=colors.band, showgrid=True)
    figure.update_yaxes(autorange="reversed", showgrid=False, automargin=True)
    return figure.update_layout(height=150 + ROW_PIXELS * 1.4 * len(found))


def _name(row: ContenderSummary) -> str:
    return escape(row.contender, quote=False)


def quality_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Draw the perplexity of the returned texts beside the milliseconds per token: lower is better on both axes.

    A band marks the baseline's perplexity; marks and names say whether the quality is equal.

    Args:
        summary: of a bench.
        theme: ``light`` or ``dark``.

    Example:
        >>> visualize.quality_figure(bench)

    Raises:
        ValueError: the data is no summary of a bench.
    """
    bench = bench_summary(summary)
    if not bench.contenders:
        return empty_figure("Quality beside speed", theme)
    colors, figure = palette(theme), go.Figure()
    baseline = next((row for row in bench.contenders if row.contender in bench.baselines[:1]), None)
    if baseline is not None:
        middle, half = baseline.perplexity, baseline.perplexity_half_width or 0.0
        figure.add_hrect(y0=middle - half, y1=middle + half, fillcolor=colors.band, line_width=0, layer="below")
    for place, row in enumerate(bench.contenders, 1):
        symbol, color, word = VERDICTS[row.quality.equal if row.quality else None]
        if row is baseline:
            symbol, word = "diamond", "baseline"
        figure.add_scatter(
            x=[row.milliseconds_per_token],
            y=[row.perplexity],
            error_y={"type": "data", "array": [row.perplexity_half_width or 0], "color": color, "thickness": 1.2},
            mode="markers+text",
            text=[str(place)],
            textposition="middle right",
            name=f"{place} {_name(row)}" + (f" ({word})" if word else ""),
            marker={"symbol": symbol, "color": color, "size": 12},
        )
    dress(figure, "Quality beside speed: lower is better on both", theme)
    figure.update_xaxes(title="milliseconds per token", rangemode="tozero")
    figure.update_yaxes(title="perplexity under the target", rangemode="normal")
    return figure.update_layout(legend={"orientation": "v", "x": 1.02, "y": 1, "yanchor": "top"}, height=440)


@dataclass(frozen=True)
class SweepPoint:
    """One contender of a sweep."""

    value: float
    """Of the swept setting."""
    milliseconds: float
    """Per token."""
    layers: float | None
    """Per iteration."""


Sweep = dict[str, list[SweepPoint]]
"""One line for each method (and point), along one setting."""


def sweeps_of(summary: Summary) -> dict[str, Sweep]:
    """Return one sweep for each swept setting; the names of the contenders say which settings were swept."""
    sweeps: dict[str, Sweep] = {}
    for row in bench_summary(summary).contenders:
        parts, settings = row.contender.split(" "), asdict(row.settings)
        for part in parts:
            setting, equals, _ = part.partition("=")
            value = settings.get(setting)
            if equals and isinstance(value, (int, float)) and not isinstance(value, bool):
                rest = " ".join(other for other in parts if other != part)
                point = SweepPoint(value, row.milliseconds_per_token, row.layers_per_iteration)
                sweeps.setdefault(setting, {}).setdefault(rest, []).append(point)
    return sweeps


def sweep_figure(setting: str, sweep: Sweep, theme: Theme = "light") -> go.Figure:
    """Draw milliseconds per token along one setting; the label of each point is its layers per iteration."""
    figure = go.Figure()
    for place, (name, points) in enumerate(sweep.items()):
        line = sorted(points, key=lambda point: point.value)
        figure.add_scatter(
            x=[point.value for point in line],
            y=[point.milliseconds for point in line],
            mode="lines+markers+text",
            name=escape(name, quote=False),
            text=["" if point.layers is None else f"{point.layers:.1f}" for point in line],
            textposition="top center",
            cliponaxis=False,
            line={"dash": DASHES[place % len(DASHES)], "color": COLORS[place % len(COLORS)]},
            marker={"symbol": place, "size": 9},
        )
    dress(figure, f"Milliseconds per token by {setting} (at the points: layers per iteration)", theme)
    values = sorted({point.value for points in sweep.values() for point in points})
    figure.update_xaxes(title=setting, tickvals=values)
    return figure.update_layout(yaxis_title="milliseconds per token")
