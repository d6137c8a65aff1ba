"""Calls and uploads that no page would send, for Hypothesis, and what the page may answer to them."""

import gzip
import json
from dataclasses import dataclass, fields
from functools import lru_cache
from typing import Any

import httpx
from hypothesis import strategies as st

from dsbd.settings import METHODS, DecodingSettings
from tests.visualize.toy import toy_trace
from ui.traffic.gate import FAULT

PATIENCE_SECONDS = 60
ALLOWED = {200, 202, 400, 403, 404, 405, 406, 413, 415, 422, 429, 503}
"""Answers to a bad request. A 500 without a sentence is a fault: something was not foreseen."""
SECRET = "hold-it-like-root-holds-its-files"
"""Stands in a file of the machine that a trial names to the page, which must not read it."""
LEAKS = ("Traceback", 'File "', "site-packages")
"""What would tell a stranger how this machine looks inside."""

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**30), 1e308, -1e308, 0.1, -1, float("inf"), float("nan")]),
    st.floats(allow_nan=False, allow_infinity=False),
    st.text(max_size=20),
    st.sampled_from(["\ud800", "\u202e", "<script>alert(1)</script>", "\x00", "../../etc/passwd", "auto", *METHODS]),
)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
NAMED = st.sampled_from(["data", "prompt", "methods", "settings", "runs", "session_hash", "event_data", "other"])
FIELD_NAMES = st.sampled_from([field.name for field in fields(DecodingSettings)])
settings = (
    st.just({"max_new_tokens": 4}) | anything | st.dictionaries(FIELD_NAMES, scalars | st.integers(0, 40), max_size=5)
)
prompts = anything | st.text(max_size=40) | st.just("Once upon")
NUMBERS = st.integers(0, 30)
"""Numbers of the page's handlers, and some beyond."""
SESSIONS = st.sampled_from(["x", "", "../x", 5, None, "y" * 500])
ADDRESSES = [
    "file=/etc/passwd", "file=../../../etc/passwd", "file=..%2f..%2fapp.py", "file=http://127.0.0.1:1/",
    "file/etc/passwd", "proxy=http://127.0.0.1:1/", "call/decode/0123abc", "queue/data?session_hash=nobody",
    "queue/status", "stream/a/b/1/playlist.m3u8", "custom_component/1/client/component/x.js", "info", "openapi.json",
    "upload_progress?upload_id=x", "deep_link?session_hash=x", "dev/reload",
]  # fmt: skip
POSTS = ("queue/join", "call/decode", "call/v2/decode", "call/export", "cancel", "component_server", "upload", "mcp/")


@dataclass(frozen=True)
class Call:
    """One request: where to, and what. ``body`` None: only asked for; bytes: sent as they are."""

    path: str
    body: Any
    kind: str = "application/json"
    method: str = ""
    """Empty: GET without a body, else POST."""
    headers: tuple[tuple[str, str], ...] = ()
    """Beside the kind; they may name another one once more."""


def _calls(paths: str, **parts: st.SearchStrategy) -> st.SearchStrategy[Call]:
    return st.builds(Call, st.sampled_from(paths.split()), st.fixed_dictionaries(parts))


def calls() -> st.SearchStrategy[Call]:
    """A call of any endpoint: those for programs, the page's handlers by number, files, and whatever Gradio adds."""
    methods = anything | st.lists(st.sampled_from(METHODS), max_size=2)
    named = ["call/decode", "call/evaluate", "call/run", "call/nothing", "call/v2/decode", "call/v2/nothing"]
    sessions = NUMBERS.map("s{}".format) | scalars
    values = st.lists(anything, max_size=4) | st.lists(scalars, min_size=19, max_size=23)
    posts = st.sampled_from([*POSTS, "nothing"])
    return st.one_of(
        _calls("call/decode", data=st.tuples(prompts, settings) | st.tuples(settings)),
        _calls("call/evaluate", data=st.tuples(prompts, methods, scalars, scalars, st.none(), settings)),
        st.builds(Call, st.sampled_from(named), st.dictionaries(NAMED, anything) | anything),
        _calls("queue/join", fn_index=NUMBERS, session_hash=NUMBERS.map("s{}".format), data=values),
        _calls("queue/join", fn_index=scalars, session_hash=sessions, trigger_id=scalars, data=values),
        _calls(
            "run/decode api/evaluate run/predict reset stream/x stream/x/close",
            data=anything, fn_index=NUMBERS, session_hash=SESSIONS,
        ),
        _calls("cancel", session_hash=SESSIONS, fn_index=scalars, event_id=scalars),
        _calls(
            "component_server", component_id=scalars, fn_name=st.sampled_from(["__init__", "load", 5, None]),
            data=anything, session_hash=SESSIONS,
        ),
        st.builds(Call, posts, st.binary(max_size=60), st.sampled_from(["application/json", "text/plain", ""])),
        st.builds(Call, st.sampled_from(ADDRESSES), st.none()),
    )  # fmt: skip


