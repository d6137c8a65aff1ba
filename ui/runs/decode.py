"""A decode for one visitor: for the Play tab as what it shows next, and the endpoint ``/decode``."""

import time
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from typing import Any, NamedTuple

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
from ..engine import Engine
from ..host.limits import Limits, check_tokens
from ..jobs import recorded_decode, told_decode
from ..pairs.shelf import PAGE
from .around import BUSY, KEEP, READY
from .sentences import alert, in_sentences, sentence

FRAME_SECONDS = 0.12
"""Shortest time between two updates of a browser; a fast model makes news more often."""


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
    """Decode on the pair of this key, one frame per few iterations; the last frame says what went wrong."""
    recording, sent, shown_at = None, 0, 0.0
    try:
        with engine.visit(session, "decode_seconds") as stop:
            settings, limits = settings_of(method, values), engine.limits
            job = recorded_decode(limits, check_prompt(prompt, limits), settings, pair)
            with closing(engine.run(job, stop)) as events:
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
    except StoppedError as error:
        yield _cut_short(recording, str(error))
    except DsbdError as error:
        yield failed(error)


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
        recording=recording,
        **BUSY,
    )


def shown(recording: Recording, note: str, *, live: bool = False) -> Frame:
    """A whole recording on the page, and the page ready for the next run."""
    return Frame(
        forest=messages.whole_scene(recording, live=live),
        text=messages.text(recording),
        stats=stat_strip(recording),
        note=note,
        recording=recording,
        **READY,
    )


def finished(recording: Recording, *, live: bool) -> Frame:
    """The decode came to its end."""
    words = f"Decoded in {len(recording)} iterations. Step through them below."
    return shown(recording, words, live=live)._replace(news=(RUN, recording))


def ready(note: Any = KEEP) -> Frame:
    """The page as it is, ready for the next run."""
    return Frame(note=note, **READY)


def failed(error: DsbdError) -> Frame:
    """Say what went wrong and leave everything else."""
    return ready(note="")._replace(problem=alert(sentence(error)))


def decode(
    engine: Engine, session: str, prompt: Any, settings: Any = None, pair: Any = PAGE
) -> Iterator[dict[str, Any]]:
    """Decode a prompt: the endpoint for programs. It streams, and what comes last is the answer.

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
        job = told_decode(limits, check_prompt(prompt, limits), asked, check_pair(pair))
        with closing(engine.run(job, stop)) as events:
            for event in events:
                if isinstance(event, Trace):
                    assert event.result is not None, "a decode ends with its result"
                    yield {**asdict(event.result), "settings": asdict(event.settings)}
                elif time.monotonic() - told_at >= FRAME_SECONDS:
                    yield event
                    told_at = time.monotonic()


def check_pair(given: Any) -> str:
    """The key of a pair that a program gives. Raises: PairError."""
    if not isinstance(given, str):
        raise PairError(f"pair is a {type(given).__name__}; give a text, such as {PAGE!r}")
    return given


def settings_from(given: Any, limits: Limits) -> DecodingSettings:
    """Settings that a program gives by name. Raises: SettingsError."""
    if given is None:
        given = {}
    if not isinstance(given, dict):
        raise SettingsError(f"settings is a {type(given).__name__}; give an object of settings by name, or nothing")
    check_tokens(limits, given.get("max_new_tokens"))
    return DecodingSettings.from_dict(given)
