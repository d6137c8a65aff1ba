"""What Python sends to the scripts that draw: JSON with a number, its bulk packed.

Packing makes a trace five to ten times smaller. The number makes every message new, so that the same trace can be
shown twice. The scripts in ``ui/parts`` read the messages.
"""

import json
from collections.abc import Sequence
from dataclasses import asdict
from itertools import count
from typing import Any

import plotly.graph_objects as go

from visualize.pages.compressed import packed_json

from .recording import Recording
from .running_text import running_text

_NUMBERS = count(1)


def whole_scene(recording: Recording, *, live: bool = False, first: bool = False) -> str:
    """The viewer shows this recording from now on.

    If it is live, the viewer follows it, or stays where the visitor stepped; at its first scene nobody has stepped yet.
    """
    return _message(kind="whole", live=live, first=first, packed=packed_json(recording.trace.to_dict()))


def more_scene(recording: Recording, since: int) -> str:
    """Return the iterations from ``since`` on, for a viewer that has the earlier ones."""
    news = [asdict(iteration) for iteration in recording.iterations[since:]]
    return _message(kind="more", live=True, since=since, packed=packed_json(news))


def text(recording: Recording, *, live: bool = False) -> str:
    return _message(live=live, packed=packed_json(asdict(running_text(recording))))


def figures(drawn: Sequence[tuple[go.Figure, go.Figure]]) -> str:
    """Return charts, each drawn for light and for dark."""
    plain = [{"light": json.loads(light.to_json()), "dark": json.loads(dark.to_json())} for light, dark in drawn]
    return _message(packed=packed_json(plain))


def live_figures(drawn: Sequence[go.Figure]) -> str:
    """Return figures with their frames, drawn for one theme."""
    return _message(packed=packed_json([json.loads(figure.to_json()) for figure in drawn]))


def _message(**content: Any) -> str:
    return json.dumps({"number": next(_NUMBERS), **content}, separators=(",", ":"))
