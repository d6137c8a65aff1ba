"""How the page opens: the recorded decode that is shown, and what the form begins with."""

from html import escape
from typing import NamedTuple

from dsbd.settings import DecodingSettings

from ..asked.examples import first_example
from ..asked.form import DEFAULTS
from ..pairs.names import model_name
from . import traces
from .recording import Recording

RECORDED = "A recorded decode; nothing has run yet."
TINY = {
    "bundled/target": "A recorded decode by two tiny models that know only stories.",
    "bundled:sql/target": "A recorded decode by two tiny models that know only SQL.",
    "bundled:memory/target": "A recorded decode by two tiny models that know only stories, behind a memory.",
}
"""Of the bundled pairs, which can write nothing else."""


class Opening(NamedTuple):
    """What the Play tab shows first."""

    recording: Recording | None
    """What is shown; None where nothing is recorded."""
    prompt: str
    settings: DecodingSettings
    note: str
    """What to say of the recording, as markup."""


def opening_of(target: str) -> Opening:
    """Return how the page of this target model opens.

    The form has the settings of a recording of the same model, so that Run repeats it. If the recording is of another
    model, the form begins with the first example.
    """
    recording, example = traces.opening_recording(target), first_example(target)
    if recording is None:
        return Opening(None, example, DEFAULTS, "Nothing is recorded yet. Write a prompt and press Run.")
    if recording.target == target:
        note = f"{TINY.get(target, RECORDED)} Step through it, or press Run."
        return Opening(recording, recording.prompt, recording.trace.settings, note)
    return Opening(recording, example, DEFAULTS, said_beside(target, recording))


def said_beside(target: str, shown: Recording | None) -> str:
    """Return what to say, as markup, if nothing is recorded of the model that Run uses and the viewer shows another."""
    runs = escape(model_name(target))
    if shown is None:
        return f"No decode of {runs} is recorded here. Press Run to see one."
    if shown.target == target:
        return f"What is shown is a decode of {runs}; the prompt is an example. Press Run to see another."
    made = escape(model_name(shown.target))
    return f"What is shown was made by {made}. No decode of {runs} is recorded here; press Run to see one."
