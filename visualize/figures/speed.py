"""How fast the contenders of a contest are: speed over a baseline, and speed along a setting that was swept.

They take a table of a bench or an evaluation: a record, or its plain data.
"""

from html import escape

from dsbd.evaluation.tables import ContenderRow, ContestTable, Table, read_table
from visualize.figures.chart_style import Figure, dress, empty_figure, error_bars, series_look
from visualize.look.states import Theme
from visualize.look.theme import palette

Sweep = dict[str, list[tuple[float, ContenderRow]]]
"""One line for each method (and point), along one setting: its values with the contenders."""
ROW_PIXELS = 48
MOST_LINES = 8
"""A sweep with more lines, such as that of a grid, is not drawn."""


def speed_figure(table: Table, *, theme: Theme = "light") -> Figure:
    """Draw tokens per second over those of the first baseline, with the 95 % interval.

    Example:
        >>> visualize.speed_figure(bench)

    Raises:
        ValueError: the data is no table of a contest.
    """
    read = read_table(table)
    baseline = next(iter(read.baselines), "")
    found = {row.contender: ratio for row in read.rows if (ratio := row.ratios.get(baseline)) is not None}
    if not found:
        return empty_figure("Speed over the baseline", theme)
    colors, figure = palette(theme), Figure()
    ratios = list(found.values())
    medians = [ratio.median for ratio in ratios]
    figure.add_scatter(
        x=medians,
        y=[escape(name, quote=False) for name in found],
        mode="markers+text",
        name="measured, 95 % interval",
        text=[f"{value:.2f} ×" for value in medians],
        textposition="top center",
        marker={"size": 11, "color": colors.accent},
        error_x=error_bars(medians, [ratio.low for ratio in ratios], [ratio.high for ratio in ratios], colors.ink),
    )
    figure.add_vline(x=1, line={"color": colors.soft, "dash": "dash", "width": 1})
    dress(figure, f"Speed over {escape(baseline, quote=False)}", theme)
    figure.update_xaxes(title="× tokens per second", rangemode="tozero", gridcolor=colors.band, showgrid=True)
    figure.update_yaxes(autorange="reversed", showgrid=False, automargin=True)
    return figure.update_layout(height=150 + ROW_PIXELS * len(found))


def sweep_figures(table: ContestTable) -> list[Figure]:
    """Draw milliseconds per token along each setting that was swept along a few lines.

    The names of the contenders say which settings were swept.
    """
    sweeps: dict[str, Sweep] = {}
    for row in table.rows:
        parts = row.contender.split(" ")
        for part in parts:
            setting, equals, _ = part.partition("=")
            value = getattr(row.settings, setting, None)
            if equals and isinstance(value, (int, float)) and not isinstance(value, bool):
                rest = " ".join(other for other in parts if other != part)
                sweeps.setdefault(setting, {}).setdefault(rest, []).append((value, row))
    return [_sweep_figure(setting, sweep) for setting, sweep in sweeps.items() if len(sweep) <= MOST_LINES]


def _sweep_figure(setting: str, sweep: Sweep) -> Figure:
    """Draw one sweep; the label of each point is its layers per iteration."""
    figure = Figure()
    for place, (name, points) in enumerate(sweep.items()):
        line = sorted(points, key=lambda point: point[0])
        color, dash, symbol = series_look(place)
        layers = [row.layers_per_iteration for _, row in line]
        figure.add_scatter(
            x=[value for value, _ in line],
            y=[row.milliseconds_per_token and row.milliseconds_per_token.median for _, row in line],
            mode="lines+markers+text",
            name=escape(name, quote=False),
            text=["" if one is None else f"{one:.1f}" for one in layers],
            textposition="top center",
            cliponaxis=False,
            line={"dash": dash, "color": color},
            marker={"symbol": symbol, "size": 9},
        )
    dress(figure, f"Milliseconds per token by {setting} (at the points: layers per iteration)", "light")
    values = sorted({value for points in sweep.values() for value, _ in points})
    figure.update_xaxes(title=setting, tickvals=values)
    return figure.update_layout(yaxis_title="milliseconds per token")
