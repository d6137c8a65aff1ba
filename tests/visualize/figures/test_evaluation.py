"""Figures of an evaluation: their data by equality, their drawing by rendering, in both themes."""

import json
from dataclasses import replace

import pytest
from dsbd.evaluation.make_tables import make_table
from visualize.figures.evaluation import NOT_MEASURED

import visualize
from tests.evaluation.made_up import BASELINE, answer, made_up_table

OURS = "dsbd draft_width=4 input_beams=None"
TABLE = made_up_table()
OF_A_TABLE = ["pareto_figure", "quality_width_figure", "width_histogram_figure"]


def fronts_of(table, **how):
    """Return the names of each drawn front."""
    drawn = [trace for trace in visualize.pareto_figure(table, **how).data if trace.showlegend is not False]
    return {trace.name: [hover.partition("<br>")[0] for hover in trace.hovertext] for trace in drawn}


def test_fronts_hold_what_nothing_beats():
    """Catches one front over all families, "more is better" for joules, and a front of the worst perplexities."""
    assert fronts_of(TABLE) == {
        "beam_sampling": ["beam_sampling num_beams=4", "beam_sampling num_beams=2"],
        "dsbd, all beams kept": [OURS],
        "dsbd, one sequence kept": ["dsbd draft_width=4 input_beams=1"],
        "speculative": ["speculative"],
        "sampling": ["sampling"],
    }
    figure, rows = visualize.pareto_figure(TABLE), {row.contender: row for row in TABLE.rows}
    best = rows["beam_sampling num_beams=4"]
    assert (figure.data[0].x[0], figure.data[0].y[0]) == (best.tokens_per_second.mean, best.quality.mean)
    assert figure.layout.yaxis.title.text == "execution accuracy (more is better)"
    names = ("beam_sampling num_beams=2", "beam_sampling num_beams=4")
    joules = [answer(name, question, 1.0, joules=value)
              for name, value in zip(names, (9.0, 5.0), strict=True) for question in range(8)]  # fmt: skip
    assert fronts_of(make_table(joules, task="sql", metric="m"), against="energy") == {"beam_sampling": [names[1]]}
    perplexities = [answer(name, question, None, perplexity=value)
                    for name, value in zip(names, (1.5, 2.5), strict=True) for question in range(8)]  # fmt: skip
    assert fronts_of(make_table(perplexities, task="stories", metric=None)) == {"beam_sampling": [names[0]]}


def test_energy_that_was_not_measured_is_a_sentence():
    """Catches points at 0 joules."""
    figure = visualize.pareto_figure(TABLE, against="energy")
    assert not figure.data
    assert figure.layout.annotations[0].text == NOT_MEASURED


def test_a_front_has_intervals_and_the_rest_is_in_the_hover():
    slow = replace(TABLE.rows[2], contender="dsbd draft_width=5 <b>", tokens_per_second=TABLE.rows[0].tokens_per_second)
    figure = visualize.pareto_figure(replace(TABLE, rows=(*TABLE.rows, slow)))
    behind, front = [trace for trace in figure.data if trace.legendgroup == "dsbd, all beams kept"]
    assert (behind.showlegend, front.error_y.array[0] > 0, len(front.x)) == (False, True, 1)
    assert behind.hovertext[0].startswith("dsbd draft_width=5 &lt;b&gt;<br>")
    assert f"[{slow.quality.low:.3g}, {slow.quality.high:.3g}]" in behind.hovertext[0]


def test_quality_stands_over_the_mean_width():
    drawn = {trace.name: trace for trace in visualize.quality_width_figure(TABLE).data}["dsbd, all beams kept"]
    assert (drawn.x, drawn.y) == ((2.0,), (TABLE.rows[2].quality.mean,))
    uncounted = replace(TABLE.rows[0], mean_width=None)
    assert not visualize.quality_width_figure(replace(TABLE, rows=(uncounted,))).data


def test_histograms_are_shares_of_layers():
    """Catches counts, which grow with the length of the texts, and fixed widths among the chosen ones."""
    drawn = visualize.width_histogram_figure(TABLE).data
    assert {bar.name: bar.y for bar in drawn} == dict.fromkeys(
        [OURS, "dsbd draft_width=4 input_beams=1"], (0.5, 0.0, 0.5)
    )
    assert drawn[0].x == (1, 2, 3)


@pytest.mark.parametrize("name", OF_A_TABLE)
def test_figures_draw_plain_data_in_both_themes_and_say_when_they_are_empty(name):
    """Catches a figure that fails on an evaluation without answers, or without a title."""
    draw = getattr(visualize, name)
    figure = draw(TABLE, theme="dark")
    assert figure.layout.paper_bgcolor != draw(TABLE).layout.paper_bgcolor
    assert draw(json.loads(json.dumps(TABLE.to_dict())), theme="dark").to_json() == figure.to_json()
    empty = draw(make_table([], task="sql", metric="m"))
    assert (empty.layout.title.text, empty.data) == (figure.layout.title.text, ())


def test_series_differ_in_more_than_their_colour():
    figure = visualize.pareto_figure(TABLE)
    shown = [trace for trace in figure.data if trace.showlegend is not False]
    assert len({trace.marker.symbol for trace in shown}) == len({trace.line.dash for trace in shown}) == len(shown)
    assert BASELINE in figure.data[0].hovertext[0]
