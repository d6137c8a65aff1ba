"""What a recorded trace proves: an altered field does not follow, or the audit says that only the digest seals it."""

import copy
from collections import Counter
from dataclasses import replace
from functools import cache

import pytest

import dsbd
from dsbd.assets import asset_path
from dsbd.errors import TraceError
from dsbd.tracing.records import ROOT
from dsbd.tracing.trace import Trace, canonical_digest
from tests.command_line import run
from tests.tracing.forger import Forger, answer, holds, resealed, sealed_places
from tests.tracing.toys import toy_traces
from tests.visualize.toy import FOLDER

SMALL = {path.name.removesuffix(".json.gz"): path for path in FOLDER.glob("*.gz")}
RECORDED = {path.name: path for name in ("traces", "lessons/traces") for path in asset_path(name).glob("*.gz")}
TRACES = SMALL | RECORDED
VARIED = ("likely", "block", "distinct-tree")
"""What the defaults of the methods do not have."""
BEAM_SAMPLING = "6-beam-sampling.json.gz"


@cache
def trace_of(name: str) -> Trace:
    return Trace.load(TRACES[name])


@pytest.mark.parametrize("name", sorted(TRACES))
def test_recorded_traces_follow_and_keep_their_digests(name):
    """Catches a false alarm of the audit, another digest, and a change that the digest does not see."""
    trace = trace_of(name)
    assert dsbd.verify_trace(trace).failure is None
    assert canonical_digest(trace) == trace.digest
    assert resealed(trace.to_dict()) == trace
    assert "digest" in dsbd.verify_trace(replace(trace, software={"python": "4"})).failure


def test_what_is_no_trace_is_refused_with_what_to_give():
    """Catches an AttributeError where the path of a trace is given in place of the trace."""
    with pytest.raises(TraceError, match=r"is not a trace; give dsbd\.Trace\.load\(path\), or the trace of a"):
        dsbd.verify_trace("trace.json.gz")


@pytest.mark.parametrize(
    "name",
    [*dsbd.METHODS, *(pytest.param(name, marks=[] if name in VARIED else [pytest.mark.slow]) for name in SMALL)],
)
def test_no_altered_value_passes_unlisted(name):
    """Catches a field of any record that can be altered, with a new digest, without a word in the report; of any method
    and verification."""
    trace = toy_traces(name, 1)[0] if name in dsbd.METHODS else trace_of(name)
    sealed = sealed_places(trace)
    said = Counter(answer(altered, trace, sealed) for altered in Forger(trace).alterations())
    assert said["caught"] > 100


@pytest.mark.parametrize(
    ("name", "kind"),
    [("toy", "trials"), ("tree", "trials"), ("block", "beginnings"), ("toy", "draws"), ("joint", "draws")],
)
def test_a_random_number_beyond_its_bound_is_caught(name, kind):
    """Catches an audit that takes a verdict or a draw as recorded: the list names every uniform, within its bounds."""
    data = trace_of(name).to_dict()
    for iteration in data["iterations"][:3]:
        for item in iteration[kind]:
            high = item["cdf_high"] if kind == "draws" else item["acceptance"]
            uniform = item["uniform"]
            if uniform is not None and 1e-3 < high < 0.999:
                item["uniform"] = (1 + high) / 2 if uniform < high else high / 2
                assert "digest" not in dsbd.verify_trace(resealed(data)).failure
                item["uniform"] = uniform


def test_a_random_width_follows_its_random_number():
    """Catches an audit that takes any width where nothing was drafted."""
    data = trace_of("chance").to_dict()
    layer = data["iterations"][1]["layers"][0]
    layer["width_uniform"] = (layer["width_uniform"] + 0.5) % 1.0
    assert "iteration 2" in dsbd.verify_trace(resealed(data)).failure


def test_a_block_that_cannot_be_is_refused_without_a_traceback():
    """Catches a division by a p of 0, or a chain that is read beyond its end."""
    plain = trace_of("block").to_dict()
    place = next(place for place, one in enumerate(plain["iterations"]) if len(one["beginnings"]) > 1)
    least = {"probability": 0.0, "rest": 1e-12, "acceptance": 1e-12, "uniform": 0.0}
    no_chain = {"chain_c": [0.0], "chain_S": [1.0], "acceptance_chain": [], "accepted_distribution": [1.0]}
    for change in (
        lambda iteration: iteration["beginnings"].clear(),
        lambda iteration: iteration["beginnings"].pop(),
        lambda iteration: [one.update(least) for one in iteration["beginnings"]],
        lambda iteration: [one.update(probability=1.0 + 1e-10, rest=1e-10) for one in iteration["beginnings"]],
        lambda iteration: iteration["layers"][0].update(draws_planned=0, **no_chain),
        lambda iteration: [trial.update(verdict="orphaned") for trial in iteration["trials"]],
    ):
        data = copy.deepcopy(plain)
        change(data["iterations"][place])
        assert dsbd.verify_trace(resealed(data)).failure is not None


SHAPES = {
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
@pytest.mark.parametrize("which", [BEAM_SAMPLING, "dsbd", "beam_search"])
def test_invented_log_weights_are_caught(which, shape):
    """Catches a tolerance that grows with the numbers themselves, and a kept beam that the target finds impossible."""
    data = (trace_of(which) if which == BEAM_SAMPLING else toy_traces(which, 1)[0]).to_dict()
    with_invented_weights(data, *SHAPES[shape])
    assert "digest" not in dsbd.verify_trace(resealed(data)).failure


FIELDS = {
    "iterations.draws.uniform", "iterations.layers.alternatives.text", "iterations.layers.alternatives.token_id",
    "iterations.nodes.bytes", "iterations.nodes.text", "iterations.nodes.token_id", "result.beams.text",
    "result.beams.token_ids", "result.stats.kv_peak_bytes", "result.stats.prefill_seconds", "result.text",
    "result.token_ids", "settings.continuation", "settings.num_beams", "settings.seed",
}  # fmt: skip
SETTINGS = {
    "joint": {"draft_width", "top_k", "top_p"},
    "tree": {"top_k", "top_p"},
    "block": {"top_k", "top_p", "depth_costs"},
    "4-cover-nodes.json.gz": {"depth_costs", "input_beams", "width_threshold"},
}
"""Settings that did not matter in a run, beside those of FIELDS."""
WHOLE = {("software",), ("models",), ("prompt",), ("iterations", "phases"), ("iterations", "kept")}


@pytest.mark.parametrize("name", SETTINGS)
def test_only_these_fields_are_sealed_wherever_they_stand(name):
    """Catches an audit that lists as sealed what it should decide: all other fields decide something in these runs."""
    places = sealed_places(trace_of(name))
    found = set()
    for kind, leaves in Forger(trace_of(name)).leaves.items():
        names = tuple(str(step) for step in kind if step != "*")
        if all(holds(places, place) for place in leaves) and not {names[:1], names[:2]} & WHOLE:
            found.add(".".join(names))
    assert found == FIELDS | {f"settings.{setting}" for setting in SETTINGS[name]}


def test_verify_trace_lists_what_is_sealed(capsys):
    """Catches a report that leaves the list out, and a fixed text: beam sampling has no drafts."""
    said = {}
    for name in (BEAM_SAMPLING, "1-dynamic-width.json.gz"):
        code, said[name], _ = run(capsys, "verify-trace", str(RECORDED[name]))
        assert code == 0
        assert "sealed by the digest only:\n  settings." in said[name]
    assert ["draft_log_prob" in out for out in said.values()] == [False, True]
