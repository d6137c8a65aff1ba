"""Reading a trace that somebody made to do harm: refused in one line, before anything large is built."""

import copy
import gzip
import json
import tracemalloc
from dataclasses import replace

import pytest

import dsbd
from dsbd.assets import asset_path
from dsbd.errors import TraceError
from dsbd.tracing import trace as trace_module
from dsbd.tracing.limits import FILE_LIMITS, MIB, PAGE_LIMITS
from dsbd.tracing.reading import parse
from dsbd.tracing.trace import Trace
from tests.command_line import refused
from tests.toy_pair import toy_pair

START = b'{"format":"dsbd-trace/1",'


@pytest.fixture(scope="module")
def plain() -> dict:
    """A recorded trace as plain data; tests change a copy."""
    return Trace.load(asset_path("traces") / "1-dynamic-width.json.gz").to_dict()


def nested(levels: int) -> list:
    value: list = []
    for _ in range(levels):
        value = [value]
    return value


def error_of(content: bytes, limits=FILE_LIMITS) -> str:
    """The message, which is one line."""
    with pytest.raises(TraceError) as error:
        Trace.loads(content, limits)
    message = str(error.value)
    assert "\n" not in message
    assert len(message) < 400
    return message


def changed(plain: dict, change) -> bytes:
    data = copy.deepcopy(plain)
    change(data)
    return json.dumps(data).encode()


BROKEN = START + b'"iterations":[' + b",".join([b"{}"] * 100_000) + b"]}"


def test_a_small_file_of_many_broken_entries_ends_at_the_first():
    """Catches a check that collects every error: 370 bytes then cost seconds and more than a gigabyte."""
    packed = gzip.compress(BROKEN, mtime=0)
    assert len(packed) < 1000
    tracemalloc.start()
    assert "damaged trace" in error_of(packed)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 100 * MIB


@pytest.mark.parametrize("field", ["iterations", "prompt"])
def test_a_damaged_list_gives_few_errors(field):
    """Catches a list whose check goes on after a wrong item."""
    pieces = {"prompt": {"text": "", "pieces": [{}] * 1000}}
    data = {"format": "dsbd-trace/1", "iterations": [{}] * 1000} | (pieces if field == "prompt" else {})
    with pytest.raises(trace_module.ValidationError) as error:
        trace_module._adapter().validate_python(data)
    assert error.value.error_count() < 30


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (START + b'"seed":1' + b"0" * 400 + b"}", "characters"),
        (START + b'"seed":1e308}', "too large"),
        (START + b'"seed":1e999}', "too large"),
        (START + b'"seed":NaN}', "no number of JSON"),
        (START + b'"seed":-Infinity}', "no number of JSON"),
        (START + b'"seed":1,"seed":2}', "'seed' stands twice"),
        (START + b",".join(b'"f%d":0' % place for place in range(100_000)) + b"}", "fields"),
        (b"[" * 100_000, "inside each other"),
        (b'{"a":' * 100_000, "inside each other"),
        (b"[" + b"0," * FILE_LIMITS.values + b"0]", "values"),
        (START + b'"seed":"' + b"x" * 7_000_000 + b'"}', "bytes"),
        (START + b'"seed":"' + b'\\"' * 3_500_000 + b'"}', "bytes"),
        (START + b'"seed":"' + b"\\\\" * 3_500_000 + b'"}', "bytes"),
        (START + b'"seed":"' + b"x" * 7_000_000, "bytes"),
        (b'"' * 7_000_001, "not readable"),
    ],
    ids=lambda value: repr(value[:40]) if isinstance(value, bytes) else value,
)
def test_what_no_trace_holds_is_refused_by_its_limit(content, message):
    """Catches a limit that is not looked at, and one that is looked at after the objects were built."""
    tracemalloc.start()
    assert message in error_of(content)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 6 * len(content) + 60 * MIB


@pytest.mark.parametrize("quoted", [b"[[[[", b",,,,", b"]]]]", b'\\"[[[[', b"\\\\", b'\\\\\\"[[['])
@pytest.mark.parametrize("before", [0, MIB - 30, MIB - 20])
def test_brackets_and_commas_inside_a_text_do_not_count(quoted, before):
    """Catches a scan that loses track of where a text ends, also where a chunk ends inside it."""
    small = replace(FILE_LIMITS, depth=2, values=4)
    content = b'{"a":"' + b"x" * before + quoted * 5 + b'",  "b":["' + quoted + b'"]}'
    assert parse(content, small) == json.loads(content)
    with pytest.raises(TraceError, match="inside each other"):
        parse(content, replace(small, depth=1))
    with pytest.raises(TraceError, match="values"):
        parse(content, replace(small, values=3))


