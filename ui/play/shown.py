"""Handlers of the decode that is shown: choose it from the list, open a file, continue it, save it."""

import re
from collections.abc import Sequence
from dataclasses import replace
from functools import partial
from html import escape
from typing import Any

import gradio as gr

from dsbd.errors import DsbdError, PromptError
from dsbd.settings import DecodingSettings

from ..asked.form import DEFAULTS, WITHOUT_FIELD, check_prompt, is_read
from ..decodes import history, traces
from ..decodes.history import FILE, Kept
from ..decodes.recording import Recording
from ..engine import Engine
from ..host.limits import Limits
from ..pairs.names import model_name
from ..runs.decode import Frame, failed, frame_of
from ..runs.sentences import alert, sentence

LARGEST_SEED = 2**63 - 1
PLACE = re.compile(r"iteration=\d{1,9}&step=\d{1,9}")
"""A place as the viewer names it."""


def choose(engine: Engine, pair: str, kept: Sequence[Kept], name: Any) -> Frame:
    """Show a decode of the list. ``pair``: the key of the visitor's pair."""
    if not name:
        return Frame()
    try:
        recording = history.find(kept, name)
        words = "A run of this visit." if any(one.name == name for one in kept) else "A recorded decode."
        return frame_of(recording, f"{words} {said_of(engine, pair, recording)}")
    except DsbdError as error:
        return failed(error)


def bring_file(engine: Engine, pair: str, path: str | None) -> Frame:
    """Show a visitor's trace file; a bad file leaves the page as it is. ``pair``: as for :func:`choose`."""
    if path is None:
        return Frame()
    try:
        recording = traces.open_file(path, engine.limits)
        return frame_of(recording, f"Your trace. {said_of(engine, pair, recording)}")._replace(news=(FILE, recording))
    except DsbdError as error:
        return failed(error)


def said_of(engine: Engine, pair: str, recording: Recording) -> str:
    """Whether Run repeats what is shown, in words."""
    settings, models = recording.trace.settings, recording.trace.models
    if models.target.id != engine.pairs.target_id(pair):
        made, runs = (escape(model_name(one)) for one in (models.target.id, engine.pairs.target_id(pair)))
        return f"The form has its prompt and settings; {made} made it, and Run uses {runs}."
    missing = [name for name in unheld(settings) if is_read(settings.method, name)]
    if missing:
        return f"The form has its prompt and settings, except {' and '.join(missing)}, which are no fields of it."
    return "The form has its prompt, settings and seed."


def unheld(settings: DecodingSettings) -> list[str]:
    """Settings that differ from their defaults and have no field in the form."""
    return [name for name in WITHOUT_FIELD if getattr(settings, name) != getattr(DEFAULTS, name)]


def further(recording: Recording | None, limits: Limits) -> tuple[str, DecodingSettings]:
    """Prompt and settings of a run that continues the best beam: its text, and the next seed.

    Raises: gr.Error: there is nothing to continue, or the prompt would be too long.
    """
    try:
        if recording is None or recording.result is None:
            raise PromptError("there is no whole decode to continue; run one first")
        best = recording.result.beams[0]
        if best.finished:
            raise PromptError("the text ended by itself; there is nothing to continue")
        settings = recording.trace.settings
        following = settings.seed + 1 if settings.seed < LARGEST_SEED else 0
        return check_prompt(recording.prompt + best.text, limits), replace(settings, seed=following)
    except DsbdError as error:
        raise gr.Error(sentence(error), print_exception=False) from None


def save_trace(recording: Recording | None) -> tuple[str | None, str]:
    """The path of a file with the trace, or None, and what to say beside it."""
    return _saved(recording, traces.save)


def save_page(recording: Recording | None, place: str) -> tuple[str | None, str]:
    """The path of a page with the viewer that opens this decode at the place, or None, and what to say beside it."""
    return _saved(recording, partial(traces.save_page, place=place if PLACE.fullmatch(place) else ""))


def _saved(recording: Recording | None, save: Any) -> tuple[str | None, str]:
    if recording is None:
        return None, alert("There is no trace yet.")
    try:
        return save(recording), ""
    except DsbdError as error:
        return None, alert(sentence(error))
