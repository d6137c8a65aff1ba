"""How the page is launched, and what it serves besides Gradio: files, and whether it can start a run."""

import json
import time
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from dsbd.version import __version__
from visualize import viewer_assets
from visualize.pages.live import live_words
from visualize.words.words import known_languages

from .decodes.first_paint import FirstPaint, first_paint
from .decodes.opening import opening_of
from .engine import Engine
from .host.options import Host
from .learn.site import learn_page
from .pairs.names import model_name
from .parts.files import FOLDER, LEARN, page_script, read, script_address
from .parts.sharing import PICTURE
from .parts.theme import mark_colors, page_theme
from .programs import MCP_TOOLS
from .traffic.gate import Gate
from .traffic.leaving import Leaving

_SCRIPT: dict[str, Any] = {"media_type": "text/javascript", "headers": {"Cache-Control": "public, max-age=604800"}}

ENGLISH = "en"
"""The language that the page is written in."""
GRACE_SECONDS = 60.0
"""A run checks its time limit between two forwards; one that is so late hangs in a forward."""
NEVER_KEPT = {"Cache-Control": "no-store"}


def _plotly_address() -> str:
    plotly = Path(viewer_assets()["plotly_js_path"]).stat()
    return f"{FOLDER}/plotly.min.js?{plotly.st_size:x}-{int(plotly.st_mtime):x}"


def head() -> str:
    """The address of Plotly, and the style sheets of viewer and page: here, because Gradio would rewrite ``css=``."""
    where = f'<meta name="dsbd-plotly" content="{_plotly_address()}">'
    sheets = (viewer_assets()["css"], read("parts/page.css"), read("parts/race.css"), mark_colors())
    return f"{where}<style>{''.join(sheets)}</style>"


def launch_options(engine: Engine, host: Host | None = None, is_private: bool = False) -> dict[str, Any]:
    """Arguments of ``Blocks.launch`` for this page; a private page answers to names of this machine only."""
    host = host or Host()
    gate = Middleware(Gate, limits=engine.limits, is_private=is_private)
    leaving = Middleware(Leaving, visitors=engine.visitors)
    opening = opening_of(engine.pair.target.id)
    markup = first_paint(opening.recording, opening.prompt, read("parts/first_paint.css"), script_address())
    painted = Middleware(FirstPaint, markup=markup)
    return {
        "theme": page_theme(),
        "head": head(),
        "app_kwargs": {"routes": _routes(engine), "middleware": [gate, leaving, painted], "lifespan": _only_our_tools},
        "mcp_server": host.mcp,
        "footer_links": [],
        "max_file_size": engine.limits.max_upload_bytes,
        "state_session_capacity": engine.limits.max_visitors,
        "ssr_mode": False,  # pages of Node lack the headers that the gate sets
        "run_history": False,
        "show_error": False,  # the page itself says what visitors should know
    }


def _health(engine: Engine) -> Callable[[Request], Response]:
    """The handler of the health address.

    It answers 200 while the queue takes calls and no run is long past its time limit; else 503. The answer names the
    pair, the version, and how many calls run and wait, but no visitor.
    """

    def answer(request: Request) -> Response:
        queue = request.app.get_blocks()._queue
        running, earliest = engine.visitors.running()
        problem = None
        if queue.stopped or not queue.active_jobs:
            problem = "the queue has stopped"
        elif earliest is not None and time.monotonic() > earliest + GRACE_SECONDS:
            problem = "a run is past its time limit and does not end"
        body = {
            "status": "ok" if problem is None else "failing",
            "pair": [model_name(model.id) for model in (engine.pair.target, engine.pair.draft) if model is not None],
            "version": __version__,
            "running": running,
            "waiting": len(queue),
        }
        return JSONResponse(body | ({"problem": problem} if problem else {}), 503 if problem else 200, NEVER_KEPT)

    return answer


def _language(request: Request) -> Response:
    """The page's texts in another language, and the sentences of a run in the browser."""
    code = request.path_params["code"]
    if code not in known_languages() or code == ENGLISH:
        return PlainTextResponse("There is no such language.", 404)
    table = {"page": json.loads(read(f"languages/{code}.json")), "live": live_words(code)}
    return JSONResponse(table, headers={"Cache-Control": "no-cache"})


def _routes(engine: Engine) -> list[Route]:
    return [
        Route(f"/{FOLDER}/page.js", lambda _: Response(page_script(), **_SCRIPT)),
        Route(f"/{FOLDER}/languages/{{code}}.json", _language),
        Route(f"/{FOLDER}/plotly.min.js", lambda _: FileResponse(viewer_assets()["plotly_js_path"], **_SCRIPT)),
        Route(f"/{PICTURE}", lambda _: FileResponse(Path(__file__).with_name("parts") / "preview.png")),
        Route(f"/{LEARN}{{path:path}}", learn_page),
        Route("/health", _health(engine)),
        Route(f"/{FOLDER}/health", _health(engine)),  # where a server in front passes on Gradio's addresses only
    ]


@asynccontextmanager
async def _only_our_tools(app: Any) -> AsyncIterator[None]:
    """Before the first request, make only the endpoints of ``MCP_TOOLS`` tools."""
    server = app.get_blocks().mcp_server_obj
    if server is not None:
        server.tool_to_endpoint = {server.tool_prefix + name: f"/{name}" for name in MCP_TOOLS}
    yield