@pytest.mark.parametrize("length", [99, 100, 101])
@pytest.mark.parametrize("before", [0, MIB - 150, MIB - 60, MIB - 5])
def test_a_text_is_measured_to_the_byte(length, before):
    """Catches a text that is measured wrongly where it lies across two chunks."""
    content = b" " * before + b'["' + b"x" * length + b'", "short"]'
    small = replace(FILE_LIMITS, text=100)
    if length <= small.text:
        assert parse(content, small) == ["x" * length, "short"]
        return
    with pytest.raises(TraceError, match="100 bytes"):
        parse(content, small)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (gzip.compress(b"[" + b" " * 40 * MIB + b"]", mtime=0), "unpacked"),
        (gzip.compress(b"{}", mtime=0) + b"garbage", "not readable"),
        (gzip.compress(BROKEN, mtime=0)[:-5], "not readable"),
        (gzip.compress(BROKEN, mtime=0)[:100], "not readable"),
        (b"\x1f\x8b", "not readable"),
    ],
    ids=["bomb", "garbage after the end", "without its end", "half", "magic alone"],
)
def test_a_gzip_file_is_whole_and_not_a_bomb(content, message):
    """Catches unpacking without a limit and trust in what stands behind the end."""
    tracemalloc.start()
    assert message in error_of(content, PAGE_LIMITS)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert peak < 3 * PAGE_LIMITS.unpacked_bytes


BEGINNING = {"node": 1, "target_prob": 1.0, "probability": 1.0, "rest": None, "acceptance": 1.0, "uniform": 0.5}


def add_nodes(data: dict, count: int, chain: bool) -> None:
    iteration = data["iterations"][0]
    last, first = iteration["nodes"][-1], iteration["input_beams"][0]["node"]
    for place in range(count):
        number = 10**6 + place
        parent = number - 1 if chain and place else first
        iteration["nodes"].append({**last, "id": number, "parent": parent, "kind": "cover", "layer": 1})
        if chain:
            iteration["nodes"][-1]["layer"] = place + 1


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: add_nodes(data, 20_000, chain=False), "at most 576 are"),
        (lambda data: add_nodes(data, 15_000, chain=True), "at most 33 are"),
        (lambda data: data["iterations"][0].update(layers=[], trials=[], draws=[]), "no layers"),
        (lambda data: data["iterations"][0].update(draft_depth=10**15), "at most 33 are"),
        (lambda data: data["iterations"][0]["layers"][0].update(width=10**9), "at most 64 are"),
        (lambda data: data["iterations"][0]["layers"][0]["beams"][0].update(multiplicity=10**9), "at most 64 are"),
        (lambda data: data["iterations"][0]["kept"].update(slots_scored=10**9), "cache slots"),
        (lambda data: data["iterations"][0]["nodes"][0].update(text="x" * 1_000_000), "at most 4,096 are"),
        (lambda data: data["prompt"]["pieces"][0].update(text="x" * 1_000_000), "at most 4,096 are"),
        (lambda data: data["models"]["target"].update(id="x" * 1_000_000), "at most 4,096 are"),
        (lambda data: data["iterations"][0]["layers"][0].update(width_reason="x" * 5000), "at most 4,096 are"),
        (lambda data: data["iterations"][0]["nodes"][0].update(text="x" * 7_000_000), "4,000,000 bytes"),
        (lambda data: data["result"]["stats"].update(seconds=nested(600)), "inside each other"),
        (lambda data: data["result"]["stats"].update(seconds=[1]), "'seconds' is a list"),
        (lambda data: data["result"].update(beams=[]), "no hypotheses"),
        (lambda data: data["settings"].update(branching=[1]), "branching has 1"),
        (lambda data: data["settings"].update(branching=[1.5]), "branching"),
        (lambda data: data["iterations"][0].update(beginnings=[{**BEGINNING, "node": 0}]), "no node of its forest"),
        (lambda data: data["iterations"][0].update(beginnings=[BEGINNING] * 100), "at most 33 are"),
    ],
)
def test_what_a_trace_cannot_hold_is_refused(plain, change, message):
    """Catches what the drawings and the audit would take minutes or a traceback for."""
    assert message in error_of(changed(plain, change))


