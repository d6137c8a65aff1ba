"""The recorded traces of the story pair (``story_pair.py``), small and with every verdict in them."""

from functools import cache
from pathlib import Path

from dsbd.tracing.trace import Trace

FOLDER = Path(__file__).with_name("traces")
"""The folder of the recordings."""


@cache
def toy_trace(name: str = "toy") -> Trace:
    """Load a recorded trace by its name in ``story_pair.RECORDINGS``, once for all tests."""
    return Trace.load(FOLDER / f"{name}.json.gz")
