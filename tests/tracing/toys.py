"""Small honest traces of the toy pair: every decoding method, several settings for each."""

from functools import cache
from typing import Any

import dsbd
from dsbd.tracing.trace import Trace
from tests.toy_pair import toy_pair

OTHERS: dict[str, list[dict[str, Any]]] = {
    "dsbd": [
        {"cover_width": 2, "replacement": False},
        {"temperature": 0.0, "draft_width": 4},
        {"temperature": 0.0, "replacement": False, "cover_width": 2, "min_width": 3},
        {"forest": "likely", "draft_width": 6},
        {"forest": "likely", "replacement": False, "temperature": 0.0, "draft_width": 6},
        {"top_k": 3, "top_p": 0.8, "input_beams": 1, "landing": False},
        {"top_k": 0, "min_width": 2, "max_width": 2},
        {"draft_depth": 0},
        {"temperature": 1e-7},
        {"temperature": 0.01, "replacement": False, "forest": "likely"},
        {"depth_costs": (1.0, 1.1, 1.2), "temperature": 0.3},
    ],
    "beam_sampling": [{"replacement": False}, {"temperature": 0.0}, {"top_k": 2, "top_p": 0.5}],
    "beam_search": [{"num_beams": 2}, {"top_k": 3}],
    "speculative_beam_search": [{"draft_width": 8, "num_beams": 2}, {"draft_width": 12, "top_k": 0}],
    "specinfer": [{"replacement": False, "branching": (3, 2)}, {"temperature": 0.0}, {"branching": (5,)}],
    "speculative": [
        {"temperature": 0.0},
        {"top_p": 0.5},
    ],
    "sampling": [{"temperature": 2.0}, {"top_k": 0}],
    "mjsd": [{"temperature": 0.0}, {"joint_threshold": 0.0}, {"draft_width": 1, "top_k": 2}],
    "mjgd": [{"block": 1}],
}


def toy_traces(method: str, count: int | None = None) -> list[Trace]:
    """The first ``count`` traces of a method, or all: with its defaults, then with other settings."""
    asked = [{}, *OTHERS.get(method, [])][:count]
    return [_toy(seed, method, tuple(settings.items())) for seed, settings in enumerate(asked)]


@cache
def _toy(seed: int, method: str, settings: tuple[tuple[str, Any], ...]) -> Trace:
    """A trace of a few tokens."""
    small = {"max_new_tokens": 5, "draft_depth": 2, "draft_width": 3, "num_beams": 3, "branching": (2, 2)}
    asked = dsbd.DecodingSettings(method=method, seed=seed, **small | dict(settings))
    trace = dsbd.decode(toy_pair(), "Once", asked, record=True).trace
    assert trace is not None
    return trace
