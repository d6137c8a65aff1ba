"""The decodes of one visit: the last runs and opened traces, packed to save memory."""

import gzip
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import gradio as gr

from dsbd.errors import TraceError
from dsbd.tracing.trace import Trace

from ..asked.form import method_label
from . import traces
from .recording import Recording

MOST = 10
MOST_BYTES = 4 * 1024 * 1024
"""Of one visitor, packed."""
SHOWN_CHARACTERS = 28
RUN, FILE, LESSON = "Your run", "Your trace", "From Learn"


@dataclass(frozen=True)
class Kept:
    """One decode that can be looked at again."""

    name: str
    """What the list of decodes calls it."""
    label: str
    packed: bytes
    decode: str
    """As :class:`.recording.Recording` names it."""

    @property
    def number(self) -> int:
        """The first decode of a visit is 1."""
        return int(self.name.partition("-")[2])


def choices(kept: Sequence[Kept], target: str) -> list[tuple[str, str]]:
    """Return the list of decodes: those of this visit, newest first, then the recordings of this target model."""
    return [(one.label, one.name) for one in reversed(kept)] + traces.recordings_for(target)


def keep(
    kept: Sequence[Kept], news: tuple[str, Recording] | None, target: str
) -> tuple[tuple[Kept, ...], dict[str, Any], None]:
    """Add a decode of this visit; one that is there already, and may have grown, keeps its name.

    Returns the decodes kept now, the list with the new one chosen, and None, because the news is taken in.
    """
    if news is None:
        return tuple(kept), gr.skip(), None
    what, recording = news
    others = [one for one in kept if one.decode != recording.decode]
    known = [one.number for one in kept if one.decode == recording.decode]
    number = known[0] if known else 1 + max((one.number for one in kept), default=0)
    trace = recording.trace
    begins = " ".join(trace.prompt.text.split())
    if len(begins) > SHOWN_CHARACTERS:
        begins = f"{begins[:SHOWN_CHARACTERS]}…"
    label = f"{what} {number}: {method_label(trace.settings.method)}, seed {trace.settings.seed}, “{begins}”"
    new = Kept(f"run-{number}", label, gzip.compress(trace.dumps(), 6), recording.decode)
    all_of_them = [*others, new][-MOST:]
    while len(all_of_them) > 1 and sum(len(one.packed) for one in all_of_them) > MOST_BYTES:
        del all_of_them[0]
    return tuple(all_of_them), gr.update(choices=choices(all_of_them, target), value=all_of_them[-1].name), None


def find(kept: Sequence[Kept], name: Any) -> Recording:
    """Return the decode of this name, of this visit or bundled. Raises: TraceError."""
    if not isinstance(name, str):
        raise TraceError(f"the name of a decode is a {type(name).__name__}; choose one of the list")
    for one in kept:
        if one.name == name:
            return Recording(Trace.loads(one.packed))
    return traces.open_recorded(name)
