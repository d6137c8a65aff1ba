"""The lane of a decoder in a race: what it was busy with, and its tokens at the moment they landed, as paths of SVG."""

from dsbd.evaluation.race_records import Lane
from visualize.scenes.race import BUSY, Busy

WIDTH = 1000
"""Units of the clock in a lane."""
HEIGHT = 38
"""Units of a lane: 24 for what the decoder is busy with, and the ticks of the tokens below."""
BAR = 24
MOST_TOKENS = 8
"""Tokens of one moment with the longest tick."""
TOPS: dict[Busy, int] = {"prefill": 0, "draft": 12, "score": 0, "verify": 18, "forward": 0}
"""Where each kind of bar begins: kinds differ in height too, not only in colour."""


def bar_paths(lane: Lane, whole: float) -> dict[Busy, str]:
    """Return the path of all bars of each kind, in a lane of :data:`WIDTH` by :data:`HEIGHT` for ``whole`` seconds."""
    found: dict[Busy, list[str]] = {}
    for stretch in lane.stretches:
        busy = BUSY[stretch.phase]
        x, width = WIDTH * stretch.start / whole, WIDTH * (stretch.end - stretch.start) / whole
        found.setdefault(busy, []).append(f"M{x:.2f} {TOPS[busy]}h{width:.2f}V{BAR}h-{width:.2f}z")
    return {busy: "".join(parts) for busy, parts in found.items()}


def tick_path(lane: Lane, whole: float) -> str:
    """Return the path of the ticks: the more tokens land at a moment, the longer."""
    room = HEIGHT - BAR - 1
    return "".join(
        f"M{WIDTH * landing.seconds / whole:.2f} {BAR + 1}"
        f"v{room * (0.2 + 0.8 * min(landing.tokens, MOST_TOKENS) / MOST_TOKENS):.2f}"
        for landing in lane.landings
    )
