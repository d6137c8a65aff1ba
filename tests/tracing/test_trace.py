"""The trace: a round trip, a schema, clear errors, and an audit that nothing slips past."""

import gzip
import itertools
import json
from pathlib import Path

import jsonschema
import pytest

import dsbd
from dsbd.errors import TraceError
from dsbd.tracing.trace import Trace, canonical_digest, json_schema
from tests.toy_pair import toy_pair

SCHEMA = Path(dsbd.__file__).parent / "tracing" / "schema.json"


def record(**settings) -> Trace:
    fields = {"max_new_tokens": 10, "draft_depth": 3, "draft_width": 4} | settings
    trace = dsbd.decode(toy_pair(), "Once upon", dsbd.DecodingSettings(**fields), record=True).trace
    assert trace is not None
    return trace


@pytest.fixture(scope="module")
def trace() -> Trace:
    return record(seed=4)


def sealed(data: dict) -> Trace:
    """A changed trace with a digest that fits, as a careful forger would make it."""
    data["digest"] = canonical_digest(Trace.from_dict(data))
    return Trace.from_dict(data)


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_round_trip(trace, tmp_path, name):
    trace.save(tmp_path / name)
    assert Trace.load(tmp_path / name) == trace
    assert (tmp_path / name).read_bytes()[:2] == (b"\x1f\x8b" if name.endswith("gz") else b'{"')


def test_fields_added_later_leave_older_digests_alone(trace):
    """Catches a new setting that turns every recorded trace into one that no longer follows."""
    data = trace.to_dict()
    for name in ("forest", "depth_costs", "continuation"):
        data["settings"].pop(name)
    for iteration in data["iterations"]:
        for layer in iteration["layers"]:
            layer.pop("forest_mass")
    assert canonical_digest(Trace.from_dict(data)) == trace.digest
    data["settings"]["forest"] = "likely"
    assert canonical_digest(Trace.from_dict(data)) != trace.digest


def test_a_file_says_nothing_of_fields_it_does_not_need(trace):
    """Catches a new field that changes the files of decodes without it, byte for byte."""
    assert "width_weights" not in trace.to_dict()["settings"]
    assert not any(
        "width_uniform" in layer for iteration in trace.to_dict()["iterations"] for layer in iteration["layers"]
    )
    drawn = record(method="random_width").to_dict()
    assert drawn["settings"]["width_weights"] == [1.0] * 4
    assert "width_uniform" in drawn["iterations"][0]["layers"][0]


def test_the_committed_schema_is_the_one_in_force(trace):
    """Readers in other languages rely on the file."""
    schema = json.loads(SCHEMA.read_text())
    assert schema == json_schema()
    jsonschema.validate(trace.to_dict(), schema)


@pytest.mark.parametrize(
    "settings",
    [
        dict(zip(("method", "replacement", "temperature"), values, strict=True))
        for values in itertools.product(dsbd.METHODS, (True, False), (0.0, 0.8))
    ]
    + [
        {"cover_width": 6, "min_width": 4, "max_width": 4},
        {"cover_width": 6, "min_width": 3, "max_width": 3, "replacement": False, "temperature": 0.7},
        {"landing": False, "top_p": 0.8},
        {"input_beams": 1, "top_k": 0},
        {"top_k": 3, "replacement": False, "draft_width": 6, "min_width": 5},
        {"forest": "likely", "draft_width": 12},
        {"forest": "likely", "draft_width": 12, "replacement": False, "temperature": 0.7},
        {"forest": "likely", "draft_width": 9, "temperature": 0.0, "replacement": False, "max_new_tokens": 24},
        {"forest": "likely", "draft_width": 9, "temperature": 0.0},
        {"forest": "likely", "draft_width": 9, "min_width": 4, "max_width": 4, "top_p": 0.9, "input_beams": 2},
        {"forest": "likely", "draft_width": 30, "width_threshold": 0.0, "top_k": 0},
        {"forest": "likely", "draft_width": 2, "width_threshold": 0.0, "temperature": 0.0, "replacement": False},
        {"forest": "likely", "width_threshold": 0.0, "temperature": 0.0, "replacement": False, "top_k": 1},
        {
            "draft_width": 200,
            "min_width": 8,
            "max_width": 8,
            "replacement": False,
            "temperature": 0.005,
            "top_k": 0,
            "draft_depth": 2,
            "max_new_tokens": 6,
        },
        {"width_threshold": 0.0},
        {"width_threshold": 1.0},
        {"length_penalty": 0.0, "max_new_tokens": 24},
    ],
    ids=str,
)
@pytest.mark.filterwarnings("error::RuntimeWarning")
def test_every_honest_trace_follows(settings):
    """The audit was written apart from the decoder: it agrees with every method and mode."""
    report = dsbd.verify_trace(record(**settings))
    assert report.failure is None
    assert report.passed
    assert report.checks > 20


