"""What-if decides again from the recorded numbers, and follows the law of the residual."""

import pytest

from tests.visualize.traces import OPEN, TRACES, scene_of
from visualize import scene_json

WITHOUT_REPLACEMENT = {"3-without-replacement.json.gz", "chance", "distinct-tree"}
ASK = (
    OPEN
    + """
const {whatIf} = await load("law/what_if.js");
return given.asked.map(([at, changes]) => {
  const iteration = new Iteration(given.scene.iterations[at]);
  if (given.bare) iteration.trials.forEach((trial) => (trial.acceptance = null));
  return whatIf(iteration, given.scene.settings, changes);
});"""
)


def answers(modules, name, asked, bare=False):
    """Return what the viewer answers; ``bare`` hides the recorded acceptance probabilities from it."""
    return modules.run(ASK, {"scene": scene_json(scene_of(name)), "asked": asked, "bare": bare})


@pytest.mark.parametrize("name", TRACES)
def test_without_a_change_everything_follows(modules, name):
    """Catches other verdicts for the recorded numbers: then answers for other numbers mean nothing."""
    trace = TRACES[name]
    found = answers(modules, name, [(at, {}) for at in range(len(trace.iterations))])
    for iteration, answer in zip(trace.iterations, found, strict=True):
        assert answer["stop"] is None
        if any(trial.joint for trial in iteration.trials):
            assert answer["layers"] == []  # without random numbers there is nothing to decide again
            continue
        assert [layer["width"] for layer in answer["layers"]] == [layer.width for layer in iteration.layers]
        again = [one["verdict"] for layer in answer["layers"] for one in layer["verdicts"]]
        assert again == [trial.verdict for trial in iteration.trials]


def test_traces_with_and_without_replacement_are_told_apart():
    """Catches a trace that the next test would leave out, or ask about what it does not record."""
    assert {name for name in TRACES if not TRACES[name].settings.replacement} == WITHOUT_REPLACEMENT


@pytest.mark.parametrize("name", [name for name in TRACES if name not in WITHOUT_REPLACEMENT])
def test_what_if_recomputes_the_acceptance_the_trace_recorded(modules, name):
    """Catches a wrong c or S: the residual computed from the chain must be the recorded one."""
    trace = TRACES[name]
    found = answers(modules, name, [(at, {}) for at in range(len(trace.iterations))], bare=True)
    for iteration, answer in zip(trace.iterations, found, strict=True):
        for one in (one for layer in answer["layers"] for one in layer["verdicts"]):
            recorded = iteration.trials[one["trial"]].acceptance
            assert one["acceptance"] == (None if recorded is None else pytest.approx(recorded, abs=1e-9))


def test_another_random_number_changes_what_follows(modules):
    """Catches an answer that goes on where the recorded numbers no longer apply."""
    iteration = TRACES["toy"].iterations[0]
    trial = next(at for at, one in enumerate(iteration.trials) if one.verdict == "rejected" and one.acceptance > 0)
    (answer,) = answers(modules, "toy", [(0, {"uniforms": {trial: 0.0}})])
    last = answer["layers"][-1]
    assert {one["trial"]: one["verdict"] for one in last["verdicts"]}[trial] == "accepted"
    assert answer["stop"] == {"layer": last["layer"], "reason": "beams"}


@pytest.mark.parametrize("name", [name for name in TRACES if not TRACES[name].iterations[0].beginnings])
def test_other_widths_follow_the_recorded_chances(modules, name):
    """Catches a threshold read from the wrong side, and a least width that nobody asks."""
    trace = TRACES[name]
    if any(trial.joint for trial in trace.iterations[0].trials):
        return  # a joint test decides again nothing
    changes = [{"width_threshold": 1.0}, {}, {"width_threshold": 0.0}, {"min_width": trace.settings.max_width}]
    found = answers(modules, name, [(0, change) for change in changes])
    strict, recorded, lax, wide = (answer["layers"][0]["width"] for answer in found)
    assert strict <= recorded <= lax <= wide
    if trace.iterations[0].layers[0].kind != "bonus" and trace.settings.min_width < recorded:
        assert strict < wide
