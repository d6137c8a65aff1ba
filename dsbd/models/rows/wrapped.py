"""A model's memory around another one: passes every call on. What changes logits derives from it."""

from collections.abc import Sequence

import torch

from dsbd.law.beams import Node
from dsbd.models.rows.row import Row


class WrappedRow:
    """A :class:`Row` that is another one."""

    def __init__(self, row: Row) -> None:
        self._row = row

    @property
    def forwards(self) -> int:
        return self._row.forwards

    @property
    def peak_slots(self) -> int:
        return self._row.peak_slots

    @property
    def slots(self) -> int:
        return self._row.slots

    @property
    def peak_bytes(self) -> int:
        return self._row.peak_bytes

    def prefill(self, prompt: Sequence[int], root: Node) -> None:
        self._row.prefill(prompt, root)

    def open(self, beams: Sequence[Node], room: int) -> None:
        self._row.open(beams, room)

    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        return self._row.feed(tokens, parents, sizes)

    def register(self, nodes: Sequence[Node | None]) -> None:
        self._row.register(nodes)

    def commit(self, beams: Sequence[Node]) -> list[Node]:
        return self._row.commit(beams)
