"""Handlers of the Play tab: plain functions from values to what the page shows next."""

import logging
import time
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import asdict
from html import escape
from typing import Any, NamedTuple

import gradio as gr

from dsbd.auto.plan import PlanProgress
from dsbd.errors import DsbdError, PairError, SettingsError, StoppedError
from dsbd.settings import DecodingSettings
from dsbd.tracing.records import Iteration
from dsbd.tracing.trace import Trace

from ..asked.form import check_prompt, settings_of
from ..decodes import messages
from ..decodes.history import RUN
from ..decodes.recording import Recording
from ..decodes.stat_strip import stat_strip
from ..engine import Engine, Event
from ..host.limits import setting
from ..pairs.names import without_folders
from ..pairs.shelf import PAGE
from ..traffic.visitors import StopSignal, in_words
from .stopped import halt, was_halted

FRAME_SECONDS = 0.12
"""Shortest time between two updates of a browser; a fast model makes news more often."""
LONGEST_SENTENCE = 600
"""Characters of a message; what visitors gave may be quoted in it."""
KEEP = gr.skip()


class Frame(NamedTuple):
    """The next state of the page, in the order of the tab's outputs; ``KEEP`` leaves a part as it is."""

    forest: Any = KEEP
    text: Any = KEEP
    stats: Any = KEEP
    note: Any = KEEP
    problem: Any = ""
    run: Any = KEEP
    stop: Any = KEEP
    recording: Any = KEEP
    halted_at: Any = KEEP
    news: Any = KEEP
    """A decode of this visit that its history takes in: see :func:`.history.keep`."""


def begin(engine: Engine, session: str) -> Frame:
    """The run waits for its turn."""
    note = engine.visitors.wait(session)
    return Frame(note=note, run=gr.update(visible=False), stop=gr.update(visible=True))


def run(engine: Engine, session: str, prompt: Any, method: Any, *values: Any, pair: str = PAGE) -> Iterator[Frame]:
    """Decode on the pair of this key, one frame per few iterations; the last frame says what went wrong."""
    with engine.visitors.run(session, engine.limits.decode_seconds) as stop:
        try:
            settings = settings_of(method, values)
            with closing(engine.events(check_prompt(prompt, engine.limits), settings, stop, pair)) as events:
                yield from _frames(engine, events, stop)
        except DsbdError as error:
            yield failed(error)


def _frames(engine: Engine, events: Iterator[Event], stop: StopSignal) -> Iterator[Frame]:
    recording, sent, shown_at = None, 0, 0.0
    try:
        for event in events:
            if isinstance(event, PlanProgress):
                yield Frame(note=f"Trying out forests for auto: {event.done} of {event.total} …")
                continue
            recording = _taken_in(recording, event)
            if recording.result is not None:
                yield finished(recording, live=sent > 0)
            elif time.monotonic() - shown_at >= FRAME_SECONDS:
                yield _live(recording, _news(recording, sent))
                sent, shown_at = len(recording), time.monotonic()
    except StoppedError:
        yield _cut_short(recording, why_stopped(stop, engine.limits.decode_seconds, "decode_seconds"))


def _taken_in(recording: Recording | None, event: Trace | Iteration) -> Recording:
    """The recording with one more event."""
    if recording is None:
        assert isinstance(event, Trace), "a decode begins with a trace"
        return Recording(event)
    if isinstance(event, Trace):
        recording.finish(event)
    else:
        recording.add(event)
    return recording


def why_stopped(stop: StopSignal, seconds: int, limit: str) -> str:
    """Why a run ended before its end: the first sentence of a note."""
    if stop.is_revoked:
        return "Stopped."
    return f"Stopped after {seconds} s, the longest a run may take on this page ({setting(limit)})."


def _cut_short(recording: Recording | None, why: str) -> Frame:
    if recording is None:
        return ready(f"{why} The first iteration was not finished.")
    words = f"{why} What was recorded stays: {len(recording)} iterations."
    return shown(recording, words, live=True)._replace(news=(RUN, recording))


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
        note=note,
        run=gr.update(visible=True),
        stop=gr.update(visible=False),
        recording=recording,
    )


def finished(recording: Recording, *, live: bool) -> Frame:
    """The decode came to its end."""
    words = f"Decoded in {len(recording)} iterations. Step through them below."
    return shown(recording, words, live=live)._replace(news=(RUN, recording))


def stopped(engine: Engine, session: str, recording: Recording | None) -> Frame:
    """The visitor stopped the decode; what was recorded so far stays."""
    engine.visitors.stop(session)
    if recording is None or recording.result is not None:
        return ready("Stopped before the first iteration.")._replace(halted_at=halt())
    frame = shown(recording, _stopped_after(recording), live=True)
    return frame._replace(halted_at=halt(), news=(RUN, recording))


