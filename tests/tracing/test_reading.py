"""Traces in files: a round trip, what a recorder keeps, and damage or harm that is refused in one line."""

import copy
import gzip
import itertools
import json
import math
from codecs import BOM_UTF8
from dataclasses import replace
from functools import cache, reduce
from operator import getitem

import pytest

import dsbd
from dsbd.errors import TraceError
from dsbd.tracing import reading
from dsbd.tracing.trace import Trace
from dsbd.util import asset_path
from tests.toy_pair import toy_pair, toy_traces


@pytest.fixture(scope="module")
def trace() -> Trace:
    return toy_traces("dsbd", 1)[0]


@pytest.mark.parametrize("name", ["a.json", "a.json.gz"])
def test_round_trip(trace, tmp_path, name):
    trace.save(tmp_path / name)
    assert Trace.load(tmp_path / name) == trace
    assert trace.software["engine"] == "eager + eager", "another engine has other last digits"
    assert (tmp_path / name).read_bytes()[:2] == (b"\x1f\x8b" if name.endswith("gz") else b'{"')
    assert Trace.loads(BOM_UTF8 + trace.dumps()) == trace, "some editors write a mark before the text"
    with pytest.raises(TraceError, match="cannot write"):
        trace.save(tmp_path / "none" / name)


START = b'{"format":"dsbd-trace/2",'
PACKED = gzip.compress(START + b'"iterations":[{}]}', mtime=0)


@cache
def plain(name: str = "traces/1-dynamic-width") -> dict:
    """A recorded trace as plain data; tests change a copy."""
    return Trace.load(asset_path(f"{name}.json.gz")).to_dict()


def error_of(content: bytes) -> str:
    """The message, which is one line."""
    with pytest.raises(TraceError) as error:
        Trace.loads(content)
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"{", "not readable"),
        (b"\xff\xfe\x00", "not readable"),
        (b"[]", "not a trace"),
        (b'{"format": "dsbd-trace/99"}', "dsbd-trace/99"),
        (START + b'"seed":1' + b"0" * 400 + b"}", "number 10"),
        (START + b'"seed":1' + b"0" * 5000 + b"}", "not readable"),
        (START + b'"seed":1e308}', "larger than"),
        (START + b'"seed":NaN}', "no number of JSON"),
        (START + b'"seed":1,"seed":2}', "'seed' stands twice"),
        (b"[" * 100_000, "not readable"),
        (gzip.compress(b" " * 2000, mtime=0), "more than 1,000 bytes"),
        (PACKED, "damaged trace"),
        (PACKED[:-5], "not readable"),
        (PACKED + b"garbage", "not readable"),
    ],
    ids=lambda value: repr(value[:40]) if isinstance(value, bytes) else value,
)
def test_what_no_trace_holds_is_refused_by_its_limit(content, message, monkeypatch):
    """Catches unpacking without a limit, and trust in what stands behind the end."""
    monkeypatch.setattr(reading, "MOST_BYTES", 1000 if "bytes" in message else reading.MOST_BYTES)
    assert message in error_of(content)


