"""The scene of the toy decode says what the trace says."""

import re
from dataclasses import replace

import pytest

from dsbd.errors import TraceError
from dsbd.tracing.records import path_to
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of
from visualize import SceneBuilder
from visualize.look.states import YIELDED
from visualize.scenes.build import build_scene
from visualize.scenes.records import Change, Fact

TRACE = toy_trace()
SCENE = scene_of("toy")
REJECTED = "rejected. Its chance was 0.18; the random number, 0.69, is not below it"
DETAIL = "u = 0.69 ≥ 0.18 = P′/Q; P′ = 0.0029, Q = 0.016"


def test_adding_iterations_one_by_one_gives_the_same_scene():
    builder = SceneBuilder(TRACE.prompt, TRACE.settings, title="dsbd", models=["toy-target", "toy-draft"])
    for iteration, scene in zip(TRACE.iterations, SCENE.iterations, strict=True):
        assert builder.add(iteration) == scene
    assert builder.scene(TRACE.result) == SCENE
    newest = builder.scene(last=1)
    assert [entry.index for entry in newest.iterations] == [TRACE.iterations[-1].index]
    assert newest.tokens == SCENE.tokens
    assert builder.scene(last=99).iterations == SCENE.iterations


def test_one_trial_step_whole():
    scene = SCENE.iterations[0]
    step = scene.steps[5]
    node = scene.nodes[step.focus]
    assert step.sentence == f"Token 1, guess 1 of 5, “␣said”: {REJECTED}."
    assert step.changes == (Change(step.focus, "rejected", 0, False),)
    assert node.facts[0] == Fact(5, "rejected", "guess 1 of 5", REJECTED, DETAIL)


@pytest.mark.parametrize("name", ["toy", "other", "wide", "narrow", "likely"])
def test_the_text_of_a_beam_is_the_recorded_text(name):
    trace = toy_trace(name)
    scene = build_scene(trace)
    tokens = {token.id: token for token in scene.tokens}
    for beam in trace.result.beams:
        path = [tokens[node.id] for node in path_to(beam.node, trace.node_index())]
        assert {token.origin for token in path} <= set(YIELDED)
        said = "".join(token.text for token in path) + path[-1].pending
        end = "<end>" if beam.finished else ""
        assert re.sub("(⟨.*⟩)", "\ufffd", said) == beam.text + end


def test_scenes_without_a_forest_and_without_iterations():
    scene = build_scene(toy_trace("plain"))
    assert [step.phase for step in scene.iterations[1].steps][:2] == ["score", "width"]
    assert {node.state for node in scene.iterations[1].nodes} == {"input", "bonus"}
    empty = SceneBuilder(None).scene()
    assert empty.iterations == empty.tokens == empty.prompt == ()
    assert empty.statistics.acceptance_rate is None


def test_an_iteration_whose_past_is_missing_says_so():
    naming = next(iteration for iteration in TRACE.iterations[1:] if iteration.trials)
    lost = replace(naming, trials=[replace(naming.trials[0], node=10**6)])
    with pytest.raises(TraceError, match="add the earlier iterations first"):
        SceneBuilder(None).add(lost)
