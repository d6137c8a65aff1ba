"""Figures of a bench: speed over the baseline with its limit, quality beside speed, sweeps, and the machine.

They take the summary of a bench: a record, or the plain data that ``python -m dsbd bench --json`` prints.
"""

from collections.abc import Callable, Mapping, Sequence
from html import escape
from typing import Any

from dsbd.measure.bench.records import BenchSummary, ContenderSummary, bench_summary
from visualize.figures.chart_style import dress, empty_figure, error_bars, series_look
from visualize.figures.pictured import PicturedFigure
from visualize.look.states import Theme
from visualize.look.theme import palette

Summary = BenchSummary | Mapping[str, Any]
"""A record, or the plain data of its JSON; other data is a ValueError that says what is wrong."""
Sweep = dict[str, list[tuple[float, ContenderSummary]]]
"""One line for each method (and point), along one setting: its values with the contenders."""
Values = list[float | None]
"""A value for each name; None if it was not measured."""
ROW_PIXELS, BAR_PIXELS = 34, 18
STYLES = (("#0072b2", ""), ("#e69f00", "/"), ("#009e73", "x"))
"""Colours and patterns of the series of bars, in this order."""
MOST_LINES = 8
"""A sweep with more lines, such as that of a grid, is not drawn."""
NOT_MEASURED = "not measured"
WRONG, RIGHT, NEUTRAL = "#d55e00", "#0072b2", "#767d86"
VERDICTS = {True: ("circle", RIGHT, "equal quality"), False: ("x", WRONG, "worse"), None: ("circle-open", NEUTRAL, "")}


def speed_figure(summary: Summary, *, theme: Theme = "light") -> PicturedFigure:
    """Draw tokens per second over those of the first baseline, with the interval and the limit.

    The limit is what the forwards alone would allow; contenders that do not report their forwards have none.

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
    colors, figure = palette(theme), PicturedFigure()
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


def quality_figure(summary: Summary, *, theme: Theme = "light") -> PicturedFigure:
    """Draw the perplexity of the returned texts beside the milliseconds per token: lower is better on both axes.

    A band marks the baseline's perplexity; marks and names say whether the quality is equal.

    Example:
        >>> visualize.quality_figure(bench)

    Raises:
        ValueError: the data is no summary of a bench.
    """
    bench = bench_summary(summary)
    if not bench.contenders:
        return empty_figure("Quality beside speed", theme)
    colors, figure = palette(theme), PicturedFigure()
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


def _sweep_figure(setting: str, sweep: Sweep) -> PicturedFigure:
    """Draw milliseconds per token along one setting; the label of each point is its layers per iteration."""
    figure = PicturedFigure()
    for place, (name, points) in enumerate(sweep.items()):
        line = sorted(points, key=lambda point: point[0])
        color, dash, _ = series_look(place)
        layers = [row.layers_per_iteration for _, row in line]
        figure.add_scatter(
            x=[value for value, _ in line],
            y=[row.milliseconds_per_token for _, row in line],
            mode="lines+markers+text",
            name=escape(name, quote=False),
            text=["" if one is None else f"{one:.1f}" for one in layers],
            textposition="top center",
            cliponaxis=False,
            line={"dash": dash, "color": color},
            marker={"symbol": place, "size": 9},
        )
    dress(figure, f"Milliseconds per token by {setting} (at the points: layers per iteration)", "light")
    values = sorted({value for points in sweep.values() for value, _ in points})
    figure.update_xaxes(title=setting, tickvals=values)
    return figure.update_layout(yaxis_title="milliseconds per token")


def _limits_figure(bench: BenchSummary) -> PicturedFigure:
    """Draw how much of what is possible each contender reaches: 1 is the limit.

    Contenders that do not report their forwards are left out.
    """
    rows = [row for row in bench.contenders if row.limits]
    series: dict[str, Values] = {
        share: [getattr(row.limits, share) for row in rows] for share in ("hardware", "algorithm", "total")
    }
    return _bars("Share of the limit reached", "share", rows, series)


def _memory_figure(bench: BenchSummary) -> PicturedFigure:
    """Draw the largest size of keys and values in megabytes, beside what other designs would need."""
    rows = [row for row in bench.contenders if row.memory.kv_peak_bytes is not None]
    others = [row.memory.computed for row in rows]
    series = {
        "measured": [_mega(row.memory.kv_peak_bytes) for row in rows],
        "one sequence (computed)": [_mega(other.one_sequence_bytes if other else None) for other in others],
        "a cache per beam (computed)": [_mega(other.cache_per_beam_bytes if other else None) for other in others],
    }
    return _bars("Keys and values", "MB", rows, series)


def _mega(size: int | None) -> float | None:
    return None if size is None else size / 1e6


def _energy_figure(bench: BenchSummary) -> PicturedFigure:
    """Draw joules per token of each device: all of them, and those above the idle device's."""
    rows = bench.contenders
    series: dict[str, Values] = {}
    for device in sorted({device for row in rows for device in (row.energy or {})}):
        used = [(row.energy or {}).get(device) for row in rows]
        states = [one.state for one in used if one is not None and one.joules_per_token is not None]
        if states:
            series[f"{device} ({states[0]})"] = [one.joules_per_token if one else None for one in used]
            series[f"{device}, above idle"] = [one.above_idle_joules_per_token if one else None for one in used]
    return _bars("Energy", "joules per token", rows if series else [], series)


