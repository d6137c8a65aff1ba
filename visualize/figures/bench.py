"""Figures of a bench: speed over the baseline with its limit, quality beside speed, sweeps.

Each has an info, a drawing and one public function. They take the summary of a bench: a record, or the plain data that
``python -m dsbd bench --json`` prints.
"""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from html import escape
from typing import Any

import plotly.graph_objects as go

from dsbd.measure.bench.records import BenchSummary, bench_summary
from visualize.figures.chart_style import COLORS, DASHES, dress, empty_figure, error_bars
from visualize.look.states import Theme
from visualize.look.theme import palette

Summary = BenchSummary | Mapping[str, Any]
"""A record, or the plain data of its JSON; other data is a ValueError that says what is wrong."""
Point = tuple[float, float, float | None]
Line = tuple[str, tuple[float, ...], tuple[float, ...], tuple[float | None, ...]]
ROW_PIXELS = 34
WRONG, RIGHT, NEUTRAL = "#d55e00", "#0072b2", "#767d86"
VERDICTS = {True: ("circle", RIGHT, "equal quality"), False: ("x", WRONG, "worse"), None: ("circle-open", NEUTRAL, "")}


@dataclass(frozen=True)
class SpeedInfo:
    """Speed over the baseline; ``limits`` is what the forwards alone would allow, None if that is not known."""

    baseline: str
    names: tuple[str, ...]
    medians: tuple[float, ...]
    lows: tuple[float | None, ...]
    highs: tuple[float | None, ...]
    limits: tuple[float | None, ...]


