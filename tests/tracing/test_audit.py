"""What a trace proves: golden and honest traces follow under any settings, and an altered field does not."""

import json
from dataclasses import replace
from functools import cache

import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as how_often
from hypothesis import strategies as st

import dsbd
import visualize
from dsbd.errors import TraceError
from dsbd.models.making import make_pair
from dsbd.tracing.trace import Trace, canonical_digest
from dsbd.util import asset_path
from tests.toy_pair import OTHER, SPREAD, fitting, llama_2_tokenizer, read_settings, toy_pair, toy_tokenizer, toy_traces
from tests.visualize.traces import FOLDER

GOLDEN = {
    path.name.removesuffix(".json.gz"): path
    for folder in (FOLDER, asset_path("traces"), asset_path("lessons/traces"))
    for path in sorted(folder.glob("*.gz"))
}


@cache
def trace_of(name: str) -> Trace:
    if name == "cold":
        cold = dsbd.DecodingSettings(max_new_tokens=2, draft_depth=0, min_width=4, replacement=False, temperature=1e-3)
        return dsbd.decode(toy_pair(), "Once", cold, record=True).trace
    if name == "stopped":  # inside its third iteration, by the default early_stopping
        chosen = dsbd.DecodingSettings(max_new_tokens=12, draft_depth=3, min_width=3, max_width=3, seed=9)
        often = replace(toy_pair(), eos=frozenset(range(0, 256, 3)))
        return dsbd.decode(often, "Once", chosen, record=True).trace
    method, _, every = name.partition(" ")
    number = int(every) if every.isdecimal() else 2 * bool(every)
    return Trace.load(GOLDEN[name]) if name in GOLDEN else toy_traces(method)[number]


def resealed(data) -> Trace:
    """The trace with a digest that fits."""
    trace = Trace.from_dict(data)
    return replace(trace, digest=canonical_digest(trace))


@pytest.mark.parametrize("name", [*GOLDEN, "stopped"])
def test_golden_traces_follow_and_keep_their_digests(name):
    """Catches a false alarm of the audit, another digest, and a change that the digest does not see."""
    trace = trace_of(name)
    assert dsbd.verify_trace(trace).failure is None
    assert canonical_digest(trace) == trace.digest
    assert resealed(trace.to_dict()) == trace
    assert "digest" in dsbd.verify_trace(replace(trace, software={"python": "4"})).failure


def require_refused(data):
    """A trace that does not follow, whatever its digest."""
    failure = dsbd.verify_trace(resealed(data)).failure
    assert failure is not None
    assert "digest" not in failure


def after_rejection(one):
    return one["c"] and one["S"] > 0.1 and one.get("verdict") != "orphaned"


ALTERED = [
    # trace, list, the change
    ("distinct-tree", "draws", {"S": 0.0, "cdf_low": 0.0, "cdf_high": 1.0}),
    ("3-without-replacement", "draws", {"S": 0.0, "cdf_low": 0.0, "cdf_high": 1.0}),
    ("3-without-replacement", "trials", {"S": 0.0, "acceptance": 1.0}),
]


@pytest.mark.parametrize(("name", "kind", "change"), ALTERED)
def test_nothing_left_is_no_way_out(name, kind, change):
    """Catches an audit that takes what it cannot compute, behind an S that says so, as recorded."""
    data = trace_of(name).to_dict()
    next(one for part in data["iterations"] for one in part[kind] if after_rejection(one)).update(change)
    require_refused(data)


def settings(**changes):
    return lambda data: data["settings"].update(changes)


def drawn_elsewhere(data):
    """Give another Q to the draw of a pair that is also listed among the likeliest."""
    for iteration in data["iterations"]:
        nodes = {node["id"]: node for node in iteration["nodes"] if node["kind"] == "drawn"}
        listed = {(pair["parent"], pair["token_id"]) for layer in iteration["layers"] for pair in layer["alternatives"]}
        for draw in iteration["draws"]:
            node = nodes.get(draw["node"])
            if node and draw["kind"] != "bonus" and (node["parent"], node["token_id"]) in listed:
                draw["draft_prob"] += 0.01


def end_beyond_one(data):
    """Let an interval end beyond 1 where so little of P is left that its width follows from nothing else."""
    draws = (one for iteration in data["iterations"] for one in iteration["draws"])
    next(one for one in draws if one["S"] < 1e-280).update(cdf_low=0.6, uniform=0.7, cdf_high=1.5)


