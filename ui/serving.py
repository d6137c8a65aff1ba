"""How the page is launched, and the files that it serves besides those of Gradio."""

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from starlette.middleware import Middleware
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
from .programs import MCP_TOOLS, Tools
from .traffic.gate import Gate
from .traffic.leaving import Leaving

_SCRIPT: dict[str, Any] = {"media_type": "text/javascript", "headers": {"Cache-Control": "public, max-age=604800"}}


def _plotly_address() -> str:
    plotly = Path(viewer_assets()["plotly_js_path"]).stat()
    return f"{FOLDER}/plotly.min.js?{plotly.st_size:x}-{int(plotly.st_mtime):x}"


def head() -> str:
    """The address of Plotly, and the style sheets of viewer and page: here, because Gradio would rewrite ``css=``."""
    where = f'<meta name="dsbd-plotly" content="{_plotly_address()}">'
    return f"{where}<style>{viewer_assets()['css']}{read('parts/page.css')}{read('parts/race.css')}</style>"


def launch_options(engine: Engine, host: Host | None = None, is_private: bool = False) -> dict[str, Any]:
    """Arguments of ``Blocks.launch`` for this page; a private page answers to names of this machine only."""
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
        "ssr_mode": host.ssr,  # off by default: pages of Node lack the headers that the gate sets
        "run_history": False,
        "show_error": False,  # the page itself says what visitors should know
    }


def _routes(engine: Engine) -> list[Route]:
    return [
        Route(f"/{FOLDER}/page.js", lambda _: Response(page_script(), **_SCRIPT)),
        Route(f"/{FOLDER}/plotly.min.js", lambda _: FileResponse(viewer_assets()["plotly_js_path"], **_SCRIPT)),
        Route(f"/{LEARN}{{path:path}}", learn_page),
        Route("/health", health(engine)),
        Route(f"/{FOLDER}/health", health(engine)),  # behind Node
    ]


@asynccontextmanager
async def _only_our_tools(app: Any) -> AsyncIterator[None]:
    """Before the first request, make only the endpoints of ``MCP_TOOLS`` tools."""
    server = app.get_blocks().mcp_server_obj
    if server is not None:
        server.tool_to_endpoint = Tools({server.tool_prefix + name: f"/{name}" for name in MCP_TOOLS})
    yield