def speed_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Draw tokens per second over those of the first baseline, with the interval and the limit.

    Args:
        summary: of a bench.
        theme: ``light`` or ``dark``.

    Raises:
        ValueError: the data is no summary of a bench.
    """
    info = speed_info(summary)
    return plot_speed(info, theme) if info.names else empty_figure("Speed over the baseline", theme)


def speed_info(summary: Summary) -> SpeedInfo:
    """Return the data of :func:`speed_figure`."""
    bench = bench_summary(summary)
    baseline = next(iter(bench.baselines), "")
    ratios = bench.ratios.get(baseline, {})
    found = [(row, ratio) for row in bench.contenders if (ratio := ratios.get(row.contender)) is not None]
    return SpeedInfo(
        baseline,
        tuple(row.contender for row, _ in found),
        tuple(ratio.median for _, ratio in found),
        tuple(ratio.low for _, ratio in found),
        tuple(ratio.high for _, ratio in found),
        tuple(row.limits.speed_up_limit if row.limits else None for row, _ in found),
    )


def plot_speed(info: SpeedInfo, theme: Theme = "light") -> go.Figure:
    """Draw a :class:`SpeedInfo`."""
    colors, figure = palette(theme), go.Figure()
    names = [escape(name, quote=False) for name in info.names]
    figure.add_scatter(
        x=info.medians,
        y=names,
        mode="markers+text",
        name="measured, 95 % interval",
        text=[f"{value:.2f} ×" for value in info.medians],
        textposition="top center",
        marker={"size": 11, "color": colors.accent},
        error_x=error_bars(info.medians, info.lows, info.highs, colors.ink),
    )
    drawn = [(limit, name) for limit, name in zip(info.limits, names, strict=True) if limit is not None]
    if drawn:
        figure.add_scatter(
            x=[limit for limit, _ in drawn],
            y=[name for _, name in drawn],
            mode="markers",
            name="limit: forwards alone",
            marker={"size": 13, "symbol": "line-ns-open", "color": WRONG, "line": {"width": 2.5}},
        )
    figure.add_vline(x=1, line={"color": colors.soft, "dash": "dash", "width": 1})
    dress(figure, f"Speed over {escape(info.baseline, quote=False)}", theme)
    figure.update_xaxes(title="× tokens per second", rangemode="tozero", gridcolor=colors.band, showgrid=True)
    figure.update_yaxes(autorange="reversed", showgrid=False, automargin=True)
    return figure.update_layout(height=150 + ROW_PIXELS * 1.4 * len(names))


@dataclass(frozen=True)
class QualityInfo:
    """Milliseconds per token beside the perplexity of the returned texts, and the verdict on equal quality."""

    names: tuple[str, ...]
    milliseconds: tuple[float, ...]
    perplexities: tuple[float, ...]
    half_widths: tuple[float | None, ...]
    equal: tuple[bool | None, ...]
    baseline: int | None
    """Place of the baseline among the contenders."""


def quality_figure(summary: Summary, *, theme: Theme = "light") -> go.Figure:
    """Draw quality beside speed: lower is better on both axes; a band marks the baseline's perplexity.

    Args:
        summary: of a bench.
        theme: ``light`` or ``dark``.

    Raises:
        ValueError: the data is no summary of a bench.
    """
    info = quality_info(summary)
    return plot_quality(info, theme) if info.names else empty_figure("Quality beside speed", theme)


def quality_info(summary: Summary) -> QualityInfo:
    """Return the data of :func:`quality_figure`."""
    bench = bench_summary(summary)
    rows, baseline = bench.contenders, next(iter(bench.baselines), None)
    names = tuple(row.contender for row in rows)
    return QualityInfo(
        names,
        tuple(row.milliseconds_per_token for row in rows),
        tuple(row.perplexity for row in rows),
        tuple(row.perplexity_half_width for row in rows),
        tuple(row.quality.equal if row.quality else None for row in rows),
        names.index(baseline) if baseline in names else None,
    )


def plot_quality(info: QualityInfo, theme: Theme = "light") -> go.Figure:
    """Draw a :class:`QualityInfo`."""
    colors, figure = palette(theme), go.Figure()
    if info.baseline is not None:
        middle, half = info.perplexities[info.baseline], info.half_widths[info.baseline] or 0.0
        figure.add_hrect(y0=middle - half, y1=middle + half, fillcolor=colors.band, line_width=0, layer="below")
    for place, name in enumerate(info.names):
        symbol, color, word = VERDICTS[info.equal[place]]
        if place == info.baseline:
            symbol, word = "diamond", "baseline"
        shown = escape(name, quote=False)
        figure.add_scatter(
            x=[info.milliseconds[place]],
            y=[info.perplexities[place]],
            error_y={"type": "data", "array": [info.half_widths[place] or 0], "color": color, "thickness": 1.2},
            mode="markers+text",
            text=[str(place + 1)],
            textposition="middle right",
            name=f"{place + 1} {shown} ({word})" if word else f"{place + 1} {shown}",
            marker={"symbol": symbol, "color": color, "size": 12},
        )
    dress(figure, "Quality beside speed: lower is better on both", theme)
    figure.update_xaxes(title="milliseconds per token", rangemode="tozero")
    figure.update_yaxes(title="perplexity under the target", rangemode="normal")
    return figure.update_layout(legend={"orientation": "v", "x": 1.02, "y": 1, "yanchor": "top"}, height=440)


@dataclass(frozen=True)
class SweepInfo:
    """Milliseconds per token along one setting: one line per method (and point)."""

    setting: str
    lines: tuple[Line, ...]
    """Name, values of the setting, milliseconds per token, layers per iteration."""


def sweep_infos(summary: Summary) -> tuple[SweepInfo, ...]:
    """Return one :class:`SweepInfo` for each swept setting; the names of the contenders say which were swept."""
    lines: dict[str, dict[str, list[Point]]] = {}
    for row in bench_summary(summary).contenders:
        parts, settings = row.contender.split(" "), asdict(row.settings)
        for part in parts:
            setting, equals, _ = part.partition("=")
            value = settings.get(setting)
            if equals and isinstance(value, (int, float)) and not isinstance(value, bool):
                rest = " ".join(other for other in parts if other != part)
                point = (value, row.milliseconds_per_token, row.layers_per_iteration)
                lines.setdefault(setting, {}).setdefault(rest, []).append(point)
    return tuple(
        SweepInfo(setting, tuple(_line(name, sorted(points)) for name, points in named.items()))
        for setting, named in lines.items()
    )


def _line(name: str, points: Sequence[Point]) -> Line:
    values, milliseconds, layers = zip(*points, strict=True)
    return name, values, milliseconds, layers


def plot_sweep(info: SweepInfo, theme: Theme = "light") -> go.Figure:
    """Draw a :class:`SweepInfo`; the label of each point is its layers per iteration."""
    figure = go.Figure()
    for place, (name, values, milliseconds, layers) in enumerate(info.lines):
        figure.add_scatter(
            x=values,
            y=milliseconds,
            mode="lines+markers+text",
            name=escape(name, quote=False),
            text=["" if one is None else f"{one:.1f}" for one in layers],
            textposition="top center",
            cliponaxis=False,
            line={"dash": DASHES[place % len(DASHES)], "color": COLORS[place % len(COLORS)]},
            marker={"symbol": place, "size": 9},
        )
    dress(figure, f"Milliseconds per token by {info.setting} (at the points: layers per iteration)", theme)
    figure.update_xaxes(title=info.setting, tickvals=sorted({value for line in info.lines for value in line[1]}))
    return figure.update_layout(yaxis_title="milliseconds per token")