KINDS = ("application/json", "application/json; charset=utf-16", "text/plain", "multipart/form-data", "")
HOSTS = ("evil.example", "127.0.0.1.evil.example", "evil.example:7860", "a b", "[::1", "localhost@evil.example", "")
METHODS_OF_HTTP = ("HEAD", "OPTIONS", "DELETE", "TRACE", "PUT", "PATCH", "GET", "BREW")
ITEMS = ("[]", "{}", "0", '""', "[" * 20 + "]" * 20, '{"a":' * 20 + "0" + "}" * 20, "1" * 300, "1e308", "-0.1e-9")
TOOL = '{"jsonrpc": "2.0", "id": %s, "method": "tools/call", "params": {"name": "%s", "arguments": %s}}'
PLACES = (
    '{"data": [%s], "fn_index": 9, "session_hash": "s1"}',
    '{"data": ["Once", {"settings": [[%s]]}], "fn_index": 9, "session_hash": "s2", "event_data": %s}',
    '{"data": [], "data": [%s, "svg"], "session_hash": "s3", "fn_index": 1}',
    '{"component_id": 1, "fn_name": "load", "session_hash": %s, "data": %s}',
    '{"prompt": %s, "settings": %s}',
    TOOL % ("1", "explain_node", '{"trace": %s}'),
    TOOL % ("%s", "decode", '{"prompt": "Once", "settings": %s}'),
    "%s",
)


