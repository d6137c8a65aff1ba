"""Tables of a task: what is averaged over what, what is compared, and what stays "not measured"."""

import json
import statistics
from dataclasses import replace

import pytest
from dsbd.evaluation.make_tables import make_table
from dsbd.evaluation.statistics import clustered_mean, clustered_perplexity, clustered_rate, paired_difference
from dsbd.evaluation.tables import SpeedRatio, read_table

from tests.evaluation.made_up import BASELINE, RIGHT, answer, made_up_table


def row(table, contender):
    return next(one for one in table.rows if one.contender == contender)


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
    assert (base.difference, base.ratios, table.baselines) == (None, {}, (BASELINE,))
    found = row(table, "speculative")
    ours, theirs = (
        {f"q{place}": [float(right)] for place, right in enumerate(RIGHT[name].replace(" ", ""))}
        for name in ("speculative", BASELINE)
    )
    assert found.difference == paired_difference(ours, theirs, {f"q{place}": place // 4 for place in range(8)})
    assert (found.difference.above, found.difference.below) == (0, 3)
    assert found.perplexity_difference.of.mean == 0
    ratios = [(40 / 40 + place / 100) / (40 / 130 + place / 100) for place in range(8)]
    assert found.ratios[BASELINE].median == pytest.approx(statistics.median(ratios))


def test_without_right_answers_perplexity_is_the_quality():
    """Catches a story with a quality of None, and a perplexity of which more is better."""
    answers = [answer(name, question, None) for name in RIGHT for question in range(8)]
    table = make_table(answers, task="stories", metric=None, baselines=[BASELINE])
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


def twice(ours, theirs):
    """Return the row of a contender beside a baseline; runs are listed by prompt and round, None was not made."""
    runs = [
        answer(name, place, None, cluster=f"{place}", round=round, **({"seconds": 1.0} | figures))
        for name, listed in (("sampling", ours), (BASELINE, theirs))
        for place, row in enumerate(listed)
        for round, figures in enumerate(row)
        if figures is not None
    ]
    return row(make_table(runs, task="t", metric=None, baselines=[BASELINE]), "sampling")


def speeds(*rows):
    return [[None if layers is None else {"layers": layers} for layers in row] for row in rows]


def test_ratios_are_paired():
    """Catches a ratio of medians, which is 1 here: on every prompt the contender is twice as fast."""
    base = speeds([10], [20], [40])
    found = twice(speeds([20], [40], [80]), base).ratios[BASELINE]
    assert found == SpeedRatio(2.0, None, None, baseline=BASELINE, above_1=3, of=3, sign_test_p=0.25)
    assert twice(speeds([None], [30], [None]), base).ratios[BASELINE].of == 1


def test_rounds_of_a_prompt_are_no_further_prompts():
    """Catches a sign test that counts rounds: twenty rounds on one prompt say nothing about another."""
    found = twice(speeds(*[[30] * 20] * 3), speeds(*[[10] * 20] * 3)).ratios[BASELINE]
    assert (found.above_1, found.of, found.sign_test_p) == (60, 60, 0.25)
    assert twice(speeds(*[[30, 10, 10]] * 8), speeds(*[[10] * 3] * 8)).ratios[BASELINE].sign_test_p == 2 / 2**8
    turned = twice(speeds(*[[20, 10]] * 8), speeds(*[[10, 20]] * 8))  # twice as fast, then half as fast
    assert turned.ratios[BASELINE].sign_test_p is None


@pytest.mark.parametrize(
    ("perplexities", "weights", "equal"),
    [
        ((2.0, 2.1, 1.9), (-1.0, -1.1, -0.9), True),
        ((3.0, 3.1, 2.9), (-1.0, -1.1, -0.9), False),
        ((1.1, 1.2, 1.3), (-1.5, -1.4, -1.6), False),
        ((1.1, 1.2, 1.3), (-0.5, -0.4, -0.6), True),
    ],
    ids=["as good", "worse perplexity", "worse log-weight", "better"],
)
def test_equal_quality_by_its_rule(perplexities, weights, equal):
    """Catches a verdict that looks at one of the two figures only, calls better unequal, or takes few prompts."""
    base = [[{"perplexity": 2.0, "best_log_weight_per_token": -1.0}] * 2] * 9
    ours = [[{"perplexity": one, "best_log_weight_per_token": other}] * 2
            for one, other in zip(perplexities * 3, weights * 3, strict=True)]  # fmt: skip
    assert twice(ours, base).equal_quality is equal
    assert twice(ours[:7], base[:7]).equal_quality is None
    assert row(made_up_table(), "sampling").equal_quality is None
