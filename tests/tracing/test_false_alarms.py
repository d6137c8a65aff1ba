"""Honest traces under any settings: each follows, loads again from its bytes, and can be drawn."""

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import dsbd
import visualize
from dsbd.models.rows import forest
from dsbd.tracing.trace import Trace
from tests.toy_pair import read_settings, toy_pair
from tests.tracing.toys import toy_traces

pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
any_settings = st.fixed_dictionaries(
    {
        "method": st.sampled_from(["dsbd"] * 9 + list(dsbd.METHODS)),
        "forest": st.sampled_from(["sampled", "sampled", "likely"]),
        "max_new_tokens": st.sampled_from([1, 3, 8]),
        "draft_depth": st.sampled_from([0, 1, 2, 4]),
        "draft_width": st.sampled_from([1, 2, 5, 20, 60]),
        "cover_width": st.sampled_from([0, 0, 3, 9]),
        "min_width": st.sampled_from([1, 1, 2, 8]),
        "max_width": st.sampled_from([None, 8, 12]),
        "num_beams": st.sampled_from([1, 3, 8]),
        "input_beams": st.sampled_from([None, None, 1, 2]),
        "width_threshold": st.sampled_from([0.0, 0.3, 0.7, 1.0]),
        "replacement": st.booleans(),
        "landing": st.booleans(),
        "temperature": st.sampled_from([0.0, 1e-310, 1e-7, 0.003, 0.005, 0.01, 0.03, 0.3, 0.7, 1.0, 3.0, 100.0]),
        "top_k": st.sampled_from([0, 0, 1, 2, 5, 50, 1000]),
        "top_p": st.sampled_from([1.0, 1.0, 0.95, 0.3, 0.01, 1e-300]),
        "length_penalty": st.sampled_from([0.0, 1.0, -10.0, 10.0]),
        "seed": st.integers(0, 2**31),
    }
)
prompts = st.sampled_from(["", "a", "Once upon a time", "\u00e9\U0001f600"])


def check(prompt: str, fields: dict) -> None:
    """Decode, and do with the trace what its reader may do."""
    trace = dsbd.decode(toy_pair(), prompt, read_settings(**fields), record=True).trace
    assert trace is not None
    read = Trace.loads(trace.dumps())
    assert read == trace
    assert dsbd.verify_trace(read).failure is None
    for place in {0, len(read.iterations) - 1}:
        assert visualize.forest_svg(read, iteration=place)
        assert visualize.forest_text(read, iteration=place)
    assert visualize.forest_text(read)


EDGES = [
    {"cover_width": 6, "min_width": 3, "max_width": 3, "replacement": False, "temperature": 0.7},
    {"landing": False, "top_p": 0.8, "input_beams": 1, "top_k": 0},
    {"top_k": 3, "replacement": False, "draft_width": 6, "min_width": 5},
    {"forest": "likely", "draft_width": 9, "temperature": 0.0, "replacement": False, "max_new_tokens": 24},
    {"forest": "likely", "draft_width": 9, "min_width": 4, "max_width": 4, "top_p": 0.9, "input_beams": 2},
    {"forest": "likely", "draft_width": 30, "width_threshold": 0.0, "top_k": 0},
    {"forest": "likely", "width_threshold": 0.0, "temperature": 0.0, "replacement": False, "top_k": 1},
    {"draft_width": 200, "min_width": 8, "max_width": 8, "replacement": False, "temperature": 0.005, "top_k": 0},
    {"width_threshold": 1.0, "length_penalty": 0.0, "max_new_tokens": 24},
    {"temperature": 1e-310, "draft_width": 8},
    {"temperature": 100.0, "top_k": 0, "width_threshold": 0.0},
    {"temperature": 1e-3, "replacement": False, "top_k": 0, "min_width": 4, "max_width": 4},
    {"temperature": 1e-310, "replacement": False, "draft_width": 4, "min_width": 3, "landing": False},
    {"top_p": 1e-300},
    {"method": "mjsd", "joint_threshold": 1e300},
    {"method": "specinfer", "temperature": 0.01, "replacement": False},
    {"top_p": 0.95, "replacement": False, "draft_width": 60, "cover_width": 9, "draft_depth": 1, "max_width": 8},
]


@pytest.mark.parametrize("fields", EDGES, ids=str)
def test_honest_traces_at_the_edges_follow(fields):
    """Catches a bound of the audit that rounding, a very cold or warm temperature, or a bound of a width exceeds."""
    check("Once", {"max_new_tokens": 6, "draft_depth": 2} | fields)


@pytest.mark.parametrize("method", dsbd.METHODS)
def test_honest_traces_of_every_method_follow(method):
    """The audit was written apart from the decoder: it agrees with every method and mode."""
    for trace in toy_traces(method):
        assert dsbd.verify_trace(trace).failure is None


@pytest.mark.parametrize("count", [15, pytest.param(120, marks=pytest.mark.slow)])
def test_no_settings_raise_a_false_alarm(count):
    """Catches an audit, a record or a drawing that fails at the edge of what settings allow."""
    how = settings(max_examples=count, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    how(given(prompts, any_settings)(check))()


def test_a_prompt_taken_in_parts_is_one_call(monkeypatch):
    """Catches a decoder and an audit that count the parts of a long prompt differently."""
    monkeypatch.setattr(forest, "PREFILL_TOKENS", 16)
    asked = dsbd.DecodingSettings(max_new_tokens=6, draft_depth=2)
    result = dsbd.decode(toy_pair(), "Once upon a time there was a small fox.", asked, record=True)
    assert result.trace is not None
    assert len(result.trace.prompt.pieces) > 2 * 16
    assert result.stats.target_calls == result.stats.iterations + 1
    assert dsbd.verify_trace(result.trace).failure is None
