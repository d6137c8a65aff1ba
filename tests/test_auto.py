"""``auto``: what measurements resolve to, and what is kept."""

from dataclasses import asdict, replace
from unittest.mock import Mock

import pytest

import dsbd
from dsbd import api, auto
from dsbd.auto import MeasuredForest, MeasuredRun, choose_forest, known_plan, make_plan
from dsbd.drafts.lookup import Known
from dsbd.methods import WORTHWHILE, expected_layers, resolve
from dsbd.settings import AUTO, ResolvedSettings
from dsbd.util import value_of
from tests.toy_pair import read_settings, toy_pair

AUTOMATIC = dict.fromkeys(("draft_depth", "draft_width", "cover_width"), AUTO)
ALL = dsbd.DecodingSettings(**AUTOMATIC, forest="sampled", min_width=4, max_width=4)
COUPLED = replace(ALL, forest=None)
FOUR = replace(ALL, draft_depth=4)
SPECULATIVE = dsbd.DecodingSettings(method="speculative", draft_depth=AUTO)
SEARCHES = dsbd.DecodingSettings(method="speculative_beam_search", draft_depth=AUTO, draft_width=AUTO)
EVERY = [ALL, FOUR, COUPLED, replace(COUPLED, cover_width=3), replace(ALL, draft_width=9), SPECULATIVE, SEARCHES]


def measured(width, cover, seconds, continuation, *, method="dsbd", depth=4, decided=90, beams=4.0, forest="sampled"):
    """Return a forest of which an iteration of ``depth`` takes so many seconds, and one of beam sampling 0.01."""
    named = {"forest": forest, "draft_width": width, "cover_width": cover, "min_width": 4, "max_width": 4}
    settings = read_settings(method, draft_depth=depth, **named)
    layer = (seconds - 0.01) / depth if depth else 0.0
    return MeasuredForest(settings, depth, 0.01, layer, continuation, decided, beams)


BASELINE = measured(1, 0, 0.01, 0.5, depth=0, decided=0)
GOOD = measured(6, 8, 0.02, 0.8, depth=6)
FEWER_BEAMS = measured(24, 0, 0.011, 0.99, beams=2.0)
GUESSED = measured(12, 0, 0.02, 0.8, forest="coupled")


@pytest.mark.parametrize(
    ("settings", "tried", "values"),
    [  # a choice by layers alone or by time alone
        (ALL, [measured(6, 0, 0.02, 0.3), GOOD, measured(6, 24, 0.06, 0.9)], {"draft_width": 6, "cover_width": 8}),
        # speed from fewer beams, and a gain within the noise of short measurements
        (ALL, [measured(6, 0, 0.02, 0.8), FEWER_BEAMS], {"draft_width": 6}),
        (ALL, [measured(6, 0, 0.02, 0.8), measured(6, 8, 0.0199, 0.8)], {"cover_width": 0}),
        (ALL, [measured(6, 0, 0.03, 0.4), measured(12, 0, 0.05, 0.6)], {"depth_costs": (1.0,)}),
        (COUPLED, [measured(4, 0, 0.02, 0.7, forest="coupled"), GUESSED], {"draft_width": 12, "forest": "coupled"}),
        (FOUR, [measured(6, 0, 0.02, 0.9)], {"draft_depth": 4}),
        (SPECULATIVE, [measured(1, 0, 0.012, 0.9, method="speculative", depth=6)], {"draft_depth": 16}),
        (SEARCHES, [measured(24, 0, 0.012, 0.9, method="speculative_beam_search", depth=6)], {"draft_width": 24}),
    ],
    ids=["most layers per second", "narrow", "slight", "does not pay", "guesses", "given depth", "chain", "search"],
)
def test_the_forest_with_most_layers_per_second_is_chosen(settings, tried, values):
    plan = choose_forest(settings, [BASELINE, *tried])
    assert values.items() <= plan.values.items()
    chosen = replace(settings, **plan.values)
    assert not chosen.is_auto
    assert chosen.kind_of_forest == settings.kind_of_forest
    assert ("depth_costs" in plan.values) == (settings.draft_depth == AUTO)
    assert ("does not pay" in plan.sentence) == (chosen.draft_depth == 0)


