"""Figures of an evaluation: their data by equality, their drawing by rendering, in both themes."""

import json
from dataclasses import replace

import pytest

import visualize
from dsbd.evaluation.tabulate import make_table
from tests.evaluation.made_up import BASELINE, answer, made_up_table
from visualize.figures.dynamic_width import dynamic_width_info
from visualize.figures.pareto import NOT_MEASURED, pareto_info
from visualize.figures.quality_width import quality_width_info
from visualize.figures.width_histogram import widths_info

OURS = "dsbd draft_width=4 input_beams=None"
TABLE = made_up_table()
OF_A_TABLE = ["pareto_figure", "quality_width_figure", "width_histogram_figure", "dynamic_width_figure"]


def nothing(metric="m"):
    return make_table([], task="sql", metric=metric)


def test_fronts_hold_what_nothing_beats():
    """Catches one front over all families, and "more is better" for joules."""
    info = pareto_info(TABLE)
    families = {one.family: [one.dots[place].name for place in one.front] for one in info.fronts}
    assert families == {
        "beam_sampling": ["beam_sampling num_beams=4", "beam_sampling num_beams=2"],
        "dsbd, all beams kept": [OURS],
        "dsbd, one sequence kept": ["dsbd draft_width=4 input_beams=1"],
        "speculative": ["speculative"],
        "sampling": ["sampling"],
    }
    dot = info.fronts[0].dots[0]
    row = TABLE.rows[0]
    assert (dot.cost, dot.quality) == (row.tokens_per_second, row.quality)
    assert info.quality == "execution accuracy (more is better)"
    dear, cheap = (
        [answer(name, question, right, joules=joules) for question in range(8)]
        for name, right, joules in (("beam_sampling num_beams=2", 1.0, 9.0), ("beam_sampling num_beams=4", 1.0, 5.0))
    )
    (front,) = pareto_info(make_table(dear + cheap, task="sql", metric="m"), "energy").fronts
    assert [front.dots[place].name for place in front.front] == ["beam_sampling num_beams=4"]


def test_of_perplexity_less_is_better():
    """Catches a front of the worst perplexities."""
    rows = [answer(name, question, None, perplexity=value)
            for name, value in (("beam_sampling num_beams=2", 1.5), ("beam_sampling num_beams=4", 2.5))
            for question in range(8)]  # fmt: skip
    (front,) = pareto_info(make_table(rows, task="stories", metric=None)).fronts
    assert [front.dots[place].name for place in front.front] == ["beam_sampling num_beams=2"]


def test_energy_that_was_not_measured_is_a_sentence():
    """Catches points at 0 joules."""
    figure = visualize.pareto_figure(TABLE, against="energy")
    assert not figure.data
    assert figure.layout.annotations[0].text == NOT_MEASURED
    with pytest.raises(ValueError, match="against is 'memory'"):
        visualize.pareto_figure(TABLE, against="memory")


def test_a_front_has_intervals_and_the_rest_is_in_the_hover():
    slow = replace(TABLE.rows[2], contender="dsbd draft_width=5 <b>", tokens_per_second=TABLE.rows[0].tokens_per_second)
    figure = visualize.pareto_figure(replace(TABLE, rows=(*TABLE.rows, slow)))
    behind, front = [trace for trace in figure.data if trace.legendgroup == "dsbd, all beams kept"]
    assert (behind.showlegend, front.error_y.array[0] > 0, len(front.x)) == (False, True, 1)
    assert behind.hovertext[0].startswith("dsbd draft_width=5 &lt;b&gt;<br>")
    assert f"[{slow.quality.low:.3g}, {slow.quality.high:.3g}]" in behind.hovertext[0]


def test_quality_stands_over_the_mean_width():
    lines = {line.family: line for line in quality_width_info(TABLE).lines}
    assert lines["dsbd, all beams kept"].widths == (2.0,)
    assert lines["dsbd, all beams kept"].qualities == (TABLE.rows[2].quality,)
    uncounted = replace(TABLE.rows[0], mean_width=None)
    assert quality_width_info(replace(TABLE, rows=(uncounted,))).lines == ()


def test_histograms_are_shares_of_layers():
    """Catches counts, which grow with the length of the texts, and fixed widths among the chosen ones."""
    info = widths_info(TABLE)
    assert info.widths == (1, 2, 3)
    assert info.shares == dict.fromkeys([OURS, "dsbd draft_width=4 input_beams=1"], (0.5, 0.0, 0.5))
    assert widths_info(TABLE, ["sampling"]).shares == {"sampling": (1.0,)}
    with pytest.raises(ValueError, match="'slowest' has no widths; name at most 5 of beam_sampling num_beams=2"):
        widths_info(TABLE, ["slowest"])
    with pytest.raises(ValueError, match="6 contenders are too many"):
        widths_info(TABLE, [row.contender for row in TABLE.rows])


def test_rows_of_speed_and_quality_stand_in_the_order_of_the_table():
    info = dynamic_width_info(TABLE)
    assert info.names == tuple(row.contender for row in TABLE.rows)
    assert info.speeds[0] == TABLE.rows[0].tokens_per_second
    figure = visualize.dynamic_width_figure(TABLE)
    assert figure.data[0].y[2] == f"{OURS}<br>mean width 2.00"
    assert figure.layout.yaxis.autorange == "reversed"


@pytest.mark.parametrize("theme", ["light", "dark"])
@pytest.mark.parametrize("name", OF_A_TABLE)
def test_figures_draw_in_both_themes_and_say_when_they_are_empty(name, theme):
    """Catches a figure that fails on an evaluation without answers, or without a title."""
    draw = getattr(visualize, name)
    figure = draw(TABLE, theme=theme)
    assert figure.data
    assert draw(nothing(), theme=theme).layout.title.text == figure.layout.title.text
    assert not draw(nothing(), theme=theme).data


@pytest.mark.parametrize("name", OF_A_TABLE)
def test_a_record_and_its_json_draw_the_same(name):
    draw = getattr(visualize, name)
    assert draw(json.loads(json.dumps(TABLE.to_dict()))).to_json() == draw(TABLE).to_json()
    with pytest.raises(ValueError, match="no table of an evaluation"):
        draw({"contenders": []})


def test_series_differ_in_more_than_their_colour():
    figure = visualize.pareto_figure(TABLE)
    shown = [trace for trace in figure.data if trace.showlegend is not False]
    assert len({trace.marker.symbol for trace in shown}) == len({trace.line.dash for trace in shown}) == len(shown)
    assert BASELINE in figure.data[0].hovertext[0]
