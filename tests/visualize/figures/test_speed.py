"""Figures of speed: the numbers of a table, drawn."""

from dataclasses import replace

from dsbd.evaluation.make_tables import make_table
from visualize.figures.speed import MOST_LINES, sweep_figures
from visualize.pages.contest_page import contest_figures

import visualize
from dsbd.settings import DecodingSettings
from tests.evaluation.made_up import BASELINE, made_up_table

TABLE = made_up_table()


def test_speed_is_the_ratio_to_the_baseline():
    """Catches the baseline beside itself, an interval that is not known and drawn, and a name that is markup."""
    rows = tuple(replace(row, contender=f"{row.contender} <b>") for row in TABLE.rows if row.ratios)
    (measured,) = visualize.speed_figure(replace(TABLE, rows=rows)).data
    assert measured.x == tuple(row.ratios[BASELINE].median for row in rows)
    assert measured.y[0] == "beam_sampling num_beams=2 &lt;b&gt;"
    assert measured.error_x.arrayminus == (0.0,) * len(rows)  # two clusters: no interval
    empty = visualize.speed_figure(make_table([], task="t", metric="m"))
    assert (empty.layout.title.text, empty.data) == ("Speed over the baseline", ())


def swept(lines: int):
    """Return a table of so many lines along the draft depth."""
    rows = []
    for name in "abcdefghijk"[:lines]:
        for depth in (4, 2):
            settings = DecodingSettings(draft_depth=depth)
            interval = replace(TABLE.rows[0].milliseconds_per_token, median=10.0 + depth)
            contender = f"{name} draft_depth={depth}"
            rows.append(replace(TABLE.rows[0], contender=contender, settings=settings, milliseconds_per_token=interval))
    return replace(TABLE, rows=tuple(rows))


def test_a_sweep_is_a_line_and_a_grid_is_none():
    """Catches points in the order of the runs, and a figure of fifty lines."""
    (figure,) = sweep_figures(swept(1))
    (line,) = figure.data
    assert (line.name, line.x, line.y, line.text) == ("a", (2, 4), (12.0, 14.0), ("2.5", "2.5"))
    assert sweep_figures(swept(MOST_LINES + 1)) == []


def test_nothing_measured_draws_titled_empty_figures():
    """Catches a figure that fails, or that is blank without a title."""
    for figure in contest_figures(make_table([], task="t", metric=None)):
        assert figure.layout.title.text
        assert not figure.data
