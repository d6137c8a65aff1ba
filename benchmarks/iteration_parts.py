"""Measures where the time of an iteration goes: seconds of each part of a decode, without the parts it calls.

    python -m benchmarks.iteration_parts --output benchmarks/results/iteration_parts.json
    python -m benchmarks.iteration_parts --target twins/0.3B --draft assets/models/stories/draft --max-new-tokens 32

While the script runs, a clock wraps the functions; it costs 1 microsecond per call. It uses the bundled pair or
another, three prompts and two seeds; the settings are the defaults and the same law, each with sampled and likely
forests.
"""

import argparse
import json
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch

import dsbd
import dsbd.decoder
import dsbd.draft
from dsbd.files import write_file
from dsbd.models.engines.onnx import OnnxOnBuffers
from dsbd.models.engines.traced import TracedForward
from dsbd.models.rows.forest import ForestRow
from dsbd.next_tokens import NextTokens

PROMPTS = ("Once upon a time there was a little dog named Max.", "Tim and Sue went to the park.", "The cat was sad.")
SEEDS = 2
SETTINGS: dict[str, dict[str, Any]] = {
    "defaults": {},
    "same law": {"min_width": 4, "max_width": 4},
    "same law, likely 12 x 3": {
        "min_width": 4, "max_width": 4, "forest": "likely", "draft_width": 12, "draft_depth": 3
    },
}  # fmt: skip
PARTS: list[tuple[object, str, str]] = [
    (OnnxOnBuffers, "run", "both models' forwards"),
    (TracedForward, "run", "both models' forwards"),
    (dsbd.draft, "host_rows", "top-k rows"),
    (dsbd.draft.Drafter, "draft", "draft laws, races, forest"),
    (NextTokens, "__call__", "top-k rows"),
    (ForestRow, "open", "masks, positions, feeding, cache moves"),
    (ForestRow, "feed", "masks, positions, feeding, cache moves"),
    (ForestRow, "commit", "masks, positions, feeding, cache moves"),
    (dsbd.decoder, "verify", "verification"),
    (dsbd.decoder, "score", "around the target's forward, counting"),
    (dsbd.decoder.Session, "commit", "around the target's forward, counting"),
]


class Clock:
    """Adds up the seconds of each label, without those of nested calls."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self._inside: list[float] = []

    def wrap(self, owner: Any, name: str, label: str) -> None:
        own: Callable[..., Any] = getattr(owner, name)

        def timed(*given: Any, **named: Any) -> Any:
            start = time.perf_counter()
            self._inside.append(0.0)
            try:
                return own(*given, **named)
            finally:
                took = time.perf_counter() - start
                self.seconds[label] += took - self._inside.pop()
                if self._inside:
                    self._inside[-1] += took

        setattr(owner, name, timed)


def main() -> None:
    parser = argparse.ArgumentParser(description="Where an iteration goes")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--target", help="folder or hub id (the bundled pair)")
    parser.add_argument("--draft", help="the same of the draft model")
    parser.add_argument("--max-new-tokens", type=int, default=128)
    asked = parser.parse_args()
    pair, clock = dsbd.load_pair(asked.target, asked.draft, device="cpu"), Clock()
    for part in PARTS:
        clock.wrap(*part)
    record = {"torch": torch.__version__, "threads": torch.get_num_threads(), "milliseconds_per_iteration": {}}
    for name, changes in SETTINGS.items():
        changes = changes | {"max_new_tokens": asked.max_new_tokens}
        record["milliseconds_per_iteration"][name] = parts(pair, clock, changes)
        print(name)
        for part, milliseconds in record["milliseconds_per_iteration"][name].items():
            print(f"  {part:42} {milliseconds:7.2f}")
    if asked.output:
        write_file(asked.output, json.dumps(record, indent=1) + "\n")


def parts(pair: dsbd.Pair, clock: Clock, changes: dict[str, Any]) -> dict[str, float]:
    """Return the milliseconds per iteration of each part, and of the whole."""
    iterations, seconds = 0, 0.0
    for seed in (-1, *range(SEEDS)):
        if seed == 0:  # the run before this one was a warm-up
            clock.seconds.clear()
            iterations, seconds = 0, 0.0
        for prompt in PROMPTS:
            settings = dsbd.DecodingSettings(seed=max(seed, 0), **changes)
            stats = dsbd.decode(pair, prompt, settings).stats
            iterations += stats.iterations
            seconds += stats.seconds - stats.prefill_seconds
    found = {label: 1000 * spent / iterations for label, spent in clock.seconds.items()}
    forwards, whole = found["both models' forwards"], 1000 * seconds / iterations
    return found | {"all but the forwards": whole - forwards, "an iteration": whole}


if __name__ == "__main__":
    main()
