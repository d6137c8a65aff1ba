"""The middleware that every request passes on its way to Gradio: headers, checks and quotas."""

import errno
import logging
import math
import re

from gradio.route_utils import FnIndexInferError
from httpx import URL, InvalidURL
from python_multipart.multipart import parse_options_header
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.formparsers import MultiPartException
from starlette.responses import JSONResponse, PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from ..host.limits import ANYWHERE, Limits
from ..host.listening import LOCAL
from ..parts.files import LEARN
from .calls import MAX_BYTES, CallError, check_call
from .quota import Refusal, UploadQuota

UPLOAD = "/gradio_api/upload"
MARKS_OF_ONE_FILE = 2
"""How often the boundary stands in the body: before the file and at the end."""
MAX_DRAINED_BYTES = 64 * 1024 * 1024
"""A refused body is read on up to here: a client that still sends when the answer comes sees a broken connection."""
ADDRESSES = ("host", "x-forwarded-host", "x-gradio-server")
"""Gradio makes addresses of these headers only after a run has begun; an error then would reach nobody."""
CLOSED = (
    "/gradio_api/deep_link",
    "/gradio_api/dev",
    "/gradio_api/process_recording",
    "/gradio_api/vibe",
    "/monitoring",
)
"""Addresses for Gradio's developers, or that write to the disk. This page does not use them."""
ONLY_THIS_MACHINE = (
    "this page answers to the names of this machine only: open http://127.0.0.1 with its port, or set "
    "FORWARDED_ALLOW_IPS where another server stands in front of it."
)
RETRY_SECONDS = "10"
"""After this time a client may ask a full queue again."""
FAULT = "The call failed: internal server error."
NOT_HERE = "The call names something that is not here, or passes a wrong value; /gradio_api/info lists all endpoints."


def content_security_policy(frame_ancestors: str) -> str:
    """The policy: load nothing from elsewhere. Gradio needs inline scripts and ``eval``, so both are allowed.

    ``*`` leaves the rule of frames out: for browsers it means web addresses only, and a file may frame the page too.
    """
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
    if frame_ancestors == ANYWHERE:
        del rules["frame-ancestors"]
    return "; ".join(f"{name} {value}" for name, value in rules.items())


class Gate:
    """The middleware.

    If the page is private, only this machine can reach it: a request that names another host comes from a foreign web
    page whose name leads here (DNS rebinding), and is refused.
    """

    def __init__(self, app: ASGIApp, limits: Limits, is_private: bool = False) -> None:
        self.app, self.limits, self.is_private = app, limits, is_private
        self.quota = UploadQuota(limits)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        send = self._with_headers(scope, send)
        path, hosts = scope["path"].rstrip("/"), _hosts(scope)
        if hosts is None:
            await _refuse(400, "A header should name an address, and does not.", scope, receive, send)
        elif self.is_private and not hosts <= {*LOCAL}:
            words = f"The request names {', '.join(sorted(hosts))[:100]}; {ONLY_THIS_MACHINE}"
            await _refuse(403, words, scope, receive, send)
        elif path.startswith(CLOSED):
            await _refuse(404, "There is no such address here.", scope, receive, send)
        elif scope["method"] == "POST" and path == UPLOAD:
            await self._upload(scope, receive, send)
        elif scope["method"] == "POST":
            await self._call(scope, receive, send)
        else:
            await self._pass_on(scope, receive, send)

    async def _upload(self, scope: Scope, receive: Receive, send: Send) -> None:
        """An uploaded file, unless its address has sent too many."""
        size = Headers(scope=scope).get("content-length", "")
        if re.fullmatch(r"\d{1,15}", size, re.ASCII):
            refusal = self.quota.refuse(scope["client"][0] if scope.get("client") else "", int(size))
        else:
            refusal = Refusal("An upload must say how long it is.")
        if refusal is not None:
            await _drain(receive)
            later = {"retry-after": str(math.ceil(refusal.seconds))} if refusal.seconds else {}
            await PlainTextResponse(refusal.words, 429, later)(scope, receive, send)
            return
        await self._pass_on(scope, _one_file(scope, receive), send)

    async def _call(self, scope: Scope, receive: Receive, send: Send) -> None:
        """A call of a handler. Its JSON is read here, so that a call that no handler can answer is refused in words."""
        kind = Headers(scope=scope).get("content-type", "").split(";")[0].strip().lower()
        if kind != "application/json":
            await _refuse(415, "Send JSON, with the content type application/json.", scope, receive, send)
            return
        body, more = bytearray(), True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                return
            body += message.get("body", b"")
            more = message.get("more_body", False)
            if len(body) > MAX_BYTES:
                words = f"A call may have {MAX_BYTES:,} bytes; this one has more."
                await _refuse(413, words, scope, receive, send, more=more)
                return
        handlers = {number for number, one in scope["app"].get_blocks().fns.items() if one.fn is not None}
        try:
            check_call(bytes(body), handlers)
        except CallError as error:
            await _refuse(400, str(error), scope, receive, send, more=False)
            return

        await self._pass_on(scope, replayed(bytes(body), receive), send)

    async def _pass_on(self, scope: Scope, receive: Receive, send: Send) -> None:
        """To Gradio. An exception becomes a sentence, and an answer that has begun gets its end."""
        began = whole = False

        async def sent(message: Message) -> None:
            nonlocal began, whole
            began = True
            whole = whole or (message["type"] == "http.response.body" and not message.get("more_body", False))
            await send(message)

        try:
            await self.app(scope, receive, sent)
        except Exception as error:  # any: what Gradio did not expect becomes a sentence here
            status, words = _broken(error)
            if status >= 500:
                logging.exception("a request could not be answered")
            else:
                logging.warning("a request was refused: %.300r", error)
            if not began:
                await JSONResponse({"detail": words, "error": words}, status)(scope, receive, send)
            elif not whole:
                await send({"type": "http.response.body", "body": b"", "more_body": False})

    def _with_headers(self, scope: Scope, send: Send) -> Send:
        is_lesson = scope["path"].startswith(f"/{LEARN}")
        framed_by = self.limits.lesson_frame_ancestors if is_lesson else self.limits.frame_ancestors
        given = {
            "content-security-policy": content_security_policy(framed_by),
            "x-content-type-options": "nosniff",
            "referrer-policy": "same-origin",
        }

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                headers.update(given)
                if message["status"] == 503:
                    headers["retry-after"] = RETRY_SECONDS
            await send(message)

        return sent