@pytest.mark.parametrize(
    ("what", "change"),
    [
        ("verdict", lambda data: flip_verdict(data)),
        (
            "uniform",
            lambda data: open_trial(data).update(
                uniform=0.0 if open_trial(data)["verdict"] == "rejected" else 0.999999
            ),
        ),
        ("chosen width", lambda data: data["iterations"][0]["layers"][0].update(width=5)),
        ("tokens", lambda data: data["result"]["beams"][0]["token_ids"].reverse()),
        ("returned text", lambda data: data["result"].update(text="something else")),
        ("statistic", lambda data: data["result"]["stats"].update(rejected=10**6)),
        ("node", lambda data: data["iterations"][0]["nodes"][0].update(target_prob=0.5)),
        ("draw", lambda data: data["iterations"][0]["draws"][0].update(uniform=0.0, cdf_low=0.5)),
    ],
)
def test_forgeries_are_named(trace, what, change):
    """A forged decision is found although its digest fits."""
    data = trace.to_dict()
    change(data)
    report = dsbd.verify_trace(sealed(data))
    assert not report.passed
    assert report.failure is not None


def first_trial(data):
    return next(t for i in data["iterations"] for t in i["trials"] if t["verdict"] == "accepted")


def open_trial(data):
    """A trial that could have gone either way."""
    trials = (t for i in data["iterations"] for t in i["trials"])
    return next(t for t in trials if t["acceptance"] is not None and 0 < t["acceptance"] < 0.999)


def flip_verdict(data):
    trial = first_trial(data)
    trial["verdict"] = "rejected"


def test_the_digest_catches_every_other_change(trace):
    """Words that decide nothing are still sealed."""
    for change in (
        lambda data: data["prompt"].update(text="Another"),
        lambda data: data["software"].update(python="4"),
        lambda data: data["models"]["target"].update(id="other"),
        lambda data: data["result"]["stats"].update(kv_peak_bytes=1),
    ):
        data = trace.to_dict()
        change(data)
        report = dsbd.verify_trace(Trace.from_dict(data))
        assert not report.passed
        assert "digest" in report.failure


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"", "not readable"),
        (b"{", "not readable"),
        (b"[]", "not a trace"),
        (b'{"format": "dsbd-trace/99"}', "dsbd-trace/99"),
        (b'{"format": "dsbd-trace/1"}', "damaged"),
        (b"\x1f\x8b broken", "not readable"),
        (gzip.compress(b'{"format": 1}', mtime=0)[:-5], "not readable"),
        (b"\xff\xfe\x00", "not readable"),
    ],
)
def test_unreadable_files_give_one_clear_error(tmp_path, content, message):
    (tmp_path / "t.json").write_bytes(content)
    with pytest.raises(TraceError, match=message) as error:
        Trace.load(tmp_path / "t.json")
    assert "\n" not in str(error.value)


def test_missing_file_and_unwritable_place(trace, tmp_path):
    with pytest.raises(TraceError, match="cannot read"):
        Trace.load(tmp_path / "none.json")
    with pytest.raises(TraceError, match="cannot write"):
        trace.save(tmp_path / "none" / "t.json")


@pytest.mark.parametrize(
    "change",
    [
        lambda data: data["iterations"][0]["nodes"][0].update(parent=999_999),
        lambda data: data["iterations"][0]["trials"][0].update(node=999_999),
        lambda data: data["iterations"][0]["nodes"][1].update(id=data["iterations"][0]["nodes"][0]["id"]),
        lambda data: data["iterations"][0]["nodes"][0].update(surprise=1),
        lambda data: data["iterations"][0]["nodes"][0].update(target_prob="high"),
        lambda data: data["settings"].update(temperature=-1),
        lambda data: data.pop("prompt"),
    ],
)
def test_damaged_traces_are_refused(trace, change):
    data = trace.to_dict()
    change(data)
    with pytest.raises(TraceError, match="damaged trace"):
        Trace.from_dict(data)


def test_beam_methods_trace_as_empty_forests():
    trace = record(method="beam_sampling")
    assert all(layer.kind == "bonus" for iteration in trace.iterations for layer in iteration.layers)
    assert not any(iteration.trials for iteration in trace.iterations)


def test_split_characters_keep_their_bytes():
    """A character split over tokens must be shown whole, so its bytes are kept."""
    settings = dsbd.DecodingSettings(max_new_tokens=2)
    trace = dsbd.decode(toy_pair(), "é", settings, record=True).trace
    assert [(piece.text, piece.bytes) for piece in trace.prompt.pieces] == [("\ufffd", "c3"), ("\ufffd", "a9")]


def test_a_cancelled_decode_still_has_a_trace():
    """What was recorded before Stop stays usable, and follows."""
    from dsbd.tracing.recorder import Recorder

    recorder = Recorder()
    settings = dsbd.DecodingSettings(max_new_tokens=40)
    updates = dsbd.stream(toy_pair(), "Once", settings, observers=[recorder])
    next(updates)
    next(updates)
    updates.close()
    trace = recorder.trace()
    assert len(trace.iterations) == 2
    assert trace.result is None
    assert dsbd.verify_trace(trace).passed


@pytest.mark.parametrize("given", ["trace.json.gz", Path("trace.json.gz"), None], ids=["text", "path", "nothing"])
def test_what_is_no_trace_is_refused_with_what_to_give(given):
    """Catches an AttributeError where the path of a trace is given in place of the trace."""
    with pytest.raises(
        TraceError, match=r"is no trace; give dsbd\.Trace\.load\(path\), or the trace of a recorded result"
    ):
        dsbd.verify_trace(given)
