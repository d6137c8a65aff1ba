"""``auto`` resolves from measurements that are given or made on a small pair."""

from dataclasses import asdict, replace

import pytest

import dsbd
from dsbd import api
from dsbd.auto.measuring import known_plans
from dsbd.auto.plan import (
    DEEPEST,
    MEASURED_DEPTH,
    MEASURED_NODES,
    MeasuredForest,
    MeasuredRun,
    candidates,
    choose_forest,
    largest_tried,
    make_plan,
)
from dsbd.settings import AUTO, ResolvedSettings
from dsbd.steps import value_of
from tests.toy_pair import toy_pair

ALL = dsbd.DecodingSettings(draft_depth=AUTO, draft_width=AUTO, cover_width=AUTO, forest=AUTO, max_new_tokens=24)
BASELINE = MeasuredForest("sampled", 1, 0, ((0, 0.010),), 0.5, 0, 4.0)


def unplanned() -> dsbd.Pair:
    return replace(toy_pair())


def measured(width: int, cover: int, seconds: float, continuation: float, forest: str = "sampled", beams: float = 4.0):
    return MeasuredForest(forest, width, cover, ((4, seconds),), continuation, 90, beams)


def test_the_forest_with_most_layers_per_second_is_chosen():
    """Catches a choice by layers alone or by time alone."""
    slow, good, dear = measured(6, 0, 0.02, 0.3), measured(6, 8, 0.02, 0.8), measured(6, 24, 0.06, 0.9)
    plan = choose_forest(ALL, [BASELINE, slow, good, dear])
    assert (plan.values["draft_width"], plan.values["cover_width"]) == (6, 8)
    assert len(plan.values["depth_costs"]) == plan.values["draft_depth"] + 1
    assert plan.values["depth_costs"][::4] == pytest.approx((1.0, 2.0))
    assert plan.values["continuation"] == 0.8
    assert "8 cover nodes" in plan.sentence


@pytest.mark.parametrize(
    "other", [measured(24, 0, 0.011, 0.99, "likely", beams=2.0), measured(6, 8, 0.0199, 0.8)], ids=["narrow", "slight"]
)
def test_speed_does_not_come_from_fewer_beams_or_from_noise(other):
    """Catches a likely forest chosen because its layers are narrow, and one whose gain is within short measurements."""
    plan = choose_forest(ALL, [BASELINE, measured(6, 0, 0.02, 0.8), other])
    assert (plan.values["forest"], plan.values["cover_width"]) == ("sampled", 0)


def test_given_fields_are_left_alone():
    """Catches a plan that overrides what the user chose."""
    asked = replace(ALL, draft_width=9, forest="sampled")
    assert {one.draft_width for one in candidates(asked)} == {9}
    assert {one.forest for one in candidates(asked)} == {"sampled"}
    fixed = replace(ALL, draft_depth=3)
    assert {one.draft_depth for one in candidates(fixed)} == {3}
    plan = choose_forest(fixed, [BASELINE, MeasuredForest("sampled", 6, 0, ((3, 0.02),), 0.9, 90, 4.0)])
    assert plan.values["draft_depth"] == 3
    assert "depth_costs" not in plan.values


def test_trimmed_iterations_do_not_lower_the_cost():
    """Catches a cost of a deep forest that is taken from the shallow iterations near the end of a measurement."""

    def run(settings):
        deep = 0.010 + 0.002 * settings.draft_depth
        return MeasuredRun([(settings.draft_depth, deep)] * 4 + [(0, 0.010)] * 4, 20, 12, 4, 80)

    plan = value_of(make_plan(ALL, run, room=100))
    for forest in plan.measured:
        assert dict(forest.seconds) == pytest.approx({depth: 0.010 + 0.002 * depth for depth, _ in forest.seconds})


@pytest.mark.parametrize(
    "changes", [{}, {"min_width": 3, "max_width": 3, "replacement": False, "cover_width": 0}, {"method": "speculative"}]
)
@pytest.mark.slow
def test_auto_is_measured_once_and_replays_exactly(changes):
    """Catches a plan that is not returned, is measured at every decode, or depends on the clock once resolved."""
    pair, asked = unplanned(), replace(ALL, **changes)
    result = dsbd.decode(pair, "Once upon", asked, record=True)
    assert len(known_plans(pair)) == 1
    assert isinstance(result.settings, ResolvedSettings)
    assert not result.settings.is_auto
    assert dsbd.verify_trace(result.trace).failure is None
    again = dsbd.decode(pair, "Once upon", dsbd.DecodingSettings.from_dict(asdict(result.settings)))
    assert again.beams == result.beams
    assert again.settings == result.settings
    other = dsbd.decode(pair, "Once upon", replace(asked, seed=5, max_new_tokens=9))
    assert len(known_plans(pair)) == 1
    assert other.settings.depth_costs == result.settings.depth_costs


@pytest.mark.slow
def test_planning_tells_where_it_stands_and_can_be_cancelled():
    """Catches measurements that nobody can stop, a plan left half made, and one that is measured again."""
    pair = unplanned()
    steps = api.planning(pair, "Once upon", ALL)
    first = next(steps)
    steps.close()
    assert (first.done, known_plans(pair)) == (1, {})
    seen = list(api.planning(pair, "Once upon", ALL))
    assert [step.done for step in seen] == [*range(1, first.total + 1)]
    assert len(known_plans(pair)) == 1
    assert list(api.planning(pair, "Once upon", ALL)) == []
    assert api.plan(pair, "Once upon", ALL) is next(iter(known_plans(pair).values()))
    assert list(api.planning(pair, "Once upon", dsbd.DecodingSettings())) == []
    with pytest.raises(dsbd.PromptError, match="exceeds the context"):
        next(api.planning(pair, "a" * 9999, ALL))


