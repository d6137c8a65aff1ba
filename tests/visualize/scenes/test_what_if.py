"""What-if: the browser and Python give equal answers, and both follow the law of the residual."""

import random
from dataclasses import replace

import pytest

from dsbd.tracing.trace import Trace
from tests.visualize.traces import OPEN, TRACES, scene_of
from visualize import scene_json, what_if

WITHOUT_REPLACEMENT = {"3-without-replacement.json.gz", "chance", "distinct-tree"}


def questions(trace: Trace, iteration: int, count: int) -> list[dict]:
    """Make random changes of the settings and of up to three random numbers."""
    chance = random.Random(iteration)
    trials = trace.iterations[iteration].trials
    asked = [{"width_threshold": trace.settings.width_threshold}]
    for _ in range(count):
        change = {}
        if chance.random() < 0.5:
            change["width_threshold"] = chance.random()
        if chance.random() < 0.3:
            change["min_width"] = chance.randint(1, 5)
        if trials:
            places = chance.sample(range(len(trials)), min(len(trials), chance.randint(0, 3)))
            change["uniforms"] = {place: chance.random() for place in places}
        asked.append(change)
    return asked


@pytest.mark.parametrize("name", TRACES)
def test_both_answer_what_if_alike(modules, name):
    trace = TRACES[name]
    packed = scene_json(scene_of(name))
    for at, iteration in enumerate(trace.iterations[:8]):
        asked = questions(trace, at, 25)
        answers = modules.run(
            OPEN + """
            const {whatIf} = await load("law/what_if.js"), iteration = new Iteration(given.iteration);
            return given.asked.map((changes) => whatIf(iteration, given.settings, changes));""",
            {"iteration": packed["iterations"][at], "settings": packed["settings"], "asked": asked},
        )  # fmt: skip
        for change, answer in zip(asked, answers, strict=True):
            expected = what_if(iteration, trace.settings, **change)
            assert answer["stop"] == (expected.stop and {"layer": expected.layers[-1].layer, "reason": expected.stop})
            for shown, layer in zip(answer["layers"], expected.layers, strict=True):
                assert (shown["layer"], shown["width"]) == (layer.layer, layer.width)
                assert [(one["trial"], one["verdict"]) for one in shown["verdicts"]] == [
                    (one.trial, one.verdict) for one in layer.verdicts
                ]
                assert [one["acceptance"] for one in shown["verdicts"]] == [
                    None if one.acceptance is None else pytest.approx(one.acceptance, rel=1e-12)
                    for one in layer.verdicts
                ]


@pytest.mark.parametrize("name", TRACES)
def test_without_a_change_everything_follows(name):
    """Catches other verdicts for the recorded numbers: then answers for other numbers mean nothing."""
    trace = TRACES[name]
    for iteration in trace.iterations:
        answer = what_if(iteration, trace.settings)
        assert answer.stop is None
        if any(trial.joint for trial in iteration.trials):
            assert answer.layers == ()  # without random numbers there is nothing to decide again
            continue
        assert [layer.width for layer in answer.layers] == [layer.width for layer in iteration.layers]
        again = [one.verdict for layer in answer.layers for one in layer.verdicts]
        assert again == [trial.verdict for trial in iteration.trials]


def test_traces_with_and_without_replacement_are_told_apart():
    """Catches a trace that the next test would leave out, or ask about what it does not record."""
    assert {name for name in TRACES if not TRACES[name].settings.replacement} == WITHOUT_REPLACEMENT


@pytest.mark.parametrize("name", [name for name in TRACES if name not in WITHOUT_REPLACEMENT])
def test_what_if_recomputes_the_acceptance_the_trace_recorded(name):
    """Catches a wrong c or S: the residual computed from the chain must be the recorded one."""
    trace = TRACES[name]
    for iteration in trace.iterations:
        bare = replace(iteration, trials=[
            trial if trial.acceptance is None else replace(trial, acceptance=None) for trial in iteration.trials
        ])  # fmt: skip
        for layer in what_if(bare, trace.settings).layers:
            for one in layer.verdicts:
                recorded = iteration.trials[one.trial].acceptance
                assert one.acceptance == (None if recorded is None else pytest.approx(recorded, abs=1e-9))


def test_what_if_by_hand():
    """Catches a lower threshold that does not widen the layer; the unneeded draft has no random number."""
    trace = TRACES["toy"]
    iteration = trace.iterations[0]
    trial = next(at for at, one in enumerate(iteration.trials) if one.verdict == "rejected" and one.acceptance > 0)
    answer = what_if(iteration, trace.settings, uniforms={trial: 0.0})
    layer = next(layer for layer in answer.layers if trial in [one.trial for one in layer.verdicts])
    assert next(one.verdict for one in layer.verdicts if one.trial == trial) == "accepted"
    assert answer.stop == "beams"
    assert answer.layers[-1] == layer
    for bad, message in (
        ({"width_threshold": 2}, "width_threshold is 2"), ({"min_width": 0}, "min_width is 0"),
        ({"uniforms": {0: 1.0}}, "the uniform of trial 0 is 1.0"), ({"uniforms": {999: 0.1}}, "there is no trial 999"),
    ):  # fmt: skip
        with pytest.raises(ValueError, match=message):
            what_if(iteration, trace.settings, **bad)