def replayed(body: bytes, receive: Receive) -> Receive:
    """What receives a request whose body was read already: the body in one message, then what still comes."""
    read = False

    async def received() -> Message:
        nonlocal read
        if read:
            return await receive()
        read = True
        return {"type": "http.request", "body": body, "more_body": False}

    return received


async def _refuse(status: int, words: str, scope: Scope, receive: Receive, send: Send, *, more: bool = True) -> None:
    """Read the rest of the body, then answer with a sentence. ``more``: there is a rest."""
    if more and scope["method"] == "POST":
        await _drain(receive)
    await JSONResponse({"detail": words, "error": words}, status)(scope, receive, send)


def _one_file(scope: Scope, receive: Receive) -> Receive:
    """The body of an upload; it breaks off at a second file, and Gradio then removes the first."""
    boundary = parse_options_header(Headers(scope=scope).get("content-type", ""))[1].get(b"boundary", b"")
    mark, seen, tail = b"--" + boundary, 0, b""

    async def received() -> Message:
        nonlocal seen, tail
        message = await receive()
        body = tail + message.get("body", b"")
        seen, tail = seen + body.count(mark), body[max(0, len(body) - len(mark) + 1) :]
        if boundary and seen > MARKS_OF_ONE_FILE:
            raise MultiPartException("An upload brings one file; send each file separately.")
        return message

    return received


async def _drain(receive: Receive) -> None:
    size, more = 0, True
    while more and size < MAX_DRAINED_BYTES:
        message = await receive()
        size, more = size + len(message.get("body", b"")), message.get("more_body", False)


def _broken(error: Exception) -> tuple[int, str]:
    """Status and sentence of an exception; below 500 it was the caller's mistake.

    Gradio raises an error whose cause is an HTTPException where it refuses after its answer has begun.
    """
    if isinstance(error, (LookupError, TypeError, FnIndexInferError)) or isinstance(error.__cause__, HTTPException):
        return 404, NOT_HERE
    if not isinstance(error, OSError):
        return 500, FAULT
    full = error.errno in (errno.ENOSPC, errno.EDQUOT)
    return 507, "The disk of this page is full; try again later." if full else "The upload could not be kept."


def _hosts(scope: Scope) -> set[str] | None:
    """The hosts that the request names; None if a header that should name one does not."""
    given, hosts = Headers(scope=scope), set()
    for value in (value for name in ADDRESSES for value in given.getlist(name)):
        try:
            named = [one.strip() for one in value.split(",")]
            hosts |= {URL(one if "://" in one else f"http://{one}").host for one in named}
        except InvalidURL:
            return None
    return hosts
