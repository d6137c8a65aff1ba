"""Whether the page can start a run: for load balancers, containers, and monitoring."""

import time
from collections.abc import Callable

from starlette.requests import Request
from starlette.responses import JSONResponse, Response

from dsbd.version import __version__

from .engine import Engine
from .pairs.names import model_name

GRACE_SECONDS = 60.0
"""A run checks its time limit between two forwards; one that is so late hangs in a forward."""
NEVER_KEPT = {"Cache-Control": "no-store"}


def health(engine: Engine) -> Callable[[Request], Response]:
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
