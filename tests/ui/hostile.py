"""Calls and uploads that no page would send, for Hypothesis, and what the page may answer to them."""

import gzip
import json
from dataclasses import dataclass, fields
from typing import Any

import httpx
from hypothesis import strategies as st

from dsbd.settings import METHODS, DecodingSettings
from tests.visualize.toy import toy_trace

PATIENCE_SECONDS = 60
ALLOWED = {200, 400, 403, 404, 405, 413, 415, 422, 429, 503}
"""Answers to a bad request. A 500 is a fault: something was not foreseen."""
LEAKS = ("Traceback", 'File "', "site-packages")
"""What would tell a stranger how this machine looks inside."""

scalars = st.one_of(
    st.none(),
    st.booleans(),
    st.integers(),
    st.sampled_from([10**400, -(10**30), 1e308, -1e308, 0.1, -1]),
    st.floats(),
    st.text(max_size=20),
    st.sampled_from(["\ud800", "\u202e", "<script>alert(1)</script>", "\x00", "../../etc/passwd", "auto", *METHODS]),
)
anything = st.recursive(
    scalars, lambda inner: st.lists(inner, max_size=4) | st.dictionaries(st.text(max_size=8), inner, max_size=4)
)
names = st.sampled_from([field.name for field in fields(DecodingSettings)])
settings = st.one_of(anything, st.dictionaries(names, st.one_of(scalars, st.integers(0, 40)), max_size=5))
prompts = st.one_of(anything, st.text(max_size=40))


@dataclass(frozen=True)
class Call:
    """One request: where to, and what."""

    path: str
    body: Any


@st.composite
def calls(draw) -> Call:
    """A call of an endpoint for programs."""
    way = draw(st.sampled_from(["decode", "compare", "cancel"]))
    if way == "decode":
        return Call("call/decode", {"data": [*draw(st.lists(prompts, max_size=1)), draw(settings)]})
    if way == "compare":
        methods = draw(st.one_of(anything, st.lists(st.sampled_from(METHODS), max_size=2)))
        return Call("call/compare", {"data": [draw(prompts), methods, draw(scalars), draw(settings)]})
    return Call("cancel", {"session_hash": "x", "fn_index": draw(st.integers(0, 50)), "event_id": draw(scalars)})


@st.composite
def uploads(draw) -> bytes:
    """A file that is no trace, or a trace with one value changed."""
    if draw(st.booleans()):
        content = draw(st.binary(max_size=200))
    else:
        plain = toy_trace().to_dict()
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
        head = {"content-type": "application/json"}
        answer = self.client.post(call.path, content=json.dumps(call.body).encode(), headers=head)
        self._check(answer.status_code, answer.text)
        event = answer.json().get("event_id") if answer.status_code == 200 and call.path != "cancel" else None
        if event is None:
            return str(answer.status_code)
        return self._listen(call, event)

    def upload(self, content: bytes) -> str | None:
        """Upload a file. Returns: its path on the server, or None where it is refused."""
        answer = self.client.post("upload", files={"files": ("mine.json.gz", content)})
        self._check(answer.status_code, answer.text)
        return answer.json()[0] if answer.status_code == 200 else None

    def _listen(self, call: Call, event: str) -> str:
        heard = self.client.get(f"{call.path}/{event}").text
        self._check(200, heard)
        lines = heard.strip().splitlines()
        kind, data = lines[-2].removeprefix("event: "), json.loads(lines[-1].removeprefix("data: "))
        assert kind in ("complete", "error"), heard[-300:]
        if kind == "error":
            said = data["error"] if isinstance(data, dict) else data
            assert said, f"an error without a sentence: {call}"
        return kind

    @staticmethod
    def _check(status: int, text: str) -> None:
        assert status in ALLOWED, f"{status}: {text[:300]}"
        assert not [leak for leak in LEAKS if leak in text], text[:300]