@pytest.mark.parametrize(
    ("where", "change"),
    [
        ("the prompt", lambda data: data["prompt"].update(text="a\ud800b")),
        ("the prompt", lambda data: data["prompt"]["pieces"][0].update(text="\udfff")),
        ("the models", lambda data: data["software"].update({"\ud800": "1"})),
        ("iteration 1", lambda data: data["iterations"][0]["nodes"][0].update(text="\udc00\ud800")),
        ("iteration 1, layer 1", lambda data: data["iterations"][0]["layers"][0].update(width_reason="\ud800")),
        ("the result", lambda data: data["result"]["beams"][-1].update(text="\ud800")),
        ("the result", lambda data: data["result"]["stats"].update({"\ud800": 1})),
    ],
)
def test_half_a_character_is_refused_in_one_sentence(plain, where, change):
    """Catches half of a surrogate pair that is read, and that no page, file or answer can then show."""
    message = error_of(changed(plain, change))
    assert message.startswith(f"damaged trace: a text of {where} holds '\\ud")
    assert message.endswith("which is half a character; record it again")


def test_a_whole_surrogate_pair_is_a_character(plain):
    """Catches a reader that refuses an escape that JSON needs for characters such as emoji."""
    content = changed(plain, lambda data: data["prompt"].update(text="\U0001f600"))
    assert b"\\ud83d\\ude00" in content
    assert Trace.loads(content).prompt.text == "\U0001f600"


def test_the_largest_honest_trace_fits():
    """Catches limits below what 512 iterations of depth 8, width 32 and 32 cover nodes come to."""
    widest = dsbd.DecodingSettings(max_new_tokens=20, draft_depth=8, draft_width=32, cover_width=32, input_beams=8)
    trace = dsbd.decode(toy_pair(), "Once", widest, record=True).trace
    parts = 512 / len(trace.iterations)
    assert parts * len(trace.dumps()) < FILE_LIMITS.unpacked_bytes
    assert parts * trace.dumps().count(b",") < FILE_LIMITS.values
    assert FILE_LIMITS.nodes > 512 * 8 * 64


def test_the_limits_follow_the_settings():
    """Catches a setting whose range grew past what a trace may hold."""
    widest = dsbd.DecodingSettings(draft_depth=32, draft_width=256, cover_width=256, max_width=64, max_new_tokens=32768)
    assert FILE_LIMITS.iteration_layers == widest.draft_depth + 1
    assert FILE_LIMITS.layer_nodes == widest.draft_width + widest.cover_width + widest.max_width
    assert FILE_LIMITS.layer_trials == widest.draft_width
    assert FILE_LIMITS.layer_draws == widest.max_width
    assert FILE_LIMITS.iterations == widest.max_new_tokens
    for name in ("draft_depth", "draft_width", "cover_width", "max_width", "max_new_tokens"):
        with pytest.raises(dsbd.SettingsError):
            replace(widest, **{name: getattr(widest, name) + 1})


def test_every_limit_of_the_page_is_at_most_that_of_files():
    """Catches a page that takes what the command line refuses."""
    assert all(getattr(PAGE_LIMITS, name) <= value for name, value in vars(FILE_LIMITS).items())


COMMANDS = {
    "verify-trace": ["verify-trace", "t.json"],
    "export": ["export", "t.json", "--format", "svg", "--output", "a.svg"],
    "lesson": ["lesson", "lesson.md", "--output", "a.html"],
    "site": ["site", "--traces", "traces", "--output", "out"],
}


@pytest.mark.parametrize("command", COMMANDS)
@pytest.mark.parametrize("harm", ["entries", "deep stats"])
def test_every_command_refuses_in_one_line(capsys, monkeypatch, tmp_path, plain, command, harm):
    """Catches a command that reads traces in another way."""
    monkeypatch.chdir(tmp_path)
    stats = changed(plain, lambda data: data["result"]["stats"].update(seconds=nested(600)))
    (tmp_path / "traces").mkdir()
    for path in ("t.json", "traces/t.json"):
        (tmp_path / path).write_bytes(stats if harm == "deep stats" else gzip.compress(BROKEN, mtime=0))
    (tmp_path / "lesson.md").write_text("---\ntitle: A\ntrace: t.json\n---\n\n## B {iteration=1}\n\nC.\n")
    assert "trace" in refused(capsys, *COMMANDS[command])
