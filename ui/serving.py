"""Files the page needs beside Gradio's own, from this machine only, and how the page is launched."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, Response
from starlette.routing import Route

from visualize import viewer_assets

from .decodes.first_paint import FirstPaint, first_paint
from .decodes.opening import opening_of
from .engine import Engine
from .health import health
from .host.options import Host
from .learn.site import learn_page
from .parts.files import FOLDER, LEARN, page_script, read, script_address
from .parts.theme import page_theme
from .programs import MCP_TOOLS
from .traffic.gate import Gate
from .traffic.leaving import Leaving

_CACHED = {"Cache-Control": "public, max-age=604800"}


def _plotly_address() -> str:
    plotly = Path(viewer_assets()["plotly_js_path"]).stat()
    return f"{FOLDER}/plotly.min.js?{plotly.st_size:x}-{int(plotly.st_mtime):x}"


def head() -> str:
    """The style sheets of viewer and page, which stand here because Gradio rewrites ``css=``, and Plotly's address."""
    where = f'<meta name="dsbd-plotly" content="{_plotly_address()}">'
    return f"{where}<style>{viewer_assets()['css']}{read('parts/page.css')}{read('parts/race.css')}</style>"


def launch_options(engine: Engine, host: Host | None = None, is_private: bool = False) -> dict[str, Any]:
    """Arguments of ``Blocks.launch`` that belong to this page.

    Args:
        engine: the one that the page was built with; its visitors and limits count.
        host: how it is served; None takes the defaults.
        is_private: only this machine can reach it; then it answers to names of this machine only.
    """
    host = host or Host()
    gate = Middleware(Gate, visitors=engine.visitors, limits=engine.limits, is_private=is_private)
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
        "ssr_mode": host.ssr,  # off: what Node renders has no content-security policy, which the gate gives
        "run_history": False,
        "show_error": False,  # what visitors should know is said on the page; traces of the program are not
    }


def _routes(engine: Engine) -> list[Route]:
    return [
        Route(f"/{FOLDER}/page.js", _page_script),
        Route(f"/{FOLDER}/plotly.min.js", _plotly),
        Route(f"/{LEARN}{{path:path}}", learn_page),
        Route("/health", health(engine)),
        Route(f"/{FOLDER}/health", health(engine)),  # behind Node
    ]


@asynccontextmanager
async def _only_our_tools(app: Any) -> AsyncIterator[None]:
    """Before the server takes its first request: of the endpoints, only those of ``MCP_TOOLS`` are tools."""
    server = app.get_blocks().mcp_server_obj
    if server is not None:
        server.tool_to_endpoint = {server.tool_prefix + name: f"/{name}" for name in MCP_TOOLS}
    yield


def _page_script(request: Request) -> Response:
    return Response(page_script(), media_type="text/javascript", headers=_CACHED)


def _plotly(request: Request) -> Response:
    return FileResponse(viewer_assets()["plotly_js_path"], media_type="text/javascript", headers=_CACHED)
