"""Tables of a task: what is averaged over what, what is compared, and what stays "not measured"."""

import json
import statistics
from dataclasses import replace

import pytest

from dsbd.evaluation.make_tables import make_table
from dsbd.evaluation.statistics import clustered_mean, clustered_perplexity, clustered_rate, paired_difference
from dsbd.evaluation.tables import read_table
from tests.evaluation.made_up import BASELINE, RIGHT, answer, made_up_table


def row(table, contender):
    return next(one for one in table.rows if one.contender == contender)


def test_every_contender_has_a_row_in_its_order():
    table = made_up_table()
    assert [one.contender for one in table.rows] == list(RIGHT)
    assert (table.questions, table.clusters, table.seeds, table.higher_is_better) == (8, 2, 1, True)
    assert [one.one_sequence for one in table.rows] == [False, False, False, True, True, True]


def test_quality_is_clustered_and_right_answers_have_their_wilson_interval():
    """Catches questions of one database taken as independent."""
    found, right = row(made_up_table(), "sampling"), [0, 0, 0, 1, 0, 1, 1, 0]
    assert found.right == clustered_rate(right, "aaaabbbb")
    assert found.quality == replace(clustered_mean(right, "aaaabbbb"), low=found.right.low, high=found.right.high)
    graded = [answer("sampling", question, 0.5) for question in range(8)]
    assert make_table(graded, task="t", metric="f1").rows[0].right is None


def test_speed_is_tokens_over_seconds():
    """Catches the mean of the speeds: it counts a short answer as much as a long one."""
    answers = [answer("sampling", 0, 1.0, layers=10, seconds=1.0), answer("sampling", 4, 1.0, layers=300, seconds=3.0)]
    found = make_table(answers, task="t", metric="m").rows[0]
    assert found.tokens_per_second.mean == pytest.approx(310 / 4)
    assert found.layers_per_iteration == pytest.approx(310 / 32)
    assert found.acceptance_rate == 0.75


def test_energy_is_left_out_where_it_was_not_measured():
    """Catches 0 joules of an answer that nobody metered."""
    assert row(made_up_table(), "sampling").joules_per_token is None
    answers = [answer("sampling", 0, 1.0, joules=80.0), answer("sampling", 4, 1.0)]
    assert make_table(answers, task="t", metric="m").rows[0].joules_per_token.mean == 2.0


def test_seeds_of_a_question_are_averaged():
    answers = [answer("sampling", question, float(question == seed), round=seed)
               for question in range(8) for seed in (0, 1)]  # fmt: skip
    table = make_table(answers, task="t", metric="m")
    found = table.rows[0]
    assert (table.seeds, found.quality.count, found.quality.mean) == (2, 8, pytest.approx(1 / 8))
    assert found.right == clustered_rate([0.5, 0.5, 0, 0, 0, 0, 0, 0], "aaaabbbb")


def test_all_are_compared_with_the_baseline_question_by_question():
    table = made_up_table()
    base = row(table, BASELINE)
    assert (base.difference, base.speed, table.baseline) == (None, None, BASELINE)
    found = row(table, "speculative")
    ours, theirs = (
        {f"q{place}": [float(right)] for place, right in enumerate(RIGHT[name].replace(" ", ""))}
        for name in ("speculative", BASELINE)
    )
    assert found.difference == paired_difference(ours, theirs, {f"q{place}": place // 4 for place in range(8)})
    assert (found.difference.above, found.difference.below) == (0, 3)
    assert found.perplexity_difference.of.mean == 0
    ratios = [(40 / 40 + place / 100) / (40 / 130 + place / 100) for place in range(8)]
    assert found.speed.median == pytest.approx(statistics.median(ratios))


def test_without_right_answers_perplexity_is_the_quality():
    """Catches a story with a quality of None, and a perplexity of which more is better."""
    answers = [answer(name, question, None) for name in RIGHT for question in range(8)]
    table = make_table(answers, task="stories", metric=None, baseline=BASELINE)
    assert (table.metric, table.higher_is_better) == ("perplexity", False)
    found = row(table, "sampling")
    assert found.quality == found.perplexity == clustered_perplexity([2 + place / 10 for place in range(8)], "aaaabbbb")
    assert found.right is None
    assert found.difference == found.perplexity_difference


def test_widths_add_up():
    found = row(made_up_table(), "dsbd draft_width=4 input_beams=None")
    assert (found.widths, found.mean_width) == ({1: 160, 3: 160}, 2.0)
    hf = make_table([answer("sampling", 0, 1.0, widths=None, mean_width=None)], task="t", metric="m").rows[0]
    assert (hf.widths, hf.mean_width) == (None, None)


def test_a_table_survives_json():
    table = made_up_table()
    assert read_table(json.loads(json.dumps(table.to_dict()))) == table
    assert read_table(table) is table


@pytest.mark.parametrize(
    ("data", "named"),
    [
        ("table.json", "str is no table"),
        ({"format": "dsbd-evaluation/9"}, "dsbd-evaluation/9"),
        ({"rows": []}, "no table of an evaluation: task"),
    ],
)
def test_other_data_is_named(data, named):
    with pytest.raises(ValueError, match=named):
        read_table(data)