def without_a_space(data):
    beam = data["result"]["beams"][1]
    beam["text"] = beam["text"][0] + beam["text"][1:].replace(" ", "", 1)


UNSEEN = ("branching", "depth_costs", "continuation", "early_stopping", "forest", "top_k", "top_p", "cover_width")
"""Settings that change nothing in this trace, or with which it cannot be read."""
WHOLE = [
    ("toy", drawn_elsewhere),
    ("coupled", lambda data: data.update(seed=2) or data["settings"].update(seed=2)),
    ("coupled", lambda data: data["prompt"]["pieces"][0].update(token_id=7)),
    ("mjsd", settings(temperature=1.000001)),
    ("cold", end_beyond_one),
    ("coupled", settings(forest="sampled")),
    ("toy", without_a_space),
    *(("stopped", settings(early_stopping=other)) for other in (True, "never", None)),
    *(("toy", settings(**{name: OTHER[name]})) for name in OTHER if name not in UNSEEN),
]


@pytest.mark.parametrize(("name", "change"), WHOLE)
def test_a_trace_altered_as_a_whole_is_refused(name, change):
    """Catches an audit without the ranking, the statistics, a setting, or the size of the log-weights."""
    data = trace_of(name).to_dict()
    change(data)
    require_refused(data)


@pytest.mark.parametrize("method", ["sampling", "beam_sampling", "dsbd"])
def test_where_an_answer_ends_is_decided_again(method):
    """Catches an answer that ends too early or too late, at no text that was given, or with another text."""
    asked = dsbd.DecodingSettings(method=method, max_new_tokens=16, seed=3)
    whole = dsbd.decode(toy_pair(), "Once", asked, record=True)
    at = whole.text[3]
    ended = dsbd.decode(toy_pair(), "Once", asked, stop=at, record=True)
    early, late, text = ended.trace.to_dict(), whole.trace.to_dict(), ended.text
    assert early["stop"] == [at]
    assert text == whole.text[: whole.text.index(at)]
    assert early == Trace.loads(ended.trace.dumps().decode()).to_dict()
    other = [one | {"text": f"{place}{at}"} for place, one in enumerate(early["result"]["beams"])]
    claims = {"iterations": late["iterations"], "result": late["result"] | {"text": text}}
    goes_on = "verification goes on" if method == "dsbd" else "tokens decoded"
    for failed, changes in (
        (goes_on, {"stop": [], "result": early["result"] | {"text": early["result"]["beams"][0]["text"]}}),
        (goes_on, {"stop": ["no such text"], "result": early["result"] | {"text": whole.text[:9]}}),
        *[("tokens decoded", {"result": early["result"] | {"text": "0", "beams": other}})] * (len(other) > 1),
        ("returned text", {"result": early["result"] | {"text": text + "!"}}),
        ("the answer has ended", claims),
    ):
        assert failed in dsbd.verify_trace(resealed(early | changes)).failure, failed
    letters = [chr(code) for code in range(33, 127)]  # at them, beams end with texts that differ
    several = dsbd.decode(toy_pair(), "Once", replace(asked, seed=0), stop=letters, record=True).trace
    assert dsbd.verify_trace(several).failure is None


def test_what_is_no_trace_is_refused_with_what_to_give():
    with pytest.raises(TraceError, match=r"is not a trace; give dsbd\.Trace\.load\(path\), or the trace of a"):
        dsbd.verify_trace("trace.json.gz")


