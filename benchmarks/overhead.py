"""Measures what an iteration costs outside the two models, on synthetic logits of any vocabulary.

    python -m benchmarks.overhead --output benchmarks/results/overhead.json

The package's own draft, score and verify run on rows whose forward returns logits that were made before. So the clock
measures everything except the models. The target's logits of a slot are those of the draft model plus noise, so that
drafts are accepted about as often as with a real pair.
"""

import argparse
import json
import statistics
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import torch

from dsbd.contest.table import markdown_table
from dsbd.draft import Drafter
from dsbd.files import write_file
from dsbd.host_draft import HostDrafter
from dsbd.law.beams import Beam, Node
from dsbd.law.choices import Uniforms
from dsbd.law.verify import verify
from dsbd.methods import resolve
from dsbd.models.load_options import resolve_device
from dsbd.next_tokens import is_at_hand
from dsbd.score import score
from dsbd.settings import DecodingSettings, ResolvedSettings

VOCABULARIES = (4096, 32_000, 128_256)
FORESTS: dict[str, dict[str, Any]] = {
    "sampled": {},
    "sampled, 8 cover nodes": {"cover_width": 8},
    "likely, 24 nodes": {"forest": "likely", "draft_width": 24},
}
WARM_UPS = 5
ROUNDS = 40
NOISE = 0.7


class GivenRow:
    """A row whose forwards take no time: they return logits from a table, whatever is fed."""

    def __init__(self, logits: torch.Tensor) -> None:
        self._logits = logits

    def open(self, beams: Sequence[Node], room: int) -> None:
        self._first = len(beams)

    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        count, self._first = tokens.numel() + self._first, 0
        return self._logits[:count]


def main() -> None:
    parser = argparse.ArgumentParser(description="cost of an iteration outside the models")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--output", type=Path)
    chosen = parser.parse_args()
    device, rows = resolve_device(chosen.device), []
    for vocabulary in VOCABULARIES:
        for name, changes in FORESTS.items():
            settings = resolve(DecodingSettings(**changes))
            rows.append({"vocabulary": vocabulary, "forest": name, **measure(settings, vocabulary, device)})
    print(
        markdown_table(
            list(rows[0]),
            [[f"{one:.2f}" if isinstance(one, float) else str(one) for one in row.values()] for row in rows],
        )
    )
    if chosen.output:
        record = {"device": str(device), "torch": torch.__version__, "threads": torch.get_num_threads(), "rows": rows}
        write_file(chosen.output, json.dumps(record, indent=1) + "\n")


def measure(settings: ResolvedSettings, vocabulary: int, device: torch.device) -> dict[str, float]:
    """Return the median milliseconds of each phase of an iteration from four beams."""
    generator = torch.Generator(device).manual_seed(0)
    slots = 4 + settings.draft_depth * (settings.draft_width + settings.cover_width)
    draft = 4.0 * torch.randn(slots, vocabulary, device=device, generator=generator)
    target = draft + NOISE * torch.randn(slots, vocabulary, device=device, generator=generator)
    row: Any = GivenRow(draft)
    drafter: HostDrafter | Drafter = HostDrafter(row, settings, frozenset(), generator)
    if not is_at_hand(device):
        drafter = Drafter(row, settings, torch.zeros(vocabulary, dtype=torch.bool, device=device), generator)
    root = Node(None, -1, 0)
    beams = [Beam(root.child(token), -float(token)) for token in range(4)]
    seconds: dict[str, list[float]] = {"draft": [], "score": [], "verify": []}
    for turn in range(WARM_UPS + ROUNDS):
        times = [_now(device)]
        layers = drafter.draft(beams, settings.draft_depth)
        times.append(_now(device))
        scored = score(GivenRow(target), beams, layers, settings, generator)  # type: ignore[arg-type]
        times.append(_now(device))
        verify(scored.forest, scored.next_tokens, settings, frozenset(), Uniforms(scored.uniforms))
        times.append(_now(device))
        if turn >= WARM_UPS:
            for phase, start, end in zip(seconds, times, times[1:], strict=False):
                seconds[phase].append(end - start)
    medians = {f"{phase}_milliseconds": 1000 * statistics.median(values) for phase, values in seconds.items()}
    return medians | {"total_milliseconds": sum(medians.values())}


def _now(device: torch.device) -> float:
    if device.type == "cuda":
        torch.cuda.synchronize(device)
    return time.perf_counter()


if __name__ == "__main__":
    main()
