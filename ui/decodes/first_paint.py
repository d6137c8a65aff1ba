"""The first paint: the page's first line, its prompt, and the forest of a recording, drawn on the server.

Gradio's page is empty until its scripts have run. This markup is part of the page, so a browser paints it with the
first bytes; ``forest.js`` removes it when the viewer has drawn. It cannot be used and is hidden from screen readers,
because the page shows the same again.
"""

from html import escape
from urllib.parse import parse_qsl

from gradio.route_utils import get_root_url
from starlette.datastructures import MutableHeaders
from starlette.requests import Request
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from visualize import forest_svg
from visualize.drawings.decode_tree import decode_quality, decode_title
from visualize.look.states import Theme
from visualize.scenes.records import Scene
from visualize.words.words import Words

from ..parts.sharing import retold
from .recording import Recording

THEMES: tuple[Theme, Theme] = ("light", "dark")
BEFORE = b"<gradio-app"
"""Gradio's own element; only its page has it."""
MANIFEST = b'<link rel="manifest" href="/manifest.json" />'
"""Gradio's, for pages that can be installed. This one cannot, and the address is wrong behind another server's path."""


def first_paint(recording: Recording | None, prompt: str, styles: str, script: str) -> str:
    """Return markup of the picture; without a recording only the hint to fetch the script early."""
    early = f'<link rel="preload" as="script" href="{escape(script)}">'
    if recording is None or not len(recording):
        return early
    scene = recording.scene()
    drawn = "".join(f'<div class="first-{theme}">{forest_svg(scene, theme=theme)}</div>' for theme in THEMES)
    told = escape(scene.iterations[0].steps[-1].sentence)
    return (
        f'{early}<style>{styles}</style><div id="first-paint" aria-hidden="true" translate="no">'
        '<p class="first-name"><b>DSBD</b> '
        "<span>A small model guesses, a large model checks: fewer passes, same quality</span></p>"
        f'<p class="first-prompt">{escape(prompt)}</p><div class="first-room">{_whole(scene)}'
        f'<p class="first-told">{told}</p></div>{drawn}</div>'
    )


def _whole(scene: Scene) -> str:
    """The heading of the whole decode, and room for the viewer's strip; empty where the viewer shows none."""
    if len(scene.whole.bands) < 2:
        return ""
    words = Words(scene.strings["language"])
    heading = f"<b>{escape(decode_title(scene, words))}</b><span>{escape(decode_quality(scene, words))}</span>"
    return f'<p class="first-whole">{heading}</p><div class="first-strip"></div>'


class FirstPaint:
    """Middleware that puts this markup at the beginning of Gradio's page, tells its preview, and removes its manifest.

    A link with a prompt begins with its run, so it gets no picture of another decode.
    """

    def __init__(self, app: ASGIApp, markup: str) -> None:
        self.app, self.markup = app, markup.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer one request; only Gradio's page is changed."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        held: Message | None = None
        body, root = b"", scope["app"].root_path  # an app that is mounted in Gradio's puts itself into the scope later

        async def sent(message: Message) -> None:
            nonlocal held, body
            if message["type"] == "http.response.start":
                kind = MutableHeaders(scope=message).get("content-type", "")
                if kind.startswith("text/html"):
                    held = message
                    return
            elif held is not None:
                body += message.get("body", b"")
                if message.get("more_body", False):
                    return
                runs = b"prompt" in dict(parse_qsl(scope["query_string"]))
                painted = body.replace(MANIFEST, b"", 1).replace(BEFORE, (b"" if runs else self.markup) + BEFORE, 1)
                whole = retold(painted, get_root_url(Request(scope), scope["path"], root))
                MutableHeaders(scope=held)["content-length"] = str(len(whole))
                await send(held)
                message = {"type": "http.response.body", "body": whole}
            await send(message)

        await self.app(scope, receive, sent)
