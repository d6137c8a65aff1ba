"""What every tab with a run has: a note, what went wrong, and the buttons Run and Stop."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import gradio as gr

from ..engine import Engine
from ..parts.wiring import ON_GPU, PRIVATE, place_shown_on, session_of
from ..traffic.leaving import end_calls
from ..traffic.visitors import in_words
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

    def begun(request: gr.Request) -> Around:
        return begin(engine, session_of(request))

    def running(request: gr.Request, *given: Any) -> Iterator[Any]:
        yield from run(session_of(request), *given)

    def failed(request: gr.Request) -> Around:
        return broke_off(engine, session_of(request), broken)

    async def stopped(request: gr.Request) -> Around:
        if await stop_calls(engine, request, around.stop):
            return Around(problem=KEEP)
        return Around(note="Stopped before it began.", **READY)

    first = gr.on(triggers, begun, outputs=list(around), queue=False, **PRIVATE)
    then = first.then(running, inputs, outputs, trigger_mode="multiple", **place_shown_on(around.note), **ON_GPU)
    then.failure(failed, outputs=list(around), queue=False, **PRIVATE)
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


def begin(engine: Engine, session: str) -> Around:
    """Return what is shown while the run waits for its turn."""
    return Around(note=engine.visitors.wait(session), **BUSY)


def broke_off(engine: Engine, session: str, broken: str) -> Around:
    """Return what is shown where the run never began, or failed unexpectedly.

    If the call never reached the queue, ``toasts.js`` has said why.
    """
    refused = engine.visitors.was_refused(session)
    if refused is None:
        return Around("", alert(broken), **READY)
    if not refused:
        return Around("", KEEP, **READY)
    when, waiting = in_words(engine.visitors.expected_wait_seconds), engine.limits.max_waiting
    calls = "1 call waits" if waiting == 1 else f"{waiting} calls wait"
    return Around("", alert(f"The queue is full: {calls} for the model. Come back in {when}."), **READY)
