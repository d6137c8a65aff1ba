"""A row: a model's memory of one decode, with the calls that drafting and scoring use.

An iteration is ``open`` (which beams), ``feed`` once or more (tokens in, logits out), ``register``
(which nodes the fed slots are), ``commit`` (which beams go on).
"""

from abc import ABC, abstractmethod
from collections.abc import Sequence

import torch

from dsbd.law.beams import Node


class Row(ABC):
    """A model's memory of one decode. A kind without slots keeps the defaults of ``register`` and ``commit``."""

    @property
    @abstractmethod
    def forwards(self) -> int:
        """Return the number of forwards; those of the prompt count as one."""

    @property
    def peak_slots(self) -> int:
        """Return the most cache slots in use at one time."""
        return 0

    @property
    def slots(self) -> int:
        """Return the number of cache slots in use."""
        return 0

    @property
    def peak_bytes(self) -> int:
        """Return the most bytes allocated for keys and values at one time, in use or not."""
        return 0

    @abstractmethod
    def prefill(self, prompt: Sequence[int], root: Node, prefix: torch.Tensor | None = None) -> None:
        """Feed the prompt.

        Args:
            prompt: ids.
            root: the node of the prompt's last token.
            prefix: [hidden], an embedding that stands in front of the prompt, in slot 0; None for none.
        """

    @abstractmethod
    def open(self, beams: Sequence[Node], room: int) -> None:
        """Begin an iteration from these distinct beams of equal length; at most ``room`` forest tokens are fed."""

    @abstractmethod
    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        """Feed forest tokens; the first call of an iteration feeds the pending nodes first.

        Args:
            tokens: [n] ids, int64, on any device; n may be 0 in the first call.
            parents: [n] int64, the parent of each token: the place of an input beam or, counting on after the beams,
                of a forest token in the order fed.
            sizes: the number of tokens in each group; parents are in earlier groups.

        Returns:
            [n, vocabulary] logits, on the device of ``tokens``; in the first call [beams + n, vocabulary], the beams'
            first.
        """

    def register(self, nodes: Sequence[Node | None]) -> None:  # noqa: B027
        """Set the node of each forest slot, in the order fed; None for slots that are not nodes."""

    def commit(self, beams: Sequence[Node]) -> list[Node]:
        """Keep the ancestors of the next iteration's beams; return those that were not settled before."""
        return []


class WrappedRow(Row):
    """A row that passes every call on to another one; subclasses change the logits."""

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

    def prefill(self, prompt: Sequence[int], root: Node, prefix: torch.Tensor | None = None) -> None:
        self._row.prefill(prompt, root, prefix)

    def open(self, beams: Sequence[Node], room: int) -> None:
        self._row.open(beams, room)

    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        return self._row.feed(tokens, parents, sizes)

    def register(self, nodes: Sequence[Node | None]) -> None:
        self._row.register(nodes)

    def commit(self, beams: Sequence[Node]) -> list[Node]:
        return self._row.commit(beams)
