"""The middleware in front of Gradio: which addresses are open, who may call, what a call may hold, and the headers.

Gradio serves more than this page uses: it fetches any address of the web for ``/gradio_api/file=``, writes links and
uploads to the disk, and shows its own statistics. All of that answers 404 here, before a name is resolved. Gradio also
uses the names in a call without checking that they exist, keeps them for ever, and stops its queue for good at an empty
one; so every call is read here first.
"""

import json
import re
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, nullcontext
from itertools import chain
from typing import Annotated, Any
from urllib.parse import urlsplit
from uuid import uuid4

from gradio.queueing import Queue
from gradio.server_messages import ProcessCompletedMessage
from pydantic import BaseModel, ConfigDict, Field, StringConstraints
from starlette.datastructures import Headers, MutableHeaders, QueryParams
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .limits import ANYWHERE, LOCAL, Limits

API = "/gradio_api"
MCP = f"{API}/mcp"
OWN = f"{API}/dsbd/"
"""Where the page's own files are served."""
LEARN = f"{OWN}learn/"
MAX_BYTES = 512 * 1024
"""The largest call; the longest prompt with all settings needs a fifth of this."""
MAX_MARKS, MAX_DEPTH = 10_000, 32
"""Most commas and brackets of a call, and their depth: Gradio looks through all values while everybody waits."""
OPEN = re.compile(
    rf"""/(config|theme\.css|manifest\.json|favicon\.ico|robots\.txt|assets/.*|static/.*|svelte/.*|_app/.*|health)?
    |{API}/(dsbd/.*|info|app_id|startup-events|config|theme\.css|queue/(join|data)|cancel|reset
        |run/predict|heartbeat/\w{{1,64}}|call/decode(/\w{{1,64}})?|mcp(/schema)?|login_check)""",
    re.VERBOSE,
)
"""The addresses that the page and its programs use, below the root path; every other one is closed."""
MAX_PATH = 500
CALLER = "x-dsbd-caller"
"""The header that marks the runs of an MCP caller; Gradio passes it on, for it calls the page once more by itself."""
NEEDS = {
    "call/decode": {"data"},
    "queue/join": {"data", "session_hash", "fn_index"},
    "run/predict": {"data", "fn_index"},
    "cancel": {"event_id", "session_hash", "fn_index"},
    "reset": {"event_id"},
}
"""What a call must have, by its address."""
REFUSALS = {
    "closed": (404, "There is no such address here."),
    "foreign": (403, "The call comes from another web page; open this page itself."),
    "host": (403, "This page answers to the names of this machine only: open http://127.0.0.1 with its port, or set "
                  "FORWARDED_ALLOW_IPS where another server stands in front of it."),
    "left": (410, "The program that asked for this has hung up."),
    "gone": (404, "There is no call of this name here, or its answer was fetched; call again."),
    "fields": (422, "A call is JSON: data is a list, fn_index and trigger_id are whole numbers, and session_hash and "
                    "event_id have 1 to 64 letters, digits, - and _; see docs/programs.md."),
    "function": (404, "The page has no function of this number; reload it, or see /gradio_api/info."),
    "kind": (415, "Send JSON, with the content type application/json."),
    "large": (413, f"A call may have {MAX_BYTES:,} bytes and {MAX_MARKS:,} commas and brackets; this one has more."),
}  # fmt: skip

Name = Annotated[str, StringConstraints(pattern=r"^[A-Za-z0-9_-]{1,64}$")]
Number = Annotated[int, Field(ge=0, lt=2**31)]


class Call(BaseModel):
    """What Gradio may read of a call."""

    model_config = ConfigDict(strict=True, extra="forbid")

    data: list[Any] = []
    session_hash: Name = ""
    event_id: Name = ""
    fn_index: Number = 0
    trigger_id: Number | None = None
    event_data: Any = None


def content_security_policy(frame_ancestors: str) -> str:
    """Return the policy: load nothing from elsewhere. Gradio's page needs inline scripts and ``eval``.

    ``*`` leaves the rule of frames out: for browsers it means web addresses only, and a file may frame the page too.
    """
    rules = (
        "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval' blob:; style-src 'self' 'unsafe-inline'; "
        "img-src 'self' data: blob:; font-src 'self' data:; connect-src 'self' data: blob:; worker-src 'self' blob:; "
        "frame-src 'self' blob:; object-src 'none'; base-uri 'self'; form-action 'self'"
    )
    if frame_ancestors == ANYWHERE:
        return rules
    quoted = re.sub(r"(?<!')\b(self|none)\b(?!')", r"'\1'", frame_ancestors)
    return f"{rules}; frame-ancestors {quoted}"


