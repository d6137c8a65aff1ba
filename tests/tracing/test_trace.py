"""The trace: a round trip, a schema, clear errors, and an audit that nothing slips past."""

import gzip
import json
from pathlib import Path

import jsonschema
import pytest

import dsbd
from dsbd.errors import TraceError
from dsbd.tracing.trace import Trace, json_schema
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


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_round_trip(trace, tmp_path, name):
    trace.save(tmp_path / name)
    assert Trace.load(tmp_path / name) == trace
    assert (tmp_path / name).read_bytes()[:2] == (b"\x1f\x8b" if name.endswith("gz") else b'{"')


def test_the_committed_schema_is_the_one_in_force(trace):
    """Readers in other languages rely on the file."""
    schema = json.loads(SCHEMA.read_text())
    assert schema == json_schema()
    jsonschema.validate(trace.to_dict(), schema)


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
        lambda data: data["settings"].update(max_width=None),
        lambda data: data["iterations"][0].pop("beginnings"),
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


def test_what_is_no_trace_is_refused_with_what_to_give():
    """Catches an AttributeError where the path of a trace is given in place of the trace."""
    for given in ("trace.json.gz", Path("trace.json.gz"), None):
        with pytest.raises(TraceError, match=r"is no trace; give dsbd\.Trace\.load\(path\), or the trace of a"):
            dsbd.verify_trace(given)