@pytest.mark.parametrize(("passed", "stopped", "rate"), [(0, 0, 1 / 2), (9, 0, 10 / 11), (0, 3, 1 / 5)])
def test_few_layers_are_no_certainty(passed, stopped, rate):
    """Catches a plan that trusts a rate of 0 or 1 after a few layers."""
    one = MeasuredRun([(2, 0.02)], passed, stopped, 4.0, 9)
    assert MeasuredForest.of(ALL, [one], [one]).continuation == pytest.approx(rate)


@pytest.mark.parametrize(("decided", "depth"), [(8, 0), (800, 2)])
def test_a_gain_within_the_noise_of_its_measurement_is_not_taken(decided, depth):
    """Catches a forest that was lucky in a few layers."""
    lucky = measured(6, 0, 0.017, 0.6, depth=2, decided=decided)
    assert expected_layers(0.6, 2) / 1.7 > WORTHWHILE
    assert choose_forest(replace(ALL, draft_depth=2), [BASELINE, lucky]).values["draft_depth"] == depth


def run(continuation: float, depth: int) -> MeasuredRun:
    """Return a measurement of a pair whose drafts pass this often, where each layer costs a tenth of an iteration.

    The iterations near its end are shallow.
    """
    iterations, passed = [(depth, 0.01 * (1 + 0.1 * depth))] * 6 + [(0, 0.01)] * 6, round(1000 * continuation)
    return MeasuredRun(iterations, passed, 1000 - passed, 4.0, round(600 * expected_layers(continuation, depth)) + 600)


def test_the_best_of_many_estimates_has_to_win_once_more():
    """Catches a forest that only its first decodes made look fast."""
    seeds = list[int]()

    def lucky(one):
        seeds.append(one.seed)
        return run(0.9 if one.seed < auto.RUNS else 0.0, one.draft_depth)

    plan = value_of(make_plan(ALL, lucky, room=100))
    assert (plan.values["draft_depth"], plan.values["depth_costs"]) == (0, (1.0,))
    assert seeds[-2 * auto.DUELS :] == [auto.RUNS + number for number in range(auto.DUELS) for _ in range(2)]


