"""Ends the calls of a visitor who cancels, leaves or is cut off, whether they run or wait.

Gradio's own ``/cancel`` gives up the thread that runs a call and begins the next call beside it. Here the run is told
to end, and the queue waits for its end.
"""

import hashlib
import json
import re
import uuid
from collections.abc import Awaitable, Callable
from functools import partial
from urllib.parse import parse_qs

import gradio as gr
from gradio.queueing import Event, Queue
from gradio.server_messages import ProcessCompletedMessage
from gradio.utils import error_payload
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .gate import replayed
from .visitors import Visitors

CANCEL = ("/gradio_api/cancel", "/gradio_api/reset")
"""Where clients cancel a call. They use the second address for a call that had no name yet when it was cancelled."""
NEWS = re.compile(r"^/gradio_api/(?:queue/data|call/(?:v2/)?[^/]+/(?P<event>[0-9a-f]+))$")
"""Where a visitor listens to its calls. A visitor who stops listening has left."""
TOOLS = "/gradio_api/mcp"
CALLER = b"x-dsbd-caller"
"""A header that names the request of an MCP tool: all tools call through one client of Gradio."""
BEFORE = "Stopped before it began."

Which = Callable[[Event], bool]


async def end_calls(queue: Queue, visitors: Visitors, which: Which) -> bool:
    """End calls; return whether one of them runs, which reports its end itself.

    A waiting call ends now, a running call at its next look at the signal.
    """
    is_running = False
    for event in [one for one in queue.event_ids_to_events.values() if which(one)]:
        visitors.cancel(event._id)
        if event not in queue.event_queue_per_concurrency_id[event.concurrency_id].queue:
            is_running = True
            continue
        await queue.remove_from_queue(event._id)
        if event.session_hash in queue.pending_messages_per_session:
            queue.send_message(event, _never_began(event))
    return is_running


def _never_began(event: Event) -> ProcessCompletedMessage:
    """The end of a call that waited. Calls of the page change nothing there: the page says itself what was stopped."""
    if event.fn.api_visibility == "private":
        return ProcessCompletedMessage(output={"data": [gr.skip() for _ in event.fn.outputs]}, success=True)
    return ProcessCompletedMessage(output=error_payload(gr.Error(BEFORE), show_error=True), success=False)


class Leaving:
    """The middleware. It stands behind the gate, which passes on each body in one message, as a JSON object."""

    def __init__(self, app: ASGIApp, visitors: Visitors) -> None:
        self.app, self.visitors = app, visitors

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        path = scope.get("path", "").rstrip("/")
        is_post = scope.get("method") == "POST"
        if is_post and path in CANCEL:
            named = json.loads((await receive())["body"]).get("event_id")
            await self._ending(scope)(lambda event: event._id == named)
            await JSONResponse({"success": True})(scope, receive, send)
        elif is_post and path.startswith(TOOLS):
            await self._tool(scope, receive, send)
        elif scope["type"] == "http" and (found := NEWS.match(path)) is not None:
            asked = parse_qs(scope.get("query_string", b"").decode("latin-1"))
            session = found["event"] or (asked.get("session_hash") or [""])[0]
            await self._listened(scope, receive, send, lambda event: session in (event.session_hash, event._id))
        else:
            await self.app(scope, receive, send)

    async def _tool(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A message of an MCP client: the request of a tool, or the notice that one is cancelled."""
        body = (await receive())["body"]
        message = json.loads(body)
        told = message.get("params")
        if message.get("method") == "notifications/cancelled" and isinstance(told, dict):
            named = _caller_of(scope, told.get("requestId"))
            events = scope["app"].get_blocks()._queue.event_ids_to_events.values()
            callers = {caller for caller in map(_caller, events) if caller.startswith(named)}
            if len(callers) == 1:  # two clients may give their requests the same number
                await self._ending(scope)(lambda event: _caller(event) in callers)
        caller = f"{_caller_of(scope, message.get('id'))}{uuid.uuid4().hex}"
        headers = [(name, value) for name, value in scope["headers"] if name.lower() != CALLER]
        scope = {**scope, "headers": [*headers, (CALLER, caller.encode())]}
        await self._listened(scope, replayed(body, receive), send, lambda event: _caller(event) == caller)

    async def _listened(self, scope: Scope, receive: Receive, send: Send, which: Which) -> None:
        """Pass on a request whose caller listens to calls. If the caller hangs up before their end, they are ended."""
        whole, end = False, self._ending(scope)

        async def sent(message: Message) -> None:
            nonlocal whole
            whole = whole or (message["type"] == "http.response.body" and not message.get("more_body", False))
            await send(message)

        async def received() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect" and not whole:
                await end(which)
            return message

        await self.app(scope, received, sent)

    def _ending(self, scope: Scope) -> Callable[[Which], Awaitable[bool]]:
        """What ends calls of this page. Take it before the request goes on, which may change ``scope["app"]``."""
        return partial(end_calls, scope["app"].get_blocks()._queue, self.visitors)


def _caller_of(scope: Scope, number: object) -> str:
    """The beginning of the names of all requests with this number from this address."""
    address = scope["client"][0] if scope.get("client") else ""
    return hashlib.sha256(f"{address} {number!r}".encode()).hexdigest()


def _caller(event: Event) -> str:
    caller: str = event.request.headers.get(CALLER.decode(), "")
    return caller
