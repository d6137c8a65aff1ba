"""The head of the page, in the HTML itself: Gradio's script adds one too late for the preview of a link.

A preview takes the first tags that it finds, and Gradio's say "Gradio", so they are removed. With the style sheets in
the HTML the page is laid out only once.
"""

import html
import re
from urllib.parse import urlsplit

from gradio.route_utils import get_root_url
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from .middleware import OWN

SENTENCE = "A small model guesses, a large model checks: fewer passes. The large one decides every word."
_PREVIEW = re.compile(r'<meta\s+(?:property|name)="(?:og|twitter):[^>]*>')
_BEGIN, _END = '<meta charset="utf-8" />', "</body>"


class HeadMiddleware:
    """The middleware that writes the head of the page; all other answers pass as they are."""

    def __init__(self, app: ASGIApp, root_path: str, title: str, style: str) -> None:
        self.app, self.root_path, self.title, self.style = app, root_path, title, style

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request."""
        roots = {urlsplit(self.root_path).path.rstrip("/"), scope.get("root_path", "").rstrip("/"), ""}
        if scope["type"] != "http" or scope["path"].rstrip("/") not in roots:
            await self.app(scope, receive, send)
            return
        start: Message = {}
        body = bytearray()

        async def collect(message: Message) -> None:
            start.update(message) if message["type"] == "http.response.start" else body.extend(message.get("body", b""))

        await self.app(scope, receive, collect)
        address = get_root_url(Request(scope), "/", self.root_path)
        whole = self._with_head(body.decode(), address).encode()
        MutableHeaders(scope=start)["content-length"] = str(len(whole))
        await send(start)
        await send({"type": "http.response.body", "body": whole})

    def _with_head(self, page: str, address: str) -> str:
        tags = {
            "og:title": self.title,
            "og:description": SENTENCE,
            "og:type": "website",
            "og:url": f"{address}/",
            "og:image": f"{address}{OWN}preview.png",
            "twitter:card": "summary_large_image",
        }
        preview = "".join(f'<meta property="{name}" content="{html.escape(words)}">' for name, words in tags.items())
        head = f"{_BEGIN}<title>{html.escape(self.title)}</title>{preview}"
        style = f"<style>{self.style}</style>{_END}"  # behind the sheets that Gradio's script adds to the head
        return _PREVIEW.sub("", page).replace(_BEGIN, head, 1).replace(_END, style, 1)
