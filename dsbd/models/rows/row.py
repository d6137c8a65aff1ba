"""The calls with which drafting and scoring use a model's memory, whatever kind it is.

An iteration is ``open`` (which beams), ``feed`` once or more (tokens in, logits out), ``register``
(which nodes the fed slots are), ``commit`` (which beams go on).
"""

from collections.abc import Sequence
from typing import Protocol

import torch

from dsbd.law.beams import Node


class Row(Protocol):
    """The calls with which drafting and scoring use a model's memory."""

    @property
    def forwards(self) -> int:
        """Return the forwards of the model so far; those of the prompt count as one."""
        ...

    @property
    def peak_slots(self) -> int:
        """Return the most cache slots in use at one time."""
        ...

    @property
    def slots(self) -> int:
        """Return the number of cache slots in use."""
        ...

    @property
    def peak_bytes(self) -> int:
        """Return the most bytes allocated for keys and values at one time, in use or not."""
        ...

    def prefill(self, prompt: Sequence[int], root: Node) -> None:
        """Feed the prompt; ``root`` is the node of its last token."""
        ...

    def open(self, beams: Sequence[Node], room: int) -> None:
        """Begin an iteration from these distinct beams of equal length; ``room`` forest tokens will be fed."""
        ...

    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        """Feed forest tokens; the first call of an iteration feeds the pending nodes first.

        Args:
            tokens: [n] ids, int64, on any device; n may be 0 in the first call.
            parents: [n] the parent of each token, int64: the place of an input beam or, counted on from the beams,
                of a forest token in the order fed.
            sizes: how many tokens each group of ``tokens`` has; parents are in earlier groups.

        Returns:
            [n, vocabulary] logits, on the device of ``tokens``; in the first call [beams + n, vocabulary], the beams'
            first.
        """
        ...

    def register(self, nodes: Sequence[Node | None]) -> None:
        """Set the node of each forest slot, in the order fed; None for slots that are no node."""
        ...

    def commit(self, beams: Sequence[Node]) -> list[Node]:
        """Keep the ancestors of the next iteration's beams; return the nodes that stay and are not settled."""
        ...
