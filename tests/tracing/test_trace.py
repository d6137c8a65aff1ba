"""The trace: a round trip, a schema, and what a recorder keeps."""

import json
from pathlib import Path

import jsonschema
import pytest

import dsbd
from dsbd.errors import TraceError
from dsbd.tracing.recorder import Recorder
from dsbd.tracing.trace import Trace, json_schema
from tests.toy_pair import toy_pair
from tests.tracing.toys import toy_traces

SCHEMA = Path(dsbd.__file__).parent / "tracing" / "schema.json"


@pytest.fixture(scope="module")
def trace() -> Trace:
    return toy_traces("dsbd", 1)[0]


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


def test_missing_file_and_unwritable_place(trace, tmp_path):
    with pytest.raises(TraceError, match="cannot read"):
        Trace.load(tmp_path / "none.json")
    with pytest.raises(TraceError, match="cannot write"):
        trace.save(tmp_path / "none" / "t.json")


def test_a_trace_names_the_engines():
    """The same pair has other last digits on another engine."""
    (trace,) = toy_traces("dsbd", 1)
    assert trace.software["engine"] == "eager + eager"


def test_split_characters_keep_their_bytes():
    """A character split over tokens must be shown whole, so its bytes are kept."""
    settings = dsbd.DecodingSettings(max_new_tokens=2)
    trace = dsbd.decode(toy_pair(), "é", settings, record=True).trace
    assert [(piece.text, piece.bytes) for piece in trace.prompt.pieces] == [("\ufffd", "c3"), ("\ufffd", "a9")]


def test_a_cancelled_decode_still_has_a_trace():
    """What was recorded before Stop stays usable, and follows."""
    recorder = Recorder()
    updates = dsbd.stream(toy_pair(), "Once", dsbd.DecodingSettings(max_new_tokens=40), observers=[recorder])
    next(updates)
    next(updates)
    updates.close()
    trace = recorder.trace()
    assert len(trace.iterations) == 2
    assert trace.result is None
    assert dsbd.verify_trace(trace).passed
