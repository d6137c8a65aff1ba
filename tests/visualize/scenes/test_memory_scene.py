"""The scene of a prompt behind a memory, and none for a prompt that is read whole."""

import pytest

import visualize
from tests.visualize.remembered import SENSORY, remembered
from tests.visualize.toy import toy_trace


def test_the_scene_says_what_the_trace_says():
    trace = remembered()
    packed = visualize.scene_json(visualize.scene(trace))["memory"]
    assert packed["sensory"] == SENSORY
    recorded = trace.prompt.memory.segments
    assert [one["tokens"] for one in packed["segments"]] == [one.tokens for one in recorded]
    assert [one["first_memory"] for one in packed["segments"]] == [one.first_memory for one in recorded]
    for shown, one in zip(packed["segments"], recorded, strict=True):
        assert shown["weights"] == pytest.approx(one.weights, rel=1e-5)
    assert packed["segments"][5]["text"].startswith("6. \u27e8U+0000\u27e9\u23ce\nOnce upon")  # NUL is made visible


def test_a_prompt_that_is_read_whole_has_no_memory():
    """Catches a field of None, which would change every page that was written before."""
    assert "memory" not in visualize.scene_json(visualize.scene(toy_trace()))