def test_only_the_best_are_tried_again_and_each_time_with_another_seed():
    """Catches measurements that repeat the first one, and time spent on forests that cannot be chosen any more."""
    runs = []

    def run(settings):
        runs.append(settings)
        good = settings.cover_width == 8 or settings.draft_width == 12
        depth = settings.draft_depth
        return MeasuredRun([(depth, 0.01 + 0.001 * depth)] * 6, 20, 19 if good else 2, 1, 80)

    plan = value_of(make_plan(ALL, run, room=100))
    first, again = runs[1:10], runs[10:]
    assert {one.seed for one in first} == {0}
    assert {(one.draft_width, one.cover_width) for one in again} == {(1, 0), (6, 0), (4, 8), (6, 8)}
    assert sorted(one.seed for one in again) == [1] * 4 + [2] * 4
    assert plan.values["cover_width"] == 8


def clockwork(continuation):
    """Return measurements of a pair whose drafts pass this often, where each layer costs a tenth of an iteration."""
    runs = []

    def run(settings):
        runs.append(settings)
        depth, passed = settings.draft_depth, round(1000 * continuation)
        return MeasuredRun([(depth, 0.01 * (1 + 0.1 * depth))] * 6, 100, passed, 1000 - passed, 400)

    return runs, run


def test_text_that_is_foreseen_is_drafted_deeper_than_the_first_measurements():
    """Catches a plan that never leaves the depth at which its measurements began."""
    runs, run = clockwork(0.96)
    plan = value_of(make_plan(ALL, run, room=100))
    assert plan.values["draft_depth"] > MEASURED_DEPTH
    assert len(plan.values["depth_costs"]) == plan.values["draft_depth"] + 1
    assert {one.draft_depth for one in runs[:10]} == {0, MEASURED_DEPTH}
    deep = [one for one in runs if one.draft_depth > MEASURED_DEPTH]
    assert deep
    assert all(one.draft_depth * (one.draft_width + one.cover_width) <= MEASURED_NODES for one in deep)
    assert max(one.draft_depth for one in deep) <= DEEPEST


@pytest.mark.parametrize(
    ("continuation", "changes"),
    [
        (0.7, {}),
        (0.96, {"draft_depth": 4}),
        (0.99, {}),
        (0.99, {"forest": "likely"}),
        (0.99, {"method": "speculative"}),
    ],
    ids=str,
)
def test_no_measurement_is_deeper_than_what_can_pay_or_was_given(continuation, changes):
    """Catches deep measurements of text that no draft foresees, a given depth that is overridden, and a measurement
    that passes a limit of the page."""
    runs, run = clockwork(continuation)
    asked = replace(ALL, **changes)
    plan = value_of(make_plan(asked, run, room=100))
    if continuation < 0.99:
        assert max(one.draft_depth for one in runs) == changes.get("draft_depth", MEASURED_DEPTH)
        assert plan.values["draft_depth"] <= MEASURED_DEPTH
    bounds = {(one.forest, one.draft_width, one.cover_width): one.draft_depth for one in largest_tried(asked)}
    for one in runs:
        if one.draft_depth:
            assert one.draft_depth <= bounds[one.forest, one.draft_width, one.cover_width]


@pytest.mark.slow
def test_a_short_decode_does_not_spoil_the_plan_of_a_long_one():
    """Catches measurements as short as the first decode, too short to draft in, that are remembered."""
    pair = unplanned()
    assert dsbd.decode(pair, "Once upon", replace(ALL, max_new_tokens=1)).stats.layers == 1
    (plan,) = known_plans(pair).values()
    assert plan.measured[0].deepest == 0
    assert min(forest.deepest for forest in plan.measured[1:]) >= MEASURED_DEPTH


def test_methods_that_draft_nothing_ignore_auto():
    """Catches beam sampling that is planned, or refused, for a field it does not read."""
    pair = unplanned()
    result = dsbd.decode(pair, "Once upon", replace(ALL, method="beam_sampling"))
    assert known_plans(pair) == {}
    assert result.settings.draft_depth == 0


def test_a_plan_that_drafts_nothing_is_beam_sampling():
    """Catches a decode that drafts nothing and still reads the prompt with the draft model, or keeps a cache for it."""
    same_law = replace(ALL, min_width=4, max_width=4)
    plan = choose_forest(same_law, [BASELINE, measured(6, 0, 0.03, 0.4), measured(12, 0, 0.05, 0.6, "likely")])
    assert (plan.values["draft_depth"], plan.values["depth_costs"]) == (0, (1.0,))
    assert "does not pay" in plan.sentence
    ours = dsbd.decode(toy_pair(), "Once upon", replace(same_law, **plan.values))
    plain = dsbd.decode(toy_pair(), "Once upon", replace(same_law, method="beam_sampling"))
    assert ours.beams == plain.beams
    for stats in (ours.stats, plain.stats):
        assert stats.draft_calls == 0
    assert ours.stats.kv_peak_bytes == plain.stats.kv_peak_bytes