class GuardMiddleware:
    """Refuses requests, or passes them on. A private page can be reached from this machine only: a request that names
    another host comes from a foreign web page whose name leads here (DNS rebinding)."""

    def __init__(self, app: ASGIApp, limits: Limits, is_private: bool = False, root_path: str = "") -> None:
        self.app, self.limits, self.is_private = app, limits, is_private
        self.root_path = urlsplit(root_path).path.rstrip("/")
        self.callers: set[str] = set()
        """Names of those who wait for the answer of a tool."""

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: refuse it, or pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path, is_call = self._path(scope), scope["method"] == "POST"
        why = self._refusal(path, scope)
        if why is None and is_call:
            body, why = await _read(receive)
            receive = _replayed(body, receive)
            why = why or _misread(path, body, scope)
            forget_unheard(_queue(scope), self.limits.max_visitors)
        elif why is None:
            why = _unheard_of(path, scope)
        status, words = REFUSALS[why] if why else (0, "")
        app = JSONResponse({"detail": words, "error": words}, status) if why else self.app
        async with self._caller(scope) if is_call and path == MCP and not why else nullcontext():
            await app(scope, receive, self._with_headers(path, send))

    @asynccontextmanager
    async def _caller(self, scope: Scope) -> AsyncIterator[None]:
        """Give the caller of a tool a name, which Gradio passes on to the run; the run ends with the block."""
        caller, queue = uuid4().hex, _queue(scope)
        scope["headers"] = [*scope["headers"], (CALLER.encode(), caller.encode())]
        self.callers.add(caller)
        try:
            yield
        finally:
            self.callers.remove(caller)
            for event in list(queue.event_ids_to_events.values()):
                if event.request.headers.get(CALLER) == caller:
                    queue.send_message(event, ProcessCompletedMessage(output={"error": "Stopped."}, success=False))
                    await queue.clean_events(event_id=event._id)

    def _path(self, scope: Scope) -> str:
        """Return the path as the router sees it: without the root path; the server has unquoted it."""
        path: str = scope["path"]
        for root in {self.root_path, scope.get("root_path", "")} - {""}:
            if path.startswith(root) and path[len(root) :][:1] in ("", "/"):
                path = path[len(root) :]
        return path.rstrip("/") or "/"

    def _refusal(self, path: str, scope: Scope) -> str | None:
        headers = Headers(scope=scope)
        hosts = [*headers.getlist("host"), *headers.getlist("x-forwarded-host"), *headers.getlist("x-gradio-server")]
        if self.is_private and not {_name_of(host) for host in hosts} <= {*LOCAL}:
            return "host"
        if len(path) > MAX_PATH or not OPEN.fullmatch(path) or any(mark in path for mark in ("://", "..", "%")):
            return "closed"
        if scope["method"] != "POST":
            return None if scope["method"] in ("GET", "HEAD", "OPTIONS") else "closed"
        own = hosts if not self.is_private else headers.getlist("host")
        if any(origin.partition("://")[2] not in own for origin in headers.getlist("origin")):
            return "foreign"
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "foreign"
        if not {*headers.getlist(CALLER)} <= self.callers:
            return "left"
        kinds = headers.getlist("content-type")
        is_json = len(kinds) == 1 and kinds[0].split(";")[0].strip().lower() == "application/json"
        return None if is_json else "kind"

    def _with_headers(self, path: str, send: Send) -> Send:
        limits = self.limits
        framed_by = limits.lesson_frame_ancestors if path.startswith(LEARN) else limits.frame_ancestors
        headers = {"content-security-policy": content_security_policy(framed_by)}
        headers |= {"x-content-type-options": "nosniff", "referrer-policy": "same-origin"}
        waiting: list[Message] = []

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(headers)
                if path == f"{API}/run/predict" and message["status"] == 500:  # of Gradio, for a bug or a refusal
                    waiting.append(message)
                    return
            elif waiting:
                start = waiting.pop()
                await send({**start, "status": 422 if json.loads(message["body"])["error"] else 500})
            await send(message)

        return sent


def _name_of(host: str) -> str:
    """Return the name in a host header, without its port; brackets of an IPv6 address are left out."""
    return re.sub(r":\d+$", "", host).strip("[]").lower() if "@" not in host else host


async def _read(receive: Receive) -> tuple[bytes, str | None]:
    """Read the body of a call. Returns it, and why it is refused."""
    body, more = bytearray(), True
    while more and len(body) <= MAX_BYTES:
        message = await receive()
        body += message.get("body", b"")
        more = message.get("more_body", False)  # missing where the caller has gone
    depth = deepest = 0
    for mark in re.findall(rb"[\[{}\]]", body[: MAX_BYTES + 1]):
        depth += 1 if mark in b"[{" else -1
        deepest = max(deepest, depth)
    marks = sum(body.count(mark) for mark in (b",", b"[", b"{"))
    is_large = len(body) > MAX_BYTES or marks > MAX_MARKS or deepest > MAX_DEPTH
    return bytes(body), "large" if is_large else None


def _queue(scope: Scope) -> Queue:
    queue: Queue = scope["app"].get_blocks()._queue
    return queue


def _misread(path: str, body: bytes, scope: Scope) -> str | None:
    """Return why Gradio would not understand a call."""
    needs = NEEDS.get(path.removeprefix(f"{API}/"), set())
    try:
        call = Call.model_validate_json(body) if needs else json.loads(body)  # MCP has a reader of its own
    except ValueError:
        return "fields"
    if needs and not needs <= call.model_fields_set:
        return "fields"
    functions = scope["app"].get_blocks().fns
    if "fn_index" in needs and (call.fn_index not in functions or functions[call.fn_index].fn is None):
        return "function"
    return None


def _unheard_of(path: str, scope: Scope) -> str | None:
    """Return why a request that listens to the answer of a call cannot."""
    names = QueryParams(scope["query_string"]).getlist("session_hash")
    if path.startswith(f"{API}/call/"):
        names = [path.rpartition("/")[2]]
    elif path != f"{API}/queue/data":
        return None
    queue = _queue(scope)
    known = {*queue.pending_messages_per_session, *chain(*queue.pending_event_ids_session.values())}
    return None if names and known.issuperset(names) else "gone"


def forget_unheard(queue: Queue, most: int) -> None:
    """Drop the answers that nobody fetched, but for the latest; Gradio keeps a session's name for ever."""
    alive = {event.session_hash for event in queue.event_ids_to_events.values()}
    names = {**queue.pending_event_ids_session, **queue.pending_messages_per_session}
    for name in [one for one in names if one not in alive][:-most]:
        queue.pending_event_ids_session.pop(name, None)
        queue.pending_messages_per_session.pop(name, None)


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what receives a request whose body was read already."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received
