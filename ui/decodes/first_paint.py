"""The first paint: the page's first line, its prompt, and strip and forest of a recording, drawn on the server.

Gradio's page is empty until its scripts have run. This markup stands in the page itself, so a browser paints it with
the first bytes; ``forest.js`` takes it away when the viewer has drawn. Nothing in it can be used, and readers of the
screen are not told of it: what it shows comes again.
"""

from html import escape

from starlette.datastructures import MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from visualize import forest_svg
from visualize.look.states import Theme

from .first_strip import first_strip
from .recording import Recording

THEMES: tuple[Theme, Theme] = ("light", "dark")
BEFORE = b"<gradio-app"
"""Gradio's own element; only its page has it."""
MANIFEST = b'<link rel="manifest" href="/manifest.json" />'
"""Gradio's, for pages that can be installed, which this one is not; it leads out of a path of another server."""


def first_paint(recording: Recording | None, prompt: str, styles: str, script: str) -> str:
    """Markup of the picture; without a recording only the hint to fetch the script early.

    Args:
        recording: what the page opens with.
        prompt: of the form.
        styles: of this markup.
        script: the address that the drawing parts wait for.
    """
    early = f'<link rel="preload" as="script" href="{escape(script)}">'
    if recording is None or not len(recording):
        return early
    scene = recording.scene()
    drawn = "".join(f'<div class="first-{theme}">{forest_svg(scene, theme=theme)}</div>' for theme in THEMES)
    told = escape(scene.iterations[0].steps[-1].sentence)
    return (
        f'{early}<style>{styles}</style><div id="first-paint" aria-hidden="true"><p class="first-name"><b>DSBD</b> '
        "<span>A small model guesses, a large model checks: several tokens per pass</span></p>"
        f'<p class="first-prompt">{escape(prompt)}</p><div class="first-room">{first_strip(scene)}'
        f'<p class="first-told">{told}</p></div>{drawn}</div>'
    )


class FirstPaint:
    """Middleware: Gradio's page begins with this markup, and names no manifest.

    Args:
        app: what answers.
        markup: of :func:`first_paint`.
    """

    def __init__(self, app: ASGIApp, markup: str) -> None:
        self.app, self.markup = app, markup.encode()

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """One request; every answer but Gradio's page passes as it is."""
        if scope["type"] != "http" or scope["method"] != "GET":
            await self.app(scope, receive, send)
            return
        held: Message | None = None
        body = b""

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
                whole = body.replace(MANIFEST, b"", 1).replace(BEFORE, self.markup + BEFORE, 1)
                MutableHeaders(scope=held)["content-length"] = str(len(whole))
                await send(held)
                message = {"type": "http.response.body", "body": whole}
            await send(message)

        await self.app(scope, receive, sent)