def _stopped_after(recording: Recording) -> str:
    return f"Stopped after {len(recording)} iterations; what was recorded stays."


def ready(note: Any = KEEP) -> Frame:
    """The page as it is, ready for the next run."""
    return Frame(note=note, run=gr.update(visible=True), stop=gr.update(visible=False))


def failed(error: DsbdError) -> Frame:
    """Say what went wrong and leave everything else."""
    return ready(note="")._replace(problem=alert(sentence(error)))


def broke_off(engine: Engine, session: str, halted_at: float | None, recording: Recording | None) -> Frame:
    """The run ended by Stop, never began, or failed in a way that nobody foresaw.

    After Stop, a late frame may have undone what Stop showed.
    """
    if was_halted(halted_at):
        unfinished = recording is not None and recording.result is None
        return ready(_stopped_after(recording) if unfinished and recording is not None else KEEP)
    words = "The decode broke off on the server. The page is ready for another run."
    return ready(note="")._replace(problem=why_ended(engine, session, words))


def why_ended(engine: Engine, session: str, broken: str) -> Any:
    """What to say of a run that did not come to its end: ``broken`` if it had begun.

    Of a call that never reached the queue, ``toasts.js`` has said why.
    """
    refused = engine.visitors.was_refused(session)
    if refused is None:
        return alert(broken)
    return alert(_queue_is_full(engine)) if refused else KEEP


def _queue_is_full(engine: Engine) -> str:
    when = in_words(engine.visitors.expected_wait_seconds)
    waiting = engine.limits.max_waiting
    calls = "1 call waits" if waiting == 1 else f"{waiting} calls wait"
    return f"The queue is full: {calls} for the model. Come back in {when}."


def sentence(error: DsbdError) -> str:
    """An error as a visitor reads it; names of settings and of files stay as they are, folders are left out."""
    words = without_folders(str(error))
    if len(words) > LONGEST_SENTENCE:
        words = f"{words[: LONGEST_SENTENCE - 2]} …"
    if not {"_", "."} & set(words.split(" ", 1)[0]):
        words = words[:1].upper() + words[1:]
    return words if words.endswith(".") else words + "."


def alert(words: str) -> str:
    """Markup that a screen reader speaks at once. Escaped: messages quote what visitors gave."""
    return f'<p class="problem" role="alert">{escape(words)}</p>'


def decode(engine: Engine, session: str, prompt: Any, settings: Any = None, pair: Any = PAGE) -> dict[str, Any]:
    """Decode a prompt: the endpoint for programs.

    Args:
        prompt: text.
        settings: fields of DecodingSettings by name; left out ones have their defaults.
        pair: "page", "bundled:stories" or "bundled:sql".

    Returns:
        ``text``, ``token_ids``, ``beams`` (ranked), ``stats`` and ``settings`` as resolved.
    """
    seconds = engine.limits.decode_seconds
    with engine.visitors.run(session, seconds) as stop, for_programs(stop, seconds, "decode_seconds"):
        asked = settings_from(settings)
        *_, last = engine.events(check_prompt(prompt, engine.limits), asked, stop, check_pair(pair))
        assert isinstance(last, Trace), "a decode ends with its trace"
        assert last.result is not None, "a decode ends with its result"
        return {**asdict(last.result), "settings": asdict(last.settings)}


def check_pair(given: Any) -> str:
    """The key of a pair that a program gives. Raises: PairError."""
    if not isinstance(given, str):
        raise PairError(f"pair is a {type(given).__name__}; give a text, such as {PAGE!r}")
    return given


def settings_from(given: Any) -> DecodingSettings:
    """Settings that a program gives by name. Raises: SettingsError."""
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise SettingsError(f"settings is a {type(given).__name__}; give an object of settings by name, or nothing")
    return DecodingSettings.from_dict(given)


@contextmanager
def for_programs(stop: StopSignal, seconds: int, limit: str) -> Iterator[None]:
    """A run for a program: whatever goes wrong reaches it as one sentence."""
    with in_sentences():
        try:
            yield
        except StoppedError:
            raise gr.Error(why_stopped(stop, seconds, limit), print_exception=False) from None


@contextmanager
def in_sentences() -> Iterator[None]:
    """Whatever goes wrong reaches the program as one sentence."""
    try:
        yield
    except gr.Error:
        raise
    except DsbdError as error:
        raise gr.Error(sentence(error), print_exception=False) from None
    except Exception:  # all: what a DsbdError does not name is a fault of ours, and Gradio would answer null
        logging.exception("a call failed")
        raise gr.Error("The call broke off on the server, by a fault of its own.", print_exception=False) from None