pytestmark = pytest.mark.filterwarnings("error::RuntimeWarning")
any_settings = st.fixed_dictionaries(
    {name: st.sampled_from(values) for name, values in SPREAD.items()}
    | {
        "method": st.sampled_from(["dsbd"] * 9 + list(dsbd.METHODS)),
        "max_new_tokens": st.sampled_from([1, 3, 8]),
        "draft_depth": st.sampled_from([0, 1, 2, 4]),
        "draft_width": st.sampled_from([1, 2, 5, 20, 60]),
        "cover_width": st.sampled_from([0, 0, 3, 9]),
        "min_width": st.sampled_from([1, 1, 2, 8]),
        "max_width": st.sampled_from([None, 8, 12]),
        "num_beams": st.sampled_from([1, 3, 8]),
        "width_threshold": st.sampled_from([0.0, 0.3, 0.7, 1.0]),
        "temperature": st.sampled_from([0.0, 1e-310, 1e-7, 0.003, 0.005, 0.01, 0.03, 0.3, 0.7, 1.0, 3.0, 100.0]),
        "top_k": st.sampled_from([0, 0, 1, 2, 5, 50, 1000]),
        "top_p": st.sampled_from([1.0, 1.0, 0.95, 0.3, 0.01, 1e-300]),
        "length_penalty": st.sampled_from([0.0, 1.0, -10.0, 10.0]),
        "early_stopping": st.sampled_from([True, False, "never", None]),
        "seed": st.integers(0, 2**31),
    }
).map(fitting)
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
    {"top_k": 3, "replacement": False, "draft_width": 6, "min_width": 5},
    {"min_width": 4, "max_width": 4, "draft_width": 9, "top_p": 0.9, "cover_width": 3},
    {"min_width": 8, "max_width": 8, "draft_width": 60, "top_k": 0, "temperature": 100.0},
    {"forest": "coupled", "min_width": 4, "temperature": 0.0, "replacement": False, "top_k": 1},
    {"forest": "coupled", "min_width": 4, "temperature": 1e-310, "replacement": False, "top_k": 0},
    {"forest": "coupled", "min_width": 60, "max_width": 60, "replacement": False, "top_k": 50, "temperature": 0.003},
    {"draft_width": 200, "min_width": 8, "max_width": 8, "replacement": False, "temperature": 0.005, "top_k": 0},
    {"width_threshold": 1.0, "length_penalty": 0.0, "max_new_tokens": 24},
    {"temperature": 1e-310, "draft_width": 8},
    {"temperature": 100.0, "top_k": 0, "width_threshold": 0.0},
    {"temperature": 1e-3, "replacement": False, "top_k": 0, "min_width": 4, "max_width": 4},
    {"temperature": 1e-310, "replacement": False, "draft_width": 4, "min_width": 3, "landing": False},
    {"top_p": 1e-300},
    {"depth_costs": (1.0, 1.1, 1.2, 1.3, 1.4), "draft_depth": 4, "continuation": 0.2, "max_new_tokens": 40},
    {"depth_costs": (1.0, 2.9, 5.0), "continuation": 0.2, "max_new_tokens": 56},
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
    """The audit was written apart from the decoder: it agrees with every method and mode. JSON has each number."""
    for trace in toy_traces(method):
        assert dsbd.verify_trace(trace).failure is None
        assert all(json.dumps(iteration.to_dict(), allow_nan=False) for iteration in trace.iterations)


@pytest.mark.parametrize("way", ["states", "steps", "paths"])
@pytest.mark.parametrize("method", ["dsbd", "beam_sampling", "mjsd"])
def test_honest_traces_of_separate_caches_follow(way, method):
    """Catches an audit that looks for slots where there are none."""
    pair = toy_pair()
    one = replace(pair, target=replace(pair.target, attention=way), draft=replace(pair.draft, attention=way))
    trace = dsbd.decode(one, "Once", read_settings(method, max_new_tokens=4, draft_depth=2), record=True).trace
    assert dsbd.verify_trace(trace).failure is None


def padded_tokenizer():
    tokenizer = toy_tokenizer()
    tokenizer.add_special_tokens({"pad_token": "<pad>"})
    return tokenizer


@pytest.mark.parametrize(("tokenizer", "prompt", "seed"), [(llama_2_tokenizer, "a a", 0), (padded_tokenizer, "", 25)])
def test_a_text_is_what_a_tokenizer_shows_of_its_tokens(tokenizer, prompt, seed):
    """Catches a false alarm where bytes make no text, and where a hidden token stands in a character."""
    pair = make_pair(toy_pair().target, None, tokenizer())
    asked = dsbd.DecodingSettings(method="beam_sampling", max_new_tokens=12, temperature=1.5, top_k=0, seed=seed)
    assert dsbd.verify_trace(dsbd.decode(pair, prompt, asked, record=True).trace).failure is None


@pytest.mark.parametrize("count", [15, pytest.param(120, marks=pytest.mark.slow)])
def test_no_settings_raise_a_false_alarm(count):
    """Catches an audit, a record or a drawing that fails at the edge of what settings allow."""
    how = how_often(max_examples=count, deadline=None, derandomize=True, suppress_health_check=list(HealthCheck))
    how(given(prompts, any_settings)(check))()
