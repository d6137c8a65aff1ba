"""What every request passes on its way to Gradio: headers, sizes, upload quotas, and the notice that a visitor left.

A plain ASGI middleware.
"""

import errno
import json
import logging
import re
import time
from collections import deque
from urllib.parse import parse_qs

from starlette.datastructures import MutableHeaders
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .limits import Limits
from .visitors import Visitors

HOUR = 3600.0
UPLOAD = "/gradio_api/upload"
NEWS = re.compile(r"^/gradio_api/(?:queue/data|call/(?:v2/)?[^/]+/(?P<event>[0-9a-f]+))$")
"""Where a visitor listens to its run; who stops listening has left."""
MAX_ADDRESSES = 10_000
MAX_CALL_BYTES = 1024 * 1024
"""Bytes of a call's JSON; the largest prompt, form and settings need a tenth of it."""
_IN_WORDS = (
    b'{"error": null',
    b'{"error": "The call cannot be answered: it has too few or too many values, or one of a kind that the endpoint '
    b'does not take. GET /gradio_api/info lists what it takes."',
)
"""What Gradio sends where it refuses the values of a call itself, and what a program reads instead."""
_HALF_PAIR = re.compile(rb"\\u[dD][89a-fA-F]")
"""How JSON writes half of a surrogate pair; two of them are a character."""


def content_security_policy(frame_ancestors: str) -> str:
    """Nothing from elsewhere. Gradio writes scripts into its page and makes functions of texts, so both are allowed."""
    rules = {
        "default-src": "'self'",
        "script-src": "'self' 'unsafe-inline' 'unsafe-eval' blob:",
        "style-src": "'self' 'unsafe-inline'",
        "img-src": "'self' data: blob:",
        "font-src": "'self' data:",
        "connect-src": "'self' data: blob:",
        "worker-src": "'self' blob:",
        "frame-src": "'self' blob:",
        "object-src": "'none'",
        "base-uri": "'self'",
        "form-action": "'self'",
        "frame-ancestors": re.sub(r"(?<!')\b(self|none)\b(?!')", r"'\1'", frame_ancestors),
    }
    return "; ".join(f"{name} {value}" for name, value in rules.items())


class UploadQuota:
    """Files and bytes that each address has uploaded in the last hour."""

    def __init__(self, limits: Limits) -> None:
        self.limits = limits
        self._seen: dict[str, deque[tuple[float, int]]] = {}

    def refuse(self, address: str, size: int) -> str | None:
        """Count an upload of so many bytes. Returns: why it is refused, or None."""
        now = time.monotonic()
        seen = self._seen.setdefault(address, deque())
        while seen and seen[0][0] < now - HOUR:
            seen.popleft()
        if len(seen) >= self.limits.uploads_per_hour:
            return f"This address has uploaded {len(seen)} files in the last hour, which is as many as this page takes."
        if sum(bytes_ for _, bytes_ in seen) + size > self.limits.upload_bytes_per_hour:
            return "This address has uploaded as much in the last hour as this page takes."
        seen.append((now, size))
        self._forget(now)
        return None

    def _forget(self, now: float) -> None:
        if len(self._seen) > MAX_ADDRESSES:
            self._seen = {one: seen for one, seen in self._seen.items() if seen and seen[-1][0] >= now - HOUR}


class Gate:
    """The middleware.

    Args:
        app: what the requests go on to.
        visitors: the visitors of the page; those who left are stopped there.
        limits: those of uploads and frames count here.
    """

    def __init__(self, app: ASGIApp, visitors: Visitors, limits: Limits) -> None:
        self.app, self.visitors, self.limits = app, visitors, limits
        self.quota = UploadQuota(limits)
        self.headers = {
            "content-security-policy": content_security_policy(limits.frame_ancestors),
            "x-content-type-options": "nosniff",
            "referrer-policy": "same-origin",
        }

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send, path = self._with_headers(send), scope["path"].rstrip("/")
        if path == UPLOAD:
            await self._upload(scope, receive, send)
        elif scope["method"] == "POST":
            await self._call(scope, receive, send)
        elif session := _session_of(scope, path):
            await self._listen(session, scope, receive, send)
        else:
            await self.app(scope, receive, send)

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An uploaded file, if its address has not sent too many."""
        answered = False

        async def sent(message: Message) -> None:
            nonlocal answered
            answered = True
            await send(message)

        if words := self._refusal(scope):
            await PlainTextResponse(words, 429, {"retry-after": "600"})(scope, receive, send)
            return
        try:
            await self.app(scope, receive, sent)
        except OSError as error:
            if answered:
                raise
            logging.exception("an upload could not be kept")
            full = error.errno in (errno.ENOSPC, errno.EDQUOT)
            words = "The disk of this page is full; try again later." if full else "The upload could not be kept."
            await PlainTextResponse(words, 507)(scope, receive, send)

    async def _call(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A call of a handler: its JSON is read here, so that one that no handler could answer is refused in words."""
        body, more = b"", True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body, more = body + message.get("body", b""), message.get("more_body", False)
            if len(body) > MAX_CALL_BYTES:
                words = f"A call may have {MAX_CALL_BYTES:,} bytes; this one has more."
                await JSONResponse({"detail": words, "error": words}, 413)(scope, receive, send)
                return
        if not _is_text(body):
            words = "The call holds half of a surrogate pair, which is no character; send whole characters."
            await JSONResponse({"detail": words, "error": words}, 400)(scope, receive, send)
            return
        read = False

        async def received() -> Message:
            nonlocal read
            if read:
                return await receive()
            read = True
            return {"type": "http.request", "body": body, "more_body": False}

        await self.app(scope, received, send)

    async def _listen(self, session: str, scope: Scope, receive: Receive, send: Send) -> None:
        """The news of a run. When its visitor hangs up before the last of them, the run is stopped."""
        whole = False

        async def received() -> Message:
            message = await receive()
            if message["type"] == "http.disconnect" and not whole:
                self.visitors.stop(session)
            return message

        async def sent(message: Message) -> None:
            nonlocal whole
            if message["type"] == "http.response.body":
                whole = whole or not message.get("more_body", False)
                message["body"] = message.get("body", b"").replace(*_IN_WORDS)
            await send(message)

        await self.app(scope, received, sent)

    def _with_headers(self, send: Send) -> Send:
        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in self.headers.items():
                    headers[name] = value
                if message["status"] == 503:
                    headers["retry-after"] = str(round(max(5.0, self.visitors.expected_wait_seconds)))
            await send(message)

        return sent

    def _refusal(self, scope: Scope) -> str | None:
        headers = {name.lower(): value for name, value in scope["headers"]}
        size = headers.get(b"content-length", b"")
        if not size.isdigit():
            return "An upload must say how long it is."
        address = scope["client"][0] if scope.get("client") else ""
        return self.quota.refuse(address, int(size))


def _is_text(body: bytes) -> bool:
    """False where a text of this JSON could not be written again as UTF-8."""
    if not _HALF_PAIR.search(body):
        return True
    try:
        json.dumps(json.loads(body), ensure_ascii=False).encode()
    except UnicodeEncodeError:
        return False
    except (ValueError, RecursionError):
        return True  # no JSON at all: Gradio says so
    return True


def _session_of(scope: Scope, path: str) -> str | None:
    """The session whose news this request asks for; None for any other request."""
    found = NEWS.match(path)
    if found is None:
        return None
    asked = parse_qs(scope.get("query_string", b"").decode("latin-1"))
    return found["event"] or (asked.get("session_hash") or [None])[0]
