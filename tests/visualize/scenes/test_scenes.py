"""The scene of the toy decode says what the trace says."""

import json
import re
from dataclasses import replace

import pytest

import visualize
from dsbd.errors import TraceError
from dsbd.tracing.records import path_to
from tests.visualize.toy import toy_trace
from tests.visualize.traces import scene_of
from visualize import SceneBuilder
from visualize.look.states import STATES, YIELDED
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


def test_the_steps_come_in_the_order_things_happened():
    phases = [step.phase for step in SCENE.iterations[0].steps]
    assert phases[:4] == ["draft", "draft", "draft", "score"]
    assert phases[4] == "width"
    assert phases[-2:] == ["layer", "commit"]
    for record, scene in zip(TRACE.iterations, SCENE.iterations, strict=True):
        counted = [step.phase for step in scene.steps]
        assert counted.count("trial") == len(record.trials)
        assert counted.count("draw") == len(record.draws)
        assert counted.count("width") == counted.count("layer") == len(record.layers)


def test_one_trial_step_whole():
    scene = SCENE.iterations[0]
    step = scene.steps[5]
    node = scene.nodes[step.focus]
    assert step.sentence == f"Token 1, guess 1 of 5, “␣said”: {REJECTED}."
    assert step.changes == (Change(step.focus, "rejected", 0, False),)
    assert node.facts[0] == Fact(5, "rejected", "guess 1 of 5", REJECTED, DETAIL)


def test_nodes_hold_what_the_steps_and_the_record_say():
    """Their last look, the multiplicity of each beam, the way to each kept beam, one column after the parent's."""
    for record, scene in zip(TRACE.iterations, SCENE.iterations, strict=True):
        looks = {change.node: change for step in scene.steps for change in step.changes}
        ends = {beam.node for beam in scene.beams_after}
        assert {beam.node for beam in record.output_beams} <= ends
        for place, node in enumerate(scene.nodes):
            look = looks[place]
            assert (node.state, node.slots, node.landed) == (look.state, look.slots, look.landed)
            assert node.state in STATES
            below = any(other.parent == place and other.kept for other in scene.nodes)
            assert node.kept == (below or node.id in ends)
            assert node.column == (scene.nodes[node.parent].column + 1 if node.parent >= 0 else 0)
            assert 0 <= node.row <= scene.last_row
            assert node.label_columns <= 14
        slots = {node.id: node.slots for node in scene.nodes if node.column > 0 and node.slots}
        assert slots == {beam.node: beam.multiplicity for layer in record.layers for beam in layer.beams}


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


def test_statistics_count_everything_once():
    counted = SCENE.statistics.to_dict()
    decided = [one.verdict for iteration in TRACE.iterations for one in iteration.trials]
    decided += [one.kind for iteration in TRACE.iterations for one in iteration.draws]
    names = ("accepted", "rejected", "orphaned", "unneeded", "recovered", "fresh", "bonus")
    assert {name: counted[name] for name in names} == {name: decided.count(name) for name in names}
    assert counted["layers_per_iteration"] == pytest.approx(24 / 7)


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


def table(packed):
    """Return the rows of a packed table as dicts; values that a row leaves out at its end are None."""
    return [dict.fromkeys(packed["fields"]) | dict(zip(packed["fields"], row, strict=False)) for row in packed["rows"]]


def test_the_packed_scene_is_plain_json_and_holds_every_node_and_step():
    packed = visualize.scene_json(SCENE)
    plain = json.loads(json.dumps(packed, allow_nan=False))
    assert plain == packed
    assert plain["format"] == "dsbd-scene/3"
    assert plain["language"] == "en"
    for record, scene, entry in zip(TRACE.iterations, SCENE.iterations, plain["iterations"], strict=True):
        nodes = table(entry["nodes"])
        assert [node["token"] or node["label"] for node in nodes] == [node.token for node in scene.nodes]
        for node, shown in zip(scene.nodes, nodes, strict=True):
            drawn = None if node.target_prob is None else pytest.approx(node.target_prob, rel=1e-5)
            assert shown["target_prob"] == (node.target_prob if node.kind == "drafted" else drawn)
        steps = table(entry["steps"])
        assert [(step["phase"], step["focus"]) for step in steps] == [(step.phase, step.focus) for step in scene.steps]
        trials, draws = table(entry["trials"]), table(entry["draws"])
        places = {node.id: place for place, node in enumerate(scene.nodes)}
        for items, recorded in ((trials, record.trials), (draws, record.draws)):
            for item, one in zip(items, recorded, strict=True):
                assert item == {name: places[one.node] if name == "node" else getattr(one, name) for name in item}
        for layer, one in zip(entry["layers"], record.layers, strict=True):
            assert layer["chain_S"] == one.chain_S
            assert [scene.nodes[place].id for place in layer["alive"]] == one.alive
