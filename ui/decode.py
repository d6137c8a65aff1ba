"""Handlers of the Decode tab: plain functions from values to what the page shows next."""

import time
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from html import escape
from typing import Any, NamedTuple

import gradio as gr

from dsbd.auto.plan import PlanProgress
from dsbd.errors import DsbdError, PromptError
from dsbd.settings import DecodingSettings
from dsbd.tracing.records import Iteration
from dsbd.tracing.trace import Trace
from visualize import timeline_figure, tokens_figure, width_figure

from . import messages, traces
from .engine import Engine
from .form import MAX_NEW_TOKENS, check_prompt, settings_of
from .recording import Recording
from .stat_strip import stat_strip
from .stopped import halt, was_halted

FRAME_SECONDS = 0.12
"""A browser is told of news at most this often; a fast model decides more often."""
KEEP = gr.skip()


class Frame(NamedTuple):
    """The next state of the page, in the order of the tab's outputs; ``KEEP`` leaves a part as it is."""

    forest: Any = KEEP
    text: Any = KEEP
    stats: Any = KEEP
    charts: Any = KEEP
    note: Any = KEEP
    problem: Any = ""
    run: Any = KEEP
    stop: Any = KEEP
    recording: Any = KEEP
    halted_at: Any = KEEP


def begin() -> Frame:
    """The run waits for its turn."""
    return Frame(note="Waiting for the model …", run=gr.update(visible=False), stop=gr.update(visible=True))


def run(engine: Engine, prompt: Any, method: str, *values: Any) -> Iterator[Frame]:
    """Decode, one frame per few iterations; what went wrong is said in the last frame."""
    try:
        settings = settings_of(method, values)
        yield from _frames(engine.events(check_prompt(prompt), settings))
    except DsbdError as error:
        yield failed(error)


def _frames(events: Iterator[PlanProgress | Trace | Iteration]) -> Iterator[Frame]:
    recording, sent, shown_at = None, 0, 0.0
    for event in events:
        if isinstance(event, PlanProgress):
            yield Frame(note=f"Trying out forests for auto: {event.done} of {event.total} …")
            continue
        if recording is None:
            assert isinstance(event, Trace), "a decode begins with a trace"
            recording = Recording(event)
        elif isinstance(event, Trace):
            recording.finish(event)
        else:
            recording.add(event)
        if recording.result is not None:
            yield finished(recording, live=sent > 0)
        elif time.monotonic() - shown_at >= FRAME_SECONDS:
            yield _live(recording, _news(recording, sent))
            sent, shown_at = len(recording), time.monotonic()


def _news(recording: Recording, sent: int) -> str:
    return messages.more_scene(recording, sent) if sent else messages.whole_scene(recording, live=True, first=True)


def _live(recording: Recording, forest: str) -> Frame:
    return Frame(
        forest=forest,
        text=messages.text(recording, live=True),
        stats=stat_strip(recording),
        note=f"Decoding, iteration {len(recording)} …",
        run=gr.update(visible=False),
        stop=gr.update(visible=True),
        recording=recording,
    )


def shown(recording: Recording, note: str, *, live: bool = False) -> Frame:
    """A whole recording on the page, and the page ready for the next run."""
    return Frame(
        forest=messages.whole_scene(recording, live=live),
        text=messages.text(recording),
        stats=stat_strip(recording),
        charts=charts(recording),
        note=note,
        run=gr.update(visible=True),
        stop=gr.update(visible=False),
        recording=recording,
    )


def finished(recording: Recording, *, live: bool) -> Frame:
    """The decode came to its end."""
    return shown(recording, f"Decoded in {len(recording)} iterations. Step through them below.", live=live)


def stopped(recording: Recording | None) -> Frame:
    """The visitor stopped the decode; what was recorded so far stays."""
    if recording is None or recording.result is not None:
        return ready("Stopped before the first iteration.")._replace(halted_at=halt())
    return shown(recording, _stopped_after(recording), live=True)._replace(halted_at=halt())


