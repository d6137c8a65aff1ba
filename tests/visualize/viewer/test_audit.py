"""The evidence badge: the browser decides everything again, and names what was tampered with."""

import json
import random
from dataclasses import replace

import pytest

from dsbd.tracing.audit import AuditReport, verify_trace
from dsbd.tracing.trace import Trace, canonical_digest
from tests.tracing.alterations import ALTERATIONS, alter
from tests.visualize.traces import OPEN, RECORDED, TRACES
from visualize import SceneBuilder, build_scene, scene_json
from visualize.scenes import to_json

RECHECK = (
    OPEN
    + """
    const {recheck} = await load("law/audit.js");
    return given.iterations.map((packed) => recheck(new Iteration(packed), given.settings));"""
)


@pytest.mark.parametrize("name", [name for name in TRACES if name != "nasty"])
def test_every_decision_of_a_true_trace_follows_in_the_browser(modules, name):
    trace = TRACES[name]
    reports = modules.run(RECHECK, scene_json(build_scene(trace)))
    assert [report["failure"] for report in reports] == [None] * len(trace.iterations)
    for report, iteration in zip(reports, trace.iterations, strict=True):
        decided = (*iteration.trials, *iteration.draws, *iteration.beginnings)
        assert report["checks"] == len(decided) + 3 * len(iteration.layers)


@pytest.mark.parametrize(("name", "field"), [("ruled", "width"), ("chance", "width"), ("chance", "width_uniform")])
def test_a_width_without_drafts_is_decided_in_the_browser(modules, name, field):
    """Catches a badge that takes any width where nothing was drafted."""
    trace = TRACES[name]
    layer = trace.iterations[0].layers[0]
    other = layer.width + 1 if field == "width" else (layer.width_uniform + 0.5) % 1.0
    first = replace(trace.iterations[0], layers=[replace(layer, **{field: other})])
    packed = scene_json(build_scene(replace(trace, iterations=[first, *trace.iterations[1:]])))
    assert modules.run(RECHECK, packed)[0]["failure"] == {"layer": 1, "what": "width", "place": -1}


def tampered(trace: Trace, kind: str, seed: int) -> tuple[Trace, int] | None:
    """The trace with one decision changed, and its iteration."""
    chance = random.Random(seed)
    at = chance.randrange(len(trace.iterations))
    iteration = trace.iterations[at]
    if kind == "uniform":
        places = [place for place, trial in enumerate(iteration.trials) if trial.acceptance and trial.acceptance < 1]
        if not places:
            return None
        place = chance.choice(places)
        trial = iteration.trials[place]
        other = trial.acceptance / 2 if trial.verdict == "rejected" else (1 + trial.acceptance) / 2
        trials = [*iteration.trials]
        trials[place] = replace(trial, uniform=other)
        changed = replace(iteration, trials=trials)
    elif kind == "verdict":
        places = [place for place, trial in enumerate(iteration.trials) if trial.verdict == "rejected"]
        if not places:
            return None
        trials = [*iteration.trials]
        place = chance.choice(places)
        trials[place] = replace(trials[place], verdict="accepted")
        changed = replace(iteration, trials=trials)
    elif kind == "width":
        layers = [*iteration.layers]
        place = chance.randrange(len(layers))
        layers[place] = replace(layers[place], width=layers[place].width + 1)
        changed = replace(iteration, layers=layers)
    else:
        if not iteration.draws:
            return None
        draws = [*iteration.draws]
        place = chance.randrange(len(draws))
        draws[place] = replace(
            draws[place], uniform=(draws[place].cdf_high + 1) / 2 if draws[place].cdf_high < 1 else 0.0
        )
        if draws[place].cdf_low <= draws[place].uniform < draws[place].cdf_high:
            return None
        changed = replace(iteration, draws=draws)
    iterations = [*trace.iterations]
    iterations[at] = changed
    bare = replace(trace, iterations=iterations, digest="")
    return replace(bare, digest=canonical_digest(bare)), at


