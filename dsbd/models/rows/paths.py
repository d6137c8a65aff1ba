"""Computes every path again each time: the slow obvious twin of a forest row, and the way for any causal model."""

from collections.abc import Sequence

import torch

from dsbd.law.beams import Node
from dsbd.models.language_model import LanguageModel
from dsbd.stopping import Check, never_stop

PATHS_PER_FORWARD = 16


class PathRows:
    """A row for every path, computed again each time: slow, simple, and right for any causal model."""

    def __init__(self, model: LanguageModel, check: Check = never_stop) -> None:
        """Make an empty row. ``check`` is called before each forward."""
        self.model = model
        self.forwards = 0
        self.peak_slots = 0
        self._check = check

    @property
    def slots(self) -> int:
        return 0

    @property
    def peak_bytes(self) -> int:
        return 0

    def prefill(self, prompt: Sequence[int], root: Node) -> None:
        self._prompt = list(prompt)

    def open(self, beams: Sequence[Node], room: int) -> None:
        self._paths = [self._prompt + beam.token_ids() for beam in beams]
        self._is_first = True

    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        for token, parent in zip(tokens.tolist(), parents.tolist(), strict=True):
            self._paths.append([*self._paths[parent], token])
        paths = self._paths if self._is_first else self._paths[len(self._paths) - tokens.numel() :]
        self._is_first = False
        starts = range(0, len(paths), PATHS_PER_FORWARD)
        logits = [self._last_logits(paths[start : start + PATHS_PER_FORWARD]) for start in starts]
        return torch.cat(logits).to(tokens.device)

    def register(self, nodes: Sequence[Node | None]) -> None:
        """Do nothing: no slot is kept."""

    def commit(self, beams: Sequence[Node]) -> list[Node]:
        return []

    def _last_logits(self, paths: Sequence[list[int]]) -> torch.Tensor:
        """Return logits [n, vocabulary] after each path. Rows are padded on the right; no earlier token sees that."""
        longest = max(len(path) for path in paths)
        rows = torch.tensor([path + [0] * (longest - len(path)) for path in paths], device=self.model.device)
        last = torch.tensor([len(path) - 1 for path in paths], device=self.model.device)
        self._check()
        self.forwards += 1
        positions = torch.arange(longest, device=rows.device).expand(rows.shape)
        return self.model.forward(rows, positions=positions)[torch.arange(len(paths), device=last.device), last]
