"""Frames of a Plotly figure, with a slider and a button that plays them."""

from collections.abc import Sequence

import plotly.graph_objects as go

from visualize.look.theme import Palette

FRAME_MS = 1200
CONTROLS = 76
"""Pixels below the figure for the slider and the buttons."""


def animate(figure: go.Figure, frames: Sequence[go.Frame], colors: Palette, strings: dict[str, str]) -> None:
    """Give a figure its frames, named by their number from 1, a slider, and buttons to play and to pause.

    All frames need traces of the same kinds, in the same order as the figure.
    """
    names = [str(number) for number in range(1, len(frames) + 1)]
    for name, frame in zip(names, frames, strict=True):
        frame.update(name=name, traces=list(range(len(figure.data))))
    figure.frames = frames
    still = {"mode": "immediate", "frame": {"duration": 0, "redraw": True}, "transition": {"duration": 0}}
    playing = {"fromcurrent": True, "frame": {"duration": FRAME_MS, "redraw": True}, "transition": {"duration": 0}}
    steps = [{"label": name, "method": "animate", "args": [[name], still]} for name in names]
    buttons = [
        {"label": "▶", "method": "animate", "args": [None, playing]},
        {"label": "❚❚", "method": "animate", "args": [[None], still]},
    ]
    bottom = figure.layout.margin.b
    below = {"y": 0, "yanchor": "top", "pad": {"t": bottom, "l": 8}}
    figure.update_layout(
        height=figure.layout.height + CONTROLS,
        margin_b=bottom + CONTROLS,
        sliders=[{
            **below, "x": 0.12, "len": 0.86, "steps": steps, "ticklen": 3, "font": {"size": 10},
            "currentvalue": {"prefix": f"{strings['ui.iteration']} ", "font": {"size": 12}},
            "bordercolor": colors.faint, "bgcolor": colors.band, "activebgcolor": colors.accent,
        }],
        updatemenus=[{
            **below, "type": "buttons", "direction": "right", "x": 0, "xanchor": "left", "buttons": buttons,
            "showactive": False, "bgcolor": colors.band, "bordercolor": colors.faint,
        }],
    )  # fmt: skip
