"""Loads the pair and serves the page, for ``app.py`` and ``dsbd page``."""

import argparse
import html
import importlib.util
import os
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from importlib import resources
from pathlib import Path
from typing import Any

from starlette.middleware import Middleware
from starlette.requests import Request
from starlette.responses import FileResponse, JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from dsbd.errors import PageError, needs
from dsbd.util import SMOLLM2, asset_path
from dsbd.version import __version__
from visualize.viewer.bundle import source

from .limits import Limits, is_private, port_of

FIRST_PORT, PORTS = 7860, 100
GRACE_SECONDS = 60.0
"""A run checks its time limit between two forwards; one that is so late hangs in a forward."""
TIP = f"To chat with a small real model: <code>python -m dsbd fetch {SMOLLM2}</code>, then open the page again."
_SCRIPT: dict[str, Any] = {"media_type": "text/javascript", "headers": {"Cache-Control": "public, max-age=3600"}}


def serve(options: argparse.Namespace) -> None:
    """Load the pair and serve the page until it is stopped; the flags are those of ``dsbd page``.

    While it loads, its address says how far it is. Raises: PageError, PairError, SettingsError: a package is missing,
    the pair cannot be loaded, or a flag or setting is wrong.
    """
    port = port_of(options.port)
    listens = options.host if options.host is not None else os.environ.get("GRADIO_SERVER_NAME", "")
    limits = Limits.from_environment()
    if options.mcp:
        limits = limits.model_copy(update={"mcp": True})
    if limits.mcp and importlib.util.find_spec("mcp") is None:
        raise PageError("--mcp needs the package mcp; run: pip install 'dsbd[mcp]'")
    private = is_private(listens, options.share)
    with waiting_page(listens or "127.0.0.1", port) as (port, say):
        say("loading the page's libraries")
        from dsbd.models.smollm2 import fetched

        with needs("page"):
            from .page import build_page
            from .recordings import load_own
            from .runner import Pairs, Runner, set_up_log

        set_up_log(limits.log)
        how = {"device": options.device, "dtype": options.dtype, "device_map": options.device_map}
        tip = TIP if private and not fetched() else ""
        pairs = Pairs(pairs_of(options), limits.max_loaded_pairs, tip, **how)
        folders = listed(options.examples)
        pairs.recordings = load_own(folders, pairs)
        pairs.get(pairs.first, say)
        say("putting the page together")
        runner = Runner(pairs, limits)
        page = build_page(runner)
    try:
        page.launch(
            server_name=listens or "127.0.0.1", server_port=port, share=options.share,
            **launch_options(runner, private, folders),
        )  # fmt: skip
    except OSError as error:
        reason = f"port {port} is taken" if "empty port" in str(error) else str(error)
        raise PageError(f"the page cannot be served: {reason}; choose another --port or --host") from None


def listed(text: str | None) -> list[str]:
    """Return the parts of a list with commas."""
    return [part.strip() for part in (text or "").split(",") if part.strip()]


def pairs_of(options: argparse.Namespace) -> list[str]:
    """Return the names of the pairs that the host offers: its own one, then those of ``--pairs`` or all on the disk."""
    from dsbd.models.smollm2 import fetched

    from .runner import BETWEEN, TITLES

    own = [] if options.target is None else [BETWEEN.join(filter(None, (options.target, options.draft)))]
    return [*own, *(listed(options.pairs) or (name for name in TITLES if name != SMOLLM2 or fetched()))]