@pytest.mark.parametrize("settings", EVERY)
@pytest.mark.parametrize("continuation", [0.7, 0.96, 0.99])
def test_measurements_go_as_deep_as_can_pay(settings, continuation):
    """Catches a plan that never leaves the measured depth, a deep one for text that no draft foresees, one beyond a
    limit of the page or against what the user chose, a run that repeats another's seed, a cost of a deep forest from
    its shallow iterations, and a division by a depth that no measurement reached where a prompt leaves little room."""
    for room in (1, 2, 5):
        little = value_of(make_plan(settings, lambda one, room=room: run(0.9, min(one.draft_depth, room - 1)), room))
        assert little.values["draft_depth"] < room
    runs = []
    plan = value_of(make_plan(settings, lambda one: runs.append(one) or run(continuation, one.draft_depth), room=100))
    bounds = {auto._shape(one): one.draft_depth for one in auto.largest_tried(settings)}
    assert {one.seed for one in runs} == set(range(auto.RUNS + auto.DUELS))
    assert all(one.draft_depth <= bounds.get(auto._shape(one), 0) for one in runs)
    deepest = plan.values["draft_depth"]
    (kind, width, cover) = auto._shape(replace(settings, **plan.values))
    assert deepest <= min(bounds[kind, width, cover], auto.DEEPEST, auto.MEASURED_NODES // (width + cover))
    fixed = {"forest": settings.kind_of_forest}
    fixed |= {name: getattr(settings, name) for name in AUTOMATIC if getattr(settings, name) != AUTO}
    chosen = vars(resolve(replace(settings, **plan.values)))
    assert settings.method != "dsbd" or {name: chosen[name] for name in fixed} == fixed
    if settings.draft_depth == AUTO:
        assert deepest == bounds[kind, width, cover] or continuation < 0.9
        costs = plan.values["depth_costs"]
        assert costs == pytest.approx([1 + 0.1 * depth for depth in range(deepest + 1)])


@pytest.mark.slow
@pytest.mark.parametrize("settings", [replace(ALL, replacement=False, cover_width=0), COUPLED, SPECULATIVE, SEARCHES])
def test_auto_is_measured_once_and_replays_exactly(settings):
    """Catches a plan that is not kept, is measured at every decode, or depends on the clock once resolved; one that
    nobody can stop; one of a decode too short to measure in; and guesses that change the text."""
    pair = replace(toy_pair())
    assert dsbd.decode(pair, "Once upon", replace(settings, max_new_tokens=1)).stats.layers == 1
    auto._plans.pop(pair)
    stop = Mock(side_effect=[False] * 39 + [True])
    with pytest.raises(dsbd.StoppedError):
        dsbd.stream(pair, "Once upon", settings, cancel=stop)
    assert (stop.call_count, known_plan(pair, settings)) == (40, None)
    seen = list(api.DecodeRequest(pair, "Once upon", settings).planning())
    assert [step.done for step in seen] == [*range(1, len(seen) + 1)]
    assert seen[-1].total - len(seen) in (0, 2 * auto.DUELS)  # nothing is tried again where no forest seems to pay
    assert list(api.DecodeRequest(pair, "Once upon", settings).planning()) == []
    result = dsbd.decode(pair, "Once upon", replace(settings, max_new_tokens=24), record=True)
    assert isinstance(result.settings, ResolvedSettings)
    assert dsbd.verify_trace(result.trace).failure is None
    again = dsbd.decode(pair, "Once upon", dsbd.DecodingSettings.from_dict(asdict(result.settings)))
    assert (again.beams, again.settings) == (result.beams, result.settings)
    plain = dsbd.decode(pair, "Once upon", method="beam_sampling", max_new_tokens=24)
    are_those = [beam.token_ids for beam in result.beams] == [beam.token_ids for beam in plain.beams]
    assert are_those == (settings is COUPLED)


def test_a_plan_that_drafts_nothing_is_beam_sampling():
    """Catches a decode that drafts nothing and still reads the prompt with the draft model, or keeps a cache for it,
    and a plan that changes the text."""
    plan = value_of(make_plan(COUPLED, lambda one: run(0.1, one.draft_depth), room=100))
    ours = dsbd.decode(toy_pair(), "Once upon", replace(COUPLED, **plan.values))
    plain = dsbd.decode(toy_pair(), "Once upon", dsbd.DecodingSettings(method="beam_sampling"))
    assert ours.beams == plain.beams
    assert (ours.stats.draft_calls, ours.stats.kv_peak_bytes) == (0, plain.stats.kv_peak_bytes)


def test_a_plan_is_kept_for_its_pair_and_settings_alone():
    """Catches a plan of another model or distribution; seed and length are shared."""
    pair, plan = replace(toy_pair()), choose_forest(ALL, [BASELINE, GOOD])
    auto._plans[pair] = {(auto._shared(ALL), False): plan}
    assert known_plan(pair, replace(ALL, seed=7, max_new_tokens=9, length_penalty=0.5)) == plan
    assert list(api.DecodeRequest(pair, "Once upon", ALL).planning()) == []
    assert known_plan(pair, replace(ALL, temperature=0.5)) is None
    assert known_plan(pair, ALL, Known([[1]])) is None
    assert known_plan(replace(pair, draft=pair.target), ALL) is None
