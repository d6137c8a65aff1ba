"""The middleware in front of Gradio: which addresses are open, who may call, how large a call is, and the headers.

Gradio serves more than this page uses: it fetches any address of the web for ``/gradio_api/file=``, writes links and
uploads to the disk, and shows its own figures. All of that answers 404 here, before any name is resolved.
"""

import re
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import JSONResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .limits import ANYWHERE, LOCAL, Limits

API = "/gradio_api"
OWN = f"{API}/dsbd/"
"""Where the page's own files are served."""
LEARN = f"{OWN}learn/"
MAX_BYTES = 512 * 1024
"""Of a call: the largest prompt with all settings needs a fifth of this."""
MAX_MARKS, MAX_DEPTH = 10_000, 32
"""Commas and brackets of a call, and how deep they nest: Gradio looks through all values while everybody waits."""
OPEN = re.compile(
    rf"""/(config|theme\.css|manifest\.json|favicon\.ico|robots\.txt|assets/.*|static/.*|svelte/.*|_app/.*|health)?
    |{API}/(dsbd/.*|info|app_id|startup-events|config|theme\.css|queue/(join|data)|cancel|reset
        |run/predict|heartbeat/\w+|call/.*|mcp(/.*)?|login_check)""",
    re.VERBOSE,
)
"""The addresses that the page and its programs use, below the root path; every other one is closed."""
REFUSALS = {
    "closed": (404, "There is no such address here."),
    "foreign": (403, "The call comes from another web page; open this page itself."),
    "host": (403, "This page answers to the names of this machine only: open http://127.0.0.1 with its port, or set "
                  "FORWARDED_ALLOW_IPS where another server stands in front of it."),
    "kind": (415, "Send JSON, with the content type application/json."),
    "large": (413, f"A call may have {MAX_BYTES:,} bytes and {MAX_MARKS:,} commas and brackets; this one has more."),
}  # fmt: skip


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


class Gate:
    """The middleware. A private page can be reached from this machine only: a request that names another host comes
    from a foreign web page whose name leads here (DNS rebinding)."""

    def __init__(self, app: ASGIApp, limits: Limits, is_private: bool = False, root_path: str = "") -> None:
        self.app, self.limits, self.is_private = app, limits, is_private
        self.root_path = urlsplit(root_path).path.rstrip("/")

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request: refuse it, or pass it on."""
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return
        path = self._path(scope)
        why = self._refusal(path, scope)
        if why is None and scope["method"] == "POST":
            body, why = await _read(receive)
            receive = _replayed(body, receive)
        status, words = REFUSALS[why] if why else (0, "")
        app = JSONResponse({"detail": words, "error": words}, status) if why else self.app
        await app(scope, receive, self._with_headers(path, send))

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
        if not OPEN.fullmatch(path) or any(mark in path for mark in ("://", "..", "%")):
            return "closed"
        if scope["method"] != "POST":
            return None if scope["method"] in ("GET", "HEAD", "OPTIONS") else "closed"
        own = hosts if not self.is_private else headers.getlist("host")
        if any(urlsplit(origin).netloc not in own for origin in headers.getlist("origin")):
            return "foreign"
        if headers.get("sec-fetch-site", "same-origin") not in ("same-origin", "none"):
            return "foreign"
        kinds = headers.getlist("content-type")
        is_json = len(kinds) == 1 and kinds[0].split(";")[0].strip().lower() == "application/json"
        return None if is_json else "kind"

    def _with_headers(self, path: str, send: Send) -> Send:
        limits = self.limits
        framed_by = limits.lesson_frame_ancestors if path.startswith(LEARN) else limits.frame_ancestors
        given = {"content-security-policy": content_security_policy(framed_by)}
        given |= {"x-content-type-options": "nosniff", "referrer-policy": "same-origin"}

        async def sent(message: Message) -> None:
            if message["type"] == "http.response.start":
                MutableHeaders(scope=message).update(given)
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


def _replayed(body: bytes, receive: Receive) -> Receive:
    """Return what receives a request whose body was read already."""
    waiting = [{"type": "http.request", "body": body, "more_body": False}]

    async def received() -> Message:
        return waiting.pop() if waiting else await receive()

    return received