@st.composite
def bodies(draw, secret: str) -> Call:
    """A request whose body was not made by a JSON writer of good will; ``secret``: a file to name."""

    def one_of(*choices: Any) -> Any:
        return draw(st.sampled_from(choices))

    way = one_of("many", "deep", "numbers", "broken", "files", "kinds", "hosts", "methods", "multipart")
    path, headers = one_of(*POSTS), (("accept", "application/json, text/event-stream"),)
    place, value = one_of(*PLACES), one_of(*ITEMS)
    first = value
    if way == "many":
        count = one_of(1_000, 20_000, 100_000, 340_000)
        first = "[" + ",".join([value] * min(count, 1_040_000 // (len(value) + 1))) + "]"
    elif way == "deep":
        (opened, closed), depth = one_of(("[", "]"), ('{"a":', "}")), one_of(31, 40, 900, 1_200, 20_000, 200_000)
        first = opened * depth + "0" + closed * depth
    elif way == "numbers":
        first = one_of("9", "-1", "0.") + "7" * one_of(20, 400, 9_999)
    elif way == "files":
        name = one_of(secret, f"/tmp/../{secret}", f"file://{secret}", "http://127.0.0.1:1/x", "/etc/passwd", "\0")
        file = {"path": name, "url": name, "orig_name": name, "meta": {"_type": "gradio.FileData"}}
        first = json.dumps(one_of(file, [file], {"a": {"b": [file]}}, {"path": name}))
    content = place.replace("%s", first, 1).replace("%s", value).encode()
    if way == "broken":
        cut, put = draw(st.integers(0, len(content))), one_of(b"\xff", b"\xed\xa0\x80", b"\xc3", b"\\ud800", b"\0", b"")
        content = content[:cut] + put + content[cut + draw(st.integers(0, 9)) :]
    elif way == "hosts":
        headers += ((one_of("host", "x-forwarded-host", "x-gradio-server"), one_of(*HOSTS)),)
    elif way == "multipart":
        part = b'--x\r\nContent-Disposition: form-data; name="files"; filename="a\xff"\r\n\r\n{}\r\n'
        content = part * one_of(1, 1_001, 5_000) + b"--x--\r\n"
        return Call(path, content, "multipart/form-data; boundary=x", headers=headers)
    elif way == "kinds":
        return Call(path, content, one_of(*KINDS), headers=(*headers, ("content-type", one_of(*KINDS))))
    elif way == "methods":
        return Call(one_of(*POSTS, *ADDRESSES), content, method=one_of(*METHODS_OF_HTTP))
    return Call(path, content, headers=headers)


@lru_cache(maxsize=1)
def _sound() -> str:
    return json.dumps(toy_trace().to_dict())


@st.composite
def uploads(draw) -> bytes:
    """A file that is no trace, or a trace with one value changed."""
    if draw(st.booleans()):
        content = draw(st.binary(max_size=200))
    else:
        plain = json.loads(_sound())
        place: Any = plain
        for _ in range(draw(st.integers(1, 6))):
            keys = sorted(place) if isinstance(place, dict) else list(range(len(place)))
            key = draw(st.sampled_from(keys))
            if not isinstance(place[key], (dict, list)) or not place[key]:
                break
            place, key = place[key], None
        if key is not None:
            place[key] = draw(anything)
        content = json.dumps(plain).encode()
    return gzip.compress(content, mtime=0) if draw(st.booleans()) else content


class Page:
    """A page that is served, and what it must not do."""

    def __init__(self, address: str) -> None:
        self.client = httpx.Client(
            base_url=f"{address.rstrip('/')}/gradio_api/",
            timeout=PATIENCE_SECONDS,
            limits=httpx.Limits(max_keepalive_connections=0),
        )

    def send(self, call: Call) -> str:
        """Send it and listen to the end. Returns: what kind of answer came. Raises: AssertionError."""
        content = call.body if isinstance(call.body, bytes | None) else json.dumps(call.body).encode()
        method = call.method or ("GET" if content is None else "POST")
        given = [("content-type", call.kind)] * (content is not None) + list(call.headers)
        headers = [(name.encode(), value.encode("latin-1")) for name, value in given]
        answer = self.client.request(method, call.path, content=content, headers=headers)
        self._check(answer.status_code, answer.text)
        is_run = answer.status_code == 200 and call.path.startswith(("call/", "queue/join")) and method == "POST"
        return self._listen(call, answer.json()["event_id"]) if is_run else str(answer.status_code)

    def upload(self, content: bytes) -> str | None:
        """Upload a file. Returns: its path on the server, or None where it is refused."""
        answer = self.client.post("upload", files={"files": ("mine.json.gz", content)})
        self._check(answer.status_code, answer.text)
        return answer.json()[0] if answer.status_code == 200 else None

    def _listen(self, call: Call, event: str) -> str:
        if call.path == "queue/join":
            body = json.loads(call.body) if isinstance(call.body, bytes) else call.body
            heard = self.client.get("queue/data", params={"session_hash": body["session_hash"]}).text
            told = [json.loads(line.removeprefix("data: ")) for line in heard.strip().splitlines() if line]
            (end,) = (one for one in told if one["msg"] == "process_completed")
            kind, data = "complete" if end["success"] else "error", end["output"]
        else:
            heard = self.client.get(f"{call.path}/{event}").text
            lines = heard.strip().splitlines()
            kind, data = lines[-2].removeprefix("event: "), json.loads(lines[-1].removeprefix("data: "))
        self._check(200, heard)
        assert kind in ("complete", "error"), heard[-300:]
        if kind == "error":
            said = data["error"] if isinstance(data, dict) else data
            assert said, f"an error without a sentence: {call}"
        return kind

    @staticmethod
    def _check(status: int, text: str) -> None:
        if status == 500:  # how Gradio answers where a handler beside the queue refuses a value: with its sentence
            said = json.loads(text)["error"]
            assert said, f"{status}: {text[:300]}"
            assert said != FAULT
        else:
            assert status in ALLOWED, f"{status}: {text[:300]}"
        assert "root:" not in text, "a file of this machine"
        assert SECRET not in text, "a file of this machine"
        assert not [leak for leak in LEAKS if leak in text], text[:300]
