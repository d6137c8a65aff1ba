"""A forged trace with a digest that fits: what is altered is refused, caught, or listed as sealed only."""

import random
from collections import Counter

import pytest

import dsbd
from dsbd.assets import asset_path
from dsbd.settings import METHODS
from dsbd.tracing.audit import follows
from dsbd.tracing.records import ROOT
from dsbd.tracing.sealed import THE_END, sealed_only
from dsbd.tracing.trace import Trace
from tests.tracing.forger import Forger, answer, resealed, sealed_places
from tests.tracing.toys import toy_traces


@pytest.mark.parametrize(
    ("count", "some"),
    [(60, 1), pytest.param(400, None, marks=pytest.mark.slow)],
    ids=["few", "many"],
)
@pytest.mark.parametrize("method", METHODS)
def test_no_altered_value_passes_unlisted(method, count, some):
    """Catches a field of any record that can be altered, with a new digest, without a word in the report."""
    seen = Counter[str]()
    for trace in toy_traces(method, some):
        assert dsbd.verify_trace(trace).failure is None
        forger, sealed = Forger(trace, random.Random(17)), sealed_places(trace)
        seen.update(answer(forger.alter(), trace, sealed) for _ in range(count))
    assert seen["caught"] > count / 4
    assert set(seen) <= {"caught", "refused", "sealed", "same"}


RECORDED = "6-beam-sampling.json.gz"
SHAPES = {
    "nothing is known": (0.0, lambda node: None),
    "only what is kept is unknown": (0.0, lambda node: None if node["target_prob"] else node["target_log_prob"]),
    "beams so unlikely that any digit is rounding": (-1e15, lambda node: -1e15 if node["parent"] == ROOT else -1.0),
    "beams so unlikely that their sum is infinite": (-1e300, lambda node: -1e300),
}


def with_invented_weights(data, far, log_prob):
    """Other log-weights everywhere, each as often as its beam is named, another ranking and another returned text."""

    def invent(beam):
        beam["log_weight"] = far - beam["node"] * 7 % 13 / 10

    for iteration in data["iterations"]:
        for node in iteration["nodes"]:
            node["target_log_prob"] = log_prob(node)
        for layer in (iteration, *iteration["layers"]):
            for name in ("input_beams", "output_beams", "beams"):
                for beam in layer.get(name, []):
                    invent(beam)
    data["iterations"][0]["input_beams"][0]["log_weight"] = 0.0
    result, penalty = data["result"], data["settings"]["length_penalty"]
    for beam in result["beams"]:
        invent(beam)
        beam["score"] = beam["log_weight"] / max(len(beam["token_ids"]), 1) ** penalty
    result["beams"].sort(key=lambda beam: -beam["score"])
    result["text"], result["token_ids"] = result["beams"][0]["text"], result["beams"][0]["token_ids"]
    result["stats"]["new_tokens"] = len(result["token_ids"])


@pytest.mark.parametrize("shape", SHAPES)
@pytest.mark.parametrize("which", [RECORDED, "dsbd", "beam_sampling", "beam_search", "speculative_beam_search"])
def test_invented_log_weights_are_caught(which, shape):
    """Catches a tolerance that grows with the numbers themselves, and a kept beam that the target finds impossible."""
    trace = Trace.load(asset_path("traces") / RECORDED) if which == RECORDED else toy_traces(which, 1)[0]
    data = trace.to_dict()
    with_invented_weights(data, *SHAPES[shape])
    report = dsbd.verify_trace(resealed(data))
    assert not report.passed
    assert "digest" not in report.failure


@pytest.mark.parametrize("method", METHODS)
def test_the_list_is_short_and_leaves_something_to_prove(method):
    """Catches a list that nobody reads, and one that names whole parts of a decode."""
    lines = sealed_only(toy_traces(method, 1)[0], follows)
    assert len(lines) <= 30
    assert all(line.places and len(line.words) < 120 for line in lines)
    wholes = {place for line in lines for place in line.places if len(place) == 1}
    assert wholes <= {("software",), ("models",), ("prompt",), THE_END, ("another block",)}