@pytest.mark.parametrize("kind", ["uniform", "verdict", "width", "draw"])
@pytest.mark.parametrize("name", RECORDED)
def test_a_tampered_decision_is_named(modules, name, kind):
    """Catches a badge that checks the digest only: here the digest of the changed trace is right."""
    for seed in range(4):
        found = tampered(TRACES[name], kind, seed)
        if found is None:
            continue
        trace, at = found
        report = verify_trace(trace)
        assert not report.passed
        failures = [one["failure"] for one in modules.run(RECHECK, scene_json(build_scene(trace)))]
        assert failures[at] is not None, report.failure
        assert [place for place, failure in enumerate(failures) if failure] == [at]
        assert f"iteration {at + 1}, layer {failures[at]['layer']}" in report.failure


def test_a_distribution_that_does_not_follow_from_the_chain_is_named(modules):
    """Catches a browser that checks the recorded distribution against itself."""
    trace = TRACES["toy"]
    layer = trace.iterations[0].layers[0]
    shifted = [layer.accepted_distribution[0] + 0.01, layer.accepted_distribution[1] - 0.01]
    changed = replace(layer, accepted_distribution=shifted + layer.accepted_distribution[2:])
    first = replace(trace.iterations[0], layers=[changed, *trace.iterations[0].layers[1:]])
    packed = scene_json(build_scene(replace(trace, iterations=[first, *trace.iterations[1:]])))
    failures = [report["failure"] for report in modules.run(RECHECK, packed)]
    assert failures[0] == {"layer": 1, "what": "width", "place": -1}
    assert failures[1:] == [None] * (len(failures) - 1)


JOINT = [what for what in ALTERATIONS if what.startswith("joint")]


def test_the_browser_decides_a_joint_test_again(modules):
    """Catches a browser that takes the sums, the threshold or the verdicts of a joint test as recorded."""
    altered = [alter(TRACES["joint"], what) for what in JOINT]
    for what, trace in zip(JOINT, altered, strict=True):
        assert trace is not None
        assert any(report["failure"] for report in modules.run(RECHECK, scene_json(build_scene(trace)))), what


CONCLUSION = (
    OPEN
    + """
    const {recheck, conclusion} = await load("law/audit.js");
    const reports = given.decided.map(({iteration, settings}) => recheck(new Iteration(iteration), settings));
    return given.scenes.map(({evidence, places}) => conclusion(places.map((place) => reports[place]), evidence));"""
)


def decided_once(scenes: list[dict]) -> dict:
    """Scenes as ``CONCLUSION`` takes them: what several of them share is written once, and decided once."""
    places: dict[str, int] = {}
    decided: list[dict] = []

    def place(iteration: dict, settings: dict) -> int:
        one = {"iteration": iteration, "settings": settings}
        if (text := json.dumps(one)) not in places:
            places[text] = len(decided)
            decided.append(one)
        return places[text]

    told = [
        {"evidence": one["evidence"], "places": [place(iteration, one["settings"]) for iteration in one["iterations"]]}
        for one in scenes
    ]
    return {"scenes": told, "decided": decided}


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.slow
def test_the_badge_and_verify_trace_say_the_same_of_every_alteration(modules, name, monkeypatch):
    """Catches a page that shows a check mark over a trace that verify-trace refuses, and the other way round."""
    reports = []

    def verified(trace: Trace) -> AuditReport:
        reports.append(verify_trace(trace))
        return reports[-1]

    monkeypatch.setattr(to_json, "verify_trace", verified)
    altered = {what: alter(RECORDED[name], what) for what in ALTERATIONS}
    loaded = {what: trace for what, trace in altered.items() if trace is not None}
    assert len(loaded) > 30
    told = modules.run(CONCLUSION, decided_once([scene_json(build_scene(trace)) for trace in loaded.values()]))
    for what, found, report in zip(loaded, told, reports, strict=True):
        badge_passes = found["failure"] is None and found["told"] is None
        assert badge_passes == report.passed, what


def test_a_whole_scene_carries_what_the_audit_found_and_a_part_does_not():
    """Catches a scene of a running decode that is judged before it ends."""
    trace = next(iter(RECORDED.values()))
    report = verify_trace(trace)
    whole = scene_json(build_scene(trace))
    assert whole["evidence"] == {"passed": True, "checks": report.checks, "failure": None}
    builder = SceneBuilder(trace.prompt, trace.settings)
    builder.add(trace.iterations[0])
    assert scene_json(builder.scene())["evidence"] is None