def _stopped_after(recording: Recording) -> str:
    return f"Stopped after {len(recording)} iterations; what was recorded stays."


def ready(note: Any = KEEP) -> Frame:
    """The page as it is, ready for the next run."""
    return Frame(note=note, run=gr.update(visible=True), stop=gr.update(visible=False))


def failed(error: DsbdError) -> Frame:
    """Say what went wrong and leave everything else."""
    return ready(note="")._replace(problem=alert(sentence(error)))


def broke_off(halted_at: float | None, recording: Recording | None) -> Frame:
    """The run ended by an error that nobody foresaw, or by Stop; a late frame may have undone what Stop showed."""
    if was_halted(halted_at):
        unfinished = recording is not None and recording.result is None
        return ready(_stopped_after(recording) if unfinished and recording is not None else KEEP)
    return ready(note="")._replace(
        problem=alert("The decode broke off on the server. The page is ready for another run.")
    )


def sentence(error: DsbdError) -> str:
    """An error as a visitor reads it; names of settings stay as they are."""
    words = str(error)
    if "_" not in words.split(" ", 1)[0]:
        words = words[:1].upper() + words[1:]
    return words if words.endswith(".") else words + "."


def alert(words: str) -> str:
    """Markup that a screen reader speaks at once. Escaped: messages quote what visitors gave."""
    return f'<p class="problem" role="alert">{escape(words)}</p>'


def choose_recorded(name: str | None) -> Frame:
    """Show a recorded trace."""
    if not name:
        return Frame()
    try:
        return shown(traces.open_recorded(name), "A recorded decode. Step through it below.")
    except DsbdError as error:
        return failed(error)


def bring_file(path: str | None) -> Frame:
    """Show a trace file of the visitor's own; a bad one leaves the page as it is."""
    if path is None:
        return Frame()
    try:
        return shown(traces.open_file(path), "Your trace. Step through it below.")
    except DsbdError as error:
        return failed(error)


def verify(recording: Recording | None) -> str:
    """Decide the whole trace again, and say in markup what came of it."""
    recording = recording or traces.opening_recording()
    words = traces.verdict(recording) if recording is not None else "There is no trace yet."
    return f'<p role="status">{escape(words)}</p>'


def take_away(recording: Recording | None) -> str | None:
    """The path of a file with the trace; None where there is none."""
    recording = recording or traces.opening_recording()
    return traces.save(recording) if recording is not None else None


def charts(recording: Recording) -> str:
    """Width, origin and time of the whole decode."""
    trace = recording.trace
    drawn = [
        (draw(trace, theme="light"), draw(trace, theme="dark"))
        for draw in (width_figure, tokens_figure, timeline_figure)
    ]
    return messages.figures(drawn)


def decode(engine: Engine, prompt: str, settings: dict[str, Any] | None = None) -> dict[str, Any]:
    """Decode a prompt: the endpoint for programs.

    Args:
        prompt: text.
        settings: fields of DecodingSettings by name; left out ones have their defaults.

    Returns:
        ``text``, ``token_ids``, ``beams`` (ranked), ``stats`` and ``settings`` as resolved.
    """
    try:
        asked = DecodingSettings.from_dict(settings or {})
        if asked.max_new_tokens > MAX_NEW_TOKENS:
            raise PromptError(f"max_new_tokens is {asked.max_new_tokens}; this page allows {MAX_NEW_TOKENS}")
        *_, last = engine.events(check_prompt(prompt), asked)
    except DsbdError as error:
        raise gr.Error(sentence(error), print_exception=False) from None
    assert isinstance(last, Trace), "a decode ends with its trace"
    assert last.result is not None, "a decode ends with its result"
    return {**asdict(last.result), "settings": asdict(last.settings)}


def fields_shown(flags: Sequence[bool]) -> list[dict[str, Any]]:
    """Updates that show or hide fields."""
    return [gr.update(visible=flag) for flag in flags]