def _bars(title: str, unit: str, rows: Sequence[ContenderSummary], series: Mapping[str, Values]) -> PicturedFigure:
    """Draw groups of bars; a bar that was not measured says so."""
    if not rows:
        return empty_figure(f"{title}: {NOT_MEASURED}", "light")
    figure = PicturedFigure()
    for place, (name, values) in enumerate(series.items()):
        color, shape = STYLES[place % len(STYLES)]
        figure.add_bar(
            y=[_name(row) for row in rows],
            x=values,
            orientation="h",
            name=name,
            text=[NOT_MEASURED if value is None else f"{value:.2f}" for value in values],
            textposition="outside",
            textangle=0,
            cliponaxis=False,
            marker={"color": color, "pattern": {"shape": shape, "fillmode": "overlay", "size": 6}},
        )
    dress(figure, title, "light")
    figure.update_xaxes(title=unit)
    figure.update_yaxes(automargin=True, autorange="reversed", showgrid=False)
    return figure.update_layout(barmode="group", height=150 + BAR_PIXELS * len(rows) * len(series))


def _forwards_figure(bench: BenchSummary) -> PicturedFigure:
    """Draw the milliseconds of a forward by its number of tokens, and the floor: the time to read the weights."""
    forwards = bench.forwards
    models = forwards.by_role if forwards else {}
    if not models:
        return empty_figure("Forwards", "light")
    figure = PicturedFigure()
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
    dress(figure, "A forward by its tokens", "light")
    figure.update_xaxes(type="log", title="tokens", tickvals=figure.data[0].x)
    return figure.update_layout(yaxis_title="milliseconds")


CHARTS: dict[str, Callable[[BenchSummary], PicturedFigure]] = {
    "speed": speed_figure,
    "quality": quality_figure,
    "limits": _limits_figure,
    "forwards": _forwards_figure,
    "memory": _memory_figure,
    "energy": _energy_figure,
}


def bench_figures(bench: BenchSummary) -> dict[str, PicturedFigure]:
    """Return all figures of a bench by name, with one ``sweep <setting>`` for each setting swept along a few lines.

    The names of the contenders say which settings were swept.
    """
    sweeps: dict[str, Sweep] = {}
    for row in bench.contenders:
        parts = row.contender.split(" ")
        for part in parts:
            setting, equals, _ = part.partition("=")
            value = getattr(row.settings, setting, None)
            if equals and isinstance(value, (int, float)) and not isinstance(value, bool):
                rest = " ".join(other for other in parts if other != part)
                sweeps.setdefault(setting, {}).setdefault(rest, []).append((value, row))
    figures = {name: draw(bench) for name, draw in CHARTS.items()}
    few = {setting: sweep for setting, sweep in sweeps.items() if len(sweep) <= MOST_LINES}
    return figures | {f"sweep {setting}": _sweep_figure(setting, sweep) for setting, sweep in few.items()}
