"""The evidence of a scene, and the badge that shows it, against verify-trace."""

from pathlib import Path

import pytest

from dsbd.tracing.audit import verify_trace
from tests.tracing.alterations import ALTERATIONS, alter
from tests.visualize.test_javascript import run_under_node
from tests.visualize.traces import RECORDED, trace_of
from visualize import SceneBuilder, scene_json
from visualize.scenes.build import build_scene


@pytest.mark.parametrize("name", RECORDED)
@pytest.mark.slow
def test_the_badge_and_verify_trace_say_the_same_of_every_alteration(name, tmp_path):
    """Catches a page that shows a check mark over a trace that verify-trace refuses, and the other way round."""
    altered = {what: alter(trace_of(name), what) for what in ALTERATIONS}
    scenes = [{"what": what, "scene": scene_json(build_scene(trace))} for what, trace in altered.items() if trace]
    assert len(scenes) > 30
    run_under_node([Path(__file__).parent / "law" / "alterations.test.js"], {"altered": scenes}, tmp_path)


def test_a_whole_scene_carries_what_the_audit_found_and_a_part_does_not():
    """Catches a scene of a running decode that is judged before it ends."""
    trace = trace_of(RECORDED[0])
    report = verify_trace(trace)
    whole = scene_json(build_scene(trace))
    assert whole["evidence"] == {"passed": True, "checks": report.checks, "failure": None}
    builder = SceneBuilder(trace.prompt, trace.settings)
    builder.add(trace.iterations[0])
    assert scene_json(builder.scene())["evidence"] is None
