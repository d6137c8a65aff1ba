"""Computes every path again each time: the slow obvious twin of a forest row, and right for any causal model."""

from collections.abc import Sequence

import torch

from dsbd.law.beams import Node
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows.row import Row
from dsbd.stopping import Check, never_stop

PATHS_PER_FORWARD = 16


class PathRows(Row):
    """A row of a batch for every path, computed from its first token each time."""

    forwards = 0

    def __init__(self, model: LanguageModel, check: Check = never_stop) -> None:
        self.model = model
        self._check = check

    def prefill(self, prompt: Sequence[int], root: Node, prefix: torch.Tensor | None = None) -> None:
        self._prompt, self._prefix = list(prompt), prefix

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

    def _last_logits(self, paths: Sequence[list[int]]) -> torch.Tensor:
        """Return logits [n, vocabulary] after each path. Rows are padded on the right, which no path sees."""
        longest = max(len(path) for path in paths)
        rows = torch.tensor([path + [0] * (longest - len(path)) for path in paths], device=self.model.device)
        last = torch.tensor([len(path) - 1 for path in paths], device=self.model.device)
        if self._prefix is not None:
            rows, last = self.model.behind(self._prefix, rows), last + 1
        self._check()
        self.forwards += 1
        positions = torch.arange(rows.shape[1], device=rows.device).expand(rows.shape[:2])
        return self.model.forward(rows, positions=positions)[torch.arange(len(paths), device=last.device), last]
