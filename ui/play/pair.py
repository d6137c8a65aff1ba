"""What the Play tab shows after the choice of a pair: its examples, its recordings, and its first prompt."""

from collections.abc import Sequence
from typing import Any

import gradio as gr

from dsbd.settings import DecodingSettings

from ..asked.examples import examples_for
from ..asked.link import Linked, is_form
from ..decodes import history, traces
from ..decodes.history import Kept
from ..decodes.opening import RECORDED, first_example, said_beside
from ..decodes.recording import Recording
from ..engine import Engine
from ..runs.decode import Frame
from .auto_default import SAID, with_auto
from .links import BESIDE, FILLED
from .play_form import updates
from .shown import choose


def follow(
    engine: Engine, pair: str, kept: Sequence[Kept], looked_at: Recording | None, linked: Linked | None
) -> list[Any]:
    """The tab after the choice of a pair.

    The first recording of the pair is shown, and the form repeats it, with ``auto`` if its trials were made for these
    settings. Without a recording, what is shown stays, a sentence says which model made it, and the prompt is the
    pair's first example.

    Args:
        engine: of the page.
        pair: key of the pair.
        kept: the decodes of this visit.
        looked_at: what is shown.
        linked: the link that chose the pair, whose prompt and settings take precedence; else None.

    Returns:
        Updates of the list of decodes, the examples, the parts of a :class:`.decode.Frame`, the form, and ``linked``,
        which becomes None.
    """
    target = engine.pairs.target_id(pair)
    name = next((name for _, name in traces.recordings_of(target)), None)
    frame = choose(engine, pair, kept, name) if name else Frame(note=said_beside(target, looked_at))
    settings: DecodingSettings | None = None
    prompt = first_example(target)
    if isinstance(frame.recording, Recording):
        prompt, settings = frame.recording.prompt, frame.recording.trace.settings
        asked = with_auto(engine, pair, settings)
        if asked is not None:
            settings, frame = asked, frame._replace(note=f"{RECORDED} {SAID}")
    if linked is not None and is_form(linked):
        prompt, settings = linked.prompt or prompt, linked.settings or settings
        frame = frame._replace(note=f"{FILLED} {BESIDE if name else frame.note}")
    words = [gr.update(value=word) for word in examples_for(target)]
    offered = gr.update(choices=history.choices(kept, target), value=name)
    return [offered, *words, *frame, *updates(prompt, settings, engine.limits), None]