FIRST = "iterations.0"
CHANGED = [
    # where in a trace, what stands there then, the message
    (f"{FIRST}.nodes.0.layer", 34, "layer: Input should be less than or equal to 33"),
    (f"{FIRST}.layers", [], "iterations.0.layers: List should have at least 1"),
    (f"{FIRST}.draft_depth", 10**15, "less than or equal to 32"),
    (f"{FIRST}.layers.0.width", 10**9, "width: Input should be less than or equal to 64"),
    ("result.stats.seconds", json.loads("[" * 600 + "]" * 600), "result.stats.seconds"),
    ("result.beams", [], "result.beams: List should have at least 1"),
    ("settings.branching", [1], "branching has 1"),
    (f"{FIRST}.nodes.0.parent", 999_999, "has parent 999999"),
    (f"{FIRST}.trials.0.node", 999_999, "names node 999999"),
    (f"{FIRST}.nodes.1.id", lambda data: data["iterations"][0]["nodes"][0]["id"], "listed twice"),
    (f"{FIRST}.trials.0.verdict", "carried", "is no joint test"),
    ("iterations.1.layers.0.alive", [0], "beam 0 is alive"),
    (f"{FIRST}.nodes.0.surprise", 1, "surprise"),
    ("settings.temperature", -1, "temperature"),
    ("prompt", None, "prompt"),
    ("prompt.text", "a\ud800b", "prompt.text: Input should be a valid string"),
    ("software.\ud800", "1", "software"),
    (f"{FIRST}.nodes.0.text", "\udc00\ud800", "text: Input should be a valid string"),
    ("result.beams.0.text", "\ud800", "text: Input should be a valid string"),
    ("result.stats.seconds", True, "result.stats.seconds"),
    (f"{FIRST}.layers.0.beams.0.multiplicity", 65, "less than or equal to 64"),
    ("prompt.memory.sensory", 2, "2 sensory tokens and a last segment of 224 tokens are not the 240 tokens of the"),
    ("prompt.memory.segments", lambda data: data["prompt"]["memory"]["segments"][-1:], "segment 1 of the prompt"),
    ("prompt.memory.segments.1.first_memory", 1, "segment 2 of the prompt is empty, or recalls what comes later"),
    ("prompt.memory.segments.0.tokens", 0, "segment 1 of the prompt is empty"),
    ("prompt.memory.segments.1.weights", [1.0, 0.0], "segment 2 of the prompt is empty, or recalls what comes later"),
    ("prompt.memory.segments.2.weights", [0.5, 0.6], "segment 3 of the prompt do not add up to 1"),
    ("prompt.memory.more", 1, "prompt.memory.more"),
]


@pytest.mark.parametrize(("place", "value", "message"), CHANGED, ids=itertools.count())
def test_what_a_trace_cannot_hold_is_refused(place, value, message):
    """Catches what the drawings and the audit would take a traceback for, and half of a surrogate pair, which no page,
    file or answer can show."""
    data = copy.deepcopy(plain(*["lessons/traces/7-long-prompts"] * place.startswith("prompt.memory")))
    *path, last = [int(step) if step.isdigit() else step for step in place.split(".")]
    reduce(getitem, path, data)[last] = value(data) if callable(value) else value
    assert message in error_of(json.dumps(data).encode())


def test_a_whole_surrogate_pair_is_a_character():
    """Catches a reader that refuses an escape that JSON needs for characters such as emoji."""
    content = json.dumps(plain() | {"prompt": plain()["prompt"] | {"text": "\U0001f600"}}).encode()
    assert b"\\ud83d\\ude00" in content
    assert Trace.loads(content).prompt.text == "\U0001f600"


def test_the_largest_honest_trace_fits():
    """Catches limits below what 512 iterations of depth 8, width 32 and 32 extra candidates come to."""
    widest = dsbd.DecodingSettings(max_new_tokens=20, draft_depth=8, draft_width=32, cover_width=32, input_beams=8)
    trace = dsbd.decode(toy_pair(), "Once", widest, record=True).trace
    parts = 512 / len(trace.iterations)
    assert parts * len(trace.dumps()) < reading.MOST_BYTES


@pytest.mark.parametrize(("kind", "field"), [("trials", "c"), ("draws", "S"), ("nodes", "target_log_prob")])
@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_no_record_holds_a_number_that_json_has_not(kind, field, number):
    """Catches an iteration that goes to the page, or into a file, with a number that no JSON reader takes."""
    iteration = toy_traces("dsbd", 1)[0].iterations[0]
    items = getattr(iteration, kind)
    with pytest.raises(ValueError, match="finite number"):
        replace(iteration, **{kind: [replace(items[0], **{field: number}), *items[1:]]})
