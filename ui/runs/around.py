"""What every tab with a run has: a note, what went wrong, and the buttons Run and Stop."""

import logging
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import gradio as gr

from ..engine import Engine
from ..parts.wiring import ON_GPU, PRIVATE, place_shown_on, session_of
from ..traffic.leaving import end_calls
from .sentences import alert

KEEP = gr.skip()
READY: dict[str, Any] = {"run": gr.update(visible=True), "stop": gr.update(visible=False)}
BUSY: dict[str, Any] = {"run": gr.update(visible=False), "stop": gr.update(visible=True)}


class Around(NamedTuple):
    """The next state of these parts, and the parts themselves, in the order of the outputs."""

    note: Any = KEEP
    problem: Any = ""
    run: Any = KEEP
    stop: Any = KEEP


WAITING = Around(note="Waiting for the model …", **BUSY)
"""While the run waits for its turn; Gradio shows its place in the queue beside the note."""
NOT_BEGUN = Around(note="", problem=KEEP, **READY)
"""Where the call never reached the queue, or the queue is full: ``toasts.js`` has said which."""


def wire_run(
    engine: Engine,
    triggers: Sequence[Callable[..., Any]],
    run: Callable[..., Iterator[Any]],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    around: Around,
    broken: str,
) -> tuple[Any, Any]:
    """Wire a run of these triggers: it begins, can be stopped, and says why it ended early.

    ``run`` yields the frames of a tab for a session and the inputs. The parts ``around`` are among the outputs.
    ``broken`` is said after an unexpected error. Returns the event that begins the run, and the run's event.
    """

    def running(request: gr.Request, *given: Any) -> Iterator[Any]:
        try:
            yield from run(session_of(request), *given)
        except Exception:  # any error that is no sentence is a bug of the page
            logging.exception("a run failed")
            ready = dict(zip(around, Around("", alert(broken), **READY), strict=True))
            yield [ready.get(part, KEEP) for part in outputs]

    async def stopped(request: gr.Request) -> Around:
        if await stop_calls(engine, request, around.stop):
            return Around(problem=KEEP)
        return Around(note="Stopped before it began.", **READY)

    first = gr.on(triggers, lambda: WAITING, outputs=list(around), queue=False, **PRIVATE)
    then = first.then(running, inputs, outputs, trigger_mode="multiple", **place_shown_on(around.note), **ON_GPU)
    then.failure(lambda: NOT_BEGUN, outputs=list(around), queue=False, **PRIVATE)
    around.stop.click(stopped, outputs=list(around), queue=False, **PRIVATE)
    return first, then


async def stop_calls(engine: Engine, request: gr.Request, button: gr.Button) -> bool:
    """Stop the visitor's calls that this button belongs to. Returns: whether one is running, which will say its end."""
    assert request.request is not None, "a button is pressed by a request"
    session, queue = session_of(request), request.request.app.get_blocks()._queue
    return await end_calls(
        queue,
        engine.visitors,
        lambda event: event.session_hash == session and button._id in {one._id for one in event.fn.outputs},
    )
