"""The learned part of a memory, its sizes and its three steps: summarise a segment, recall, read on.

All states are [rows, hidden] or [rows, tokens, hidden]. The model itself is a function from input embeddings to its
last hidden states (after the final norm): so the same steps serve any decoder, in training and in decoding.

*Source:* Hierarchical Memory Transformer, arXiv 2405.06067, section 3; docs/memory.md.
"""

from collections.abc import Callable
from dataclasses import asdict, dataclass, fields
from typing import Any, NamedTuple

import torch

from dsbd.errors import PairError

MOST_TOKENS = 1_000_000
"""The longest segment, and so on, that a file may ask for."""
States = Callable[[torch.Tensor], torch.Tensor]
"""From input embeddings [rows, tokens, hidden] to the last hidden states of the same shape; attention is causal, and
positions begin at 0."""


@dataclass(frozen=True)
class MemorySettings:
    """The sizes of a memory, with which it was trained."""

    hidden_size: int
    """Size of the model's hidden states."""
    segment_tokens: int = 224
    """L: tokens of a segment."""
    sensory_tokens: int = 16
    """k: how many last tokens of the segment before are shown again in front of a segment."""
    cached_memories: int = 100
    """N: recall looks at so many memories, the last ones."""
    recall: bool = True
    """True: a segment recalls from all cached memories (HMT). False: it gets the memory before it (RMT)."""

    def __post_init__(self) -> None:
        """Check the values. Raises: PairError: one is not allowed; the message names it."""
        least = {"hidden_size": 1, "segment_tokens": 2, "cached_memories": 1}
        for field in fields(self):
            value = getattr(self, field.name)
            if field.name == "recall":
                if not isinstance(value, bool):
                    raise PairError(f"recall of the memory is {value!r:.100}; it must be true or false")
            elif isinstance(value, bool) or not isinstance(value, int):
                raise PairError(f"{field.name} of the memory is {value!r:.100}; it must be a whole number")
            elif not (low := least.get(field.name, 0)) <= value <= MOST_TOKENS:
                raise PairError(f"{field.name} of the memory is {value}; it must be from {low} to {MOST_TOKENS:,}")
        if self.sensory_tokens > self.segment_tokens:
            raise PairError(
                f"sensory_tokens of the memory is {self.sensory_tokens}, more than a segment's {self.segment_tokens}"
            )

    @property
    def summary_tokens(self) -> int:
        """Return how many first tokens of a segment its summary sees: half of them."""
        return self.segment_tokens // 2

    def to_dict(self) -> dict[str, Any]:
        """Return plain data."""
        return asdict(self)


class Recalled(NamedTuple):
    """What a segment remembers before it is read."""

    memory: torch.Tensor
    """[rows, hidden]: the embedding in front of the segment."""
    weights: torch.Tensor
    """[rows, cached memories], float32: how much of each cached memory is in it, adding up to 1; no column if nothing
    was cached."""


class MemoryNetwork(torch.nn.Module):
    """Two learned embeddings and two square matrices."""

    def __init__(self, settings: MemorySettings) -> None:
        """Make a network whose embeddings are 0 and whose recall looks at all memories alike."""
        super().__init__()
        size = settings.hidden_size
        self.settings = settings
        self.first = torch.nn.Parameter(torch.zeros(size))
        """m_0: the memory before the first segment."""
        if settings.recall:
            self.summary = torch.nn.Parameter(torch.zeros(size))
            """T: the prompt around half a segment that asks for its summary."""
            self.query = torch.nn.Parameter(torch.zeros(size, size))
            """W_q: of summaries."""
            self.key = torch.nn.Parameter(torch.eye(size))
            """W_k: of cached memories."""

    def recalled(self, states: States, segment: torch.Tensor, memories: torch.Tensor) -> Recalled:
        """Return what a segment remembers: steps 1 and 2.

        Args:
            states: the model.
            segment: [rows, tokens, hidden], the segment's token embeddings.
            memories: [rows, n, hidden], those of the segments before it, oldest first; n may be 0.
        """
        rows, count = memories.shape[:2]
        if not count:
            return Recalled(self.first.to(segment.dtype).expand(rows, -1), memories.new_zeros(rows, 0).float())
        if not self.settings.recall:
            weights = torch.zeros(rows, count, device=memories.device)
            weights[:, -1] = 1.0
            return Recalled(memories[:, -1], weights)
        memories = memories[:, -self.settings.cached_memories :]
        asked = self.summarise(states, segment).float() @ self.query.float()
        keys = memories.float() @ self.key.float()
        scores = (keys @ asked[:, :, None])[:, :, 0] * self.settings.hidden_size**-0.5
        weights = scores.softmax(dim=1)
        return Recalled((weights[:, None] @ memories.float())[:, 0].to(segment.dtype), weights)

    def summarise(self, states: States, segment: torch.Tensor) -> torch.Tensor:
        """Return [rows, hidden], the summary of the first half of a segment: step 1."""
        around = self.summary.to(segment.dtype).expand(len(segment), 1, -1)
        half = segment[:, : max(1, min(self.settings.summary_tokens, segment.shape[1]))]
        return states(torch.cat([around, half, around], dim=1))[:, -1]

    def remember(
        self, states: States, recalled: torch.Tensor, sensory: torch.Tensor, segment: torch.Tensor
    ) -> torch.Tensor:
        """Return [rows, hidden], the memory of a segment: step 3.

        Args:
            states: the model.
            recalled: [rows, hidden], what the segment remembers.
            sensory: [rows, at most k, hidden], the last token embeddings of the segment before.
            segment: [rows, tokens, hidden], the segment's token embeddings.
        """
        around = recalled[:, None]
        return states(torch.cat([around, sensory, segment, around], dim=1))[:, -1]