@contextmanager
def waiting_page(host: str, port: int | None) -> Iterator[tuple[int, Callable[[str], None]]]:
    """Answer at the address of the page until the block ends. Yields the port, and what says how far the start is.

    Without a port the first free one is taken. Raises: PageError: there is none, or the host is not of this machine.
    """
    began, doing, waiting = time.monotonic(), "starting", source("page/waiting.html")

    class Answers(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            is_page = self.path.partition("?")[0] == "/"
            body = waiting.format(doing=html.escape(doing)) if is_page else '{"status": "starting"}'
            self.send_response(200 if is_page else 503)
            self.send_header("Content-Type", "text/html; charset=utf-8" if is_page else "application/json")
            self.send_header("Content-Length", str(len(body.encode())))
            self.send_header("Cache-Control", "no-store")
            self.end_headers()
            self.wfile.write(body.encode())

        def log_message(self, format: str, *args: object) -> None:
            """Say nothing: the page writes no line for each request either."""

    def say(words: str) -> None:
        nonlocal doing
        doing = words
        print(f"{time.monotonic() - began:5.1f} s  {words[:1].upper()}{words[1:]} …", flush=True)

    first = int(os.environ.get("GRADIO_SERVER_PORT") or FIRST_PORT)
    for one in [port] if port is not None else range(first, first + PORTS):
        try:
            server = ThreadingHTTPServer((host.strip("[]"), one), Answers)
            break
        except (OSError, OverflowError, UnicodeError) as error:
            problem = error
    else:
        raise PageError(
            f"the page cannot listen on {host[:60]!r}, port {one} ({problem}); --host takes 127.0.0.1 (this machine "
            f"only), 0.0.0.0 (everybody who can reach it), and the names and addresses of this machine"
        )
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    print(f"DSBD starts at http://{host}:{one}", flush=True)
    try:
        yield one, say
    finally:
        server.shutdown()
        server.server_close()


def launch_options(runner: Any, private: bool = False, folders: Sequence[str] = ()) -> dict[str, Any]:
    """Return arguments of ``Blocks.launch``; a private page answers to names of this machine only.

    ``folders`` hold the host's own recordings.
    """
    from visualize import viewer_assets

    from .front import HeadMiddleware
    from .middleware import GuardMiddleware
    from .page import TITLE
    from .parts import read
    from .theme import mark_colors, page_theme

    sheets = (viewer_assets()["css"], read("page.css"), read("race.css"), mark_colors())
    root = os.environ.get("GRADIO_ROOT_PATH", "")
    guard = Middleware(GuardMiddleware, limits=runner.limits, is_private=private, root_path=root)
    head = Middleware(HeadMiddleware, root_path=root, title=TITLE, style="".join(sheets))
    return {
        "theme": page_theme(),
        "app_kwargs": {"routes": routes(runner, folders), "middleware": [guard, head]},
        "mcp_server": runner.limits.mcp,
        "footer_links": [],
        "state_session_capacity": runner.limits.max_visitors,
        "ssr_mode": False,  # pages of Node lack the headers that the middleware sets
        "run_history": False,
        "show_error": False,  # the page itself says what visitors should know
    }


def routes(runner: Any, folders: Sequence[str] = ()) -> list[Route]:
    """Return what the page serves besides Gradio: its script, recorded traces, lessons, and its health."""
    from .learn import learn_page
    from .middleware import LEARN, OWN
    from .parts import page_script
    from .recordings import own_paths, paths_of

    folder, plotly = Path(__file__).parent, f"{resources.files('plotly')}/package_data/plotly.min.js"
    traces = paths_of(asset_path("traces")) | own_paths(folders)

    def trace(request: Request) -> Response:
        file = traces.get(request.path_params["name"])
        if file is None:
            return PlainTextResponse("There is no such recording.", 404)
        return FileResponse(file, media_type="application/gzip")

    return [
        Route(f"{OWN}page.js", lambda _: Response(page_script(), **_SCRIPT)),
        Route(f"{OWN}plotly.min.js", lambda _: FileResponse(plotly, **_SCRIPT)),
        Route(f"{OWN}preview.png", lambda _: FileResponse(folder / "preview.png")),
        Route(f"{OWN}page.html", lambda _: PlainTextResponse(_empty_page())),
        Route(f"{OWN}traces/{{name}}.json.gz", trace),
        Route(f"{LEARN}{{path:path}}", learn_page),
        Route("/health", _health(runner)),
        Route(f"{OWN}health", _health(runner)),  # where a server in front passes on Gradio's addresses only
    ]


def _empty_page() -> str:
    """Return a page with one viewer, in which the browser puts the reader's trace, place and this page's address."""
    from visualize.pages.document import packed_json
    from visualize.pages.site import html_page

    from .recordings import recorded

    trace = next(iter(recorded().values()))
    page = html_page(trace, place="PLACE-OF-THE-READER", home="HOME-OF-THE-READER")
    return page.replace(packed_json(trace.to_dict()), "TRACE-OF-THE-READER")


def _health(runner: Any) -> Callable[[Request], Response]:
    """Return the handler of the health address.

    It answers 200 while the queue takes calls and no run is long past its time limit; else 503. The answer names the
    pair, the version, and how many calls run and wait, but no visitor.
    """

    def health(request: Request) -> Response:
        queue = request.app.get_blocks()._queue
        running, earliest = runner.running()
        body = {"status": "ok", "pair": runner.pairs.title(runner.pairs.first), "version": __version__}
        waiting = len(runner.turns.line)
        body |= {"running": running - waiting, "waiting": len(queue) + waiting}
        if queue.stopped or not queue.active_jobs:
            body |= {"status": "failing", "problem": "the queue has stopped"}
        elif earliest is not None and time.monotonic() > earliest + GRACE_SECONDS:
            body |= {"status": "failing", "problem": "a run is past its time limit and does not end"}
        return JSONResponse(body, 503 if "problem" in body else 200, {"Cache-Control": "no-store"})

    return health
