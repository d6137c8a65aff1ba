"""Rows whose forwards take all threads of torch, in a decode whose other operations run on one."""

from collections.abc import Sequence

import torch

from dsbd.law.beams import Node
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows.new import new_row
from dsbd.models.rows.row import Row, WrappedRow
from dsbd.models.threads import torch_threads
from dsbd.stopping import Check, never_stop


def threaded_row(model: LanguageModel, slots: int = 0, check: Check = never_stop) -> Row:
    """Return a new row; its forwards will run on as many threads as torch has now, if that makes them faster."""
    row = new_row(model, slots, check)
    needs_threads = model.device.type == "cpu" and model.engine != "onnx" and not model.is_small
    return ThreadedRow(row) if needs_threads else row


class ThreadedRow(WrappedRow):
    """A row whose forwards run on as many threads as torch has when the row is made."""

    def __init__(self, row: Row) -> None:
        super().__init__(row)
        self._threads = torch.get_num_threads()

    def prefill(self, prompt: Sequence[int], root: Node, prefix: torch.Tensor | None = None) -> None:
        with torch_threads(self._threads):
            super().prefill(prompt, root, prefix)

    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        with torch_threads(self._threads):
            return super().feed(tokens, parents, sizes)
