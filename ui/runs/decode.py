"""A decode for one visitor: frame by frame for the Play tab, and as the endpoint ``/decode``."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from typing import Any, NamedTuple

from dsbd.errors import DsbdError, PairError, SettingsError, StoppedError
from dsbd.memory.reading import ReadProgress
from dsbd.settings import DecodingSettings

from ..asked.form import check_prompt, settings_of
from ..decodes import messages
from ..decodes.history import RUN
from ..decodes.recording import Recording
from ..decodes.stat_strip import stat_strip
from ..engine import Engine
from ..host.limits import Limits, check_tokens
from ..jobs import DecodeStep, recorded_decode
from ..pairs.shelf import PAGE
from .around import BUSY, KEEP, READY
from .sentences import alert, in_sentences, sentence

FRAME_SECONDS = 0.12
"""Shortest time between two updates of a browser, however fast the model is."""


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
    news: Any = KEEP
    """A decode of this visit that its history takes in: see :func:`.history.keep`."""


def run(engine: Engine, session: str, prompt: Any, method: Any, *values: Any, pair: str = PAGE) -> Iterator[Frame]:
    """Decode on the pair of this key; yield a frame every few iterations, the last one says what went wrong."""
    recording, sent, shown_at = None, 0, 0.0
    try:
        with engine.visit(session, "decode_seconds") as stop:
            settings, limits = settings_of(method, values), engine.limits
            job = recorded_decode(limits, check_prompt(prompt, limits), settings, pair)
            with closing(engine.run(job, stop)) as steps:
                for step in steps:
                    if step.before is not None:
                        is_reading = isinstance(step.before, ReadProgress)
                        doing = "Reading the long prompt" if is_reading else "Trying out forests for auto"
                        yield Frame(note=f"{doing}: {step.before.done} of {step.before.total} …")
                        continue
                    recording = _taken_in(recording, step)
                    if recording.result is not None:
                        seconds = recording.result.stats["seconds"]
                        words = f"Decoded just now: {len(recording)} passes, {seconds:.1f} s. Step through them below."
                        yield frame_of(recording, words, live=sent > 0)._replace(news=(RUN, recording))
                    elif time.monotonic() - shown_at >= FRAME_SECONDS:
                        yield _live(recording, sent)
                        sent, shown_at = len(recording), time.monotonic()
    except StoppedError as error:
        yield _cut_short(recording, str(error))
    except DsbdError as error:
        yield failed(error)


def _taken_in(recording: Recording | None, step: DecodeStep) -> Recording:
    """Return the recording with one more step."""
    if step.begun is not None:
        recording = Recording(step.begun)
    assert recording is not None, "a decode begins with the beginning of its trace"
    if step.progress is not None:
        recording.add(step.progress)
    if step.trace is not None:
        recording.finish(step.trace)
    return recording


def _cut_short(recording: Recording | None, why: str) -> Frame:
    if recording is None:
        return Frame(note=f"{why} The first pass was not finished.", **READY)
    words = f"{why} What was recorded stays: {len(recording)} passes."
    return frame_of(recording, words, live=True)._replace(news=(RUN, recording))


def _live(recording: Recording, sent: int) -> Frame:
    """The frame of a decode that goes on; the browser has the first ``sent`` iterations."""
    more = messages.more_scene(recording, sent) if sent else None
    return Frame(
        forest=more or messages.whole_scene(recording, live=True, first=True),
        text=messages.text(recording, live=True),
        stats=stat_strip(recording),
        note=f"Decoding, pass {len(recording)} …",
        recording=recording,
        **BUSY,
    )


def frame_of(recording: Recording, note: str, *, live: bool = False) -> Frame:
    """Return the frame that shows a whole recording; the page is ready for the next run."""
    return Frame(
        forest=messages.whole_scene(recording, live=live),
        text=messages.text(recording),
        stats=stat_strip(recording),
        note=note,
        recording=recording,
        **READY,
    )


def failed(error: DsbdError) -> Frame:
    """Return the frame that says what went wrong and changes nothing else."""
    return Frame(note="", problem=alert(sentence(error)), **READY)


def decode(
    engine: Engine, session: str, prompt: Any, settings: Any = None, pair: Any = PAGE
) -> Iterator[dict[str, Any]]:
    """Decode a prompt: the endpoint for programs. It streams; the answer comes last.

    Args:
        prompt: text.
        settings: fields of DecodingSettings by name; left out ones have their defaults.
        pair: "page", "bundled:stories" or "bundled:sql".

    Yields:
        ``text`` and ``token_ids`` of the best hypothesis so far, which may still change, and ``iteration``, from 1; at
        last ``text``, ``token_ids``, ``beams`` (ranked), ``stats`` and ``settings`` as resolved.
    """
    told_at = 0.0
    with in_sentences(), engine.visit(session, "decode_seconds") as stop:
        limits = engine.limits
        asked = settings_from(settings, limits)
        job = recorded_decode(limits, check_prompt(prompt, limits), asked, check_pair(pair))
        with closing(engine.run(job, stop)) as steps:
            for step in steps:
                if step.trace is not None:
                    yield {**asdict(step.trace.result), "settings": asdict(step.trace.settings)}
                elif step.progress is not None and time.monotonic() - told_at >= FRAME_SECONDS:
                    best, number = step.progress.best, step.progress.iteration.index + 1
                    yield {"text": best.text, "token_ids": best.token_ids, "iteration": number}
                    told_at = time.monotonic()


def check_pair(given: Any) -> str:
    """Return the key of a pair that a program gives. Raises: PairError."""
    if not isinstance(given, str):
        raise PairError(f"pair is a {type(given).__name__}; give a text, such as {PAGE!r}")
    return given


def settings_from(given: Any, limits: Limits) -> DecodingSettings:
    """Return the settings that a program gives by name. Raises: SettingsError."""
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise SettingsError(f"settings is a {type(given).__name__}; give an object of settings by name, or nothing")
    check_tokens(limits, given.get("max_new_tokens"))
    return DecodingSettings.from_dict(given)
