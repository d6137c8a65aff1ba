"""What a memory was trained with: the sizes of its parts, and the model that it belongs to."""

from dataclasses import asdict, dataclass, fields
from typing import Any, Literal

from dsbd.errors import PairError

FORMAT: Literal["dsbd-memory/1"] = "dsbd-memory/1"
MOST_TOKENS = 1_000_000
"""The longest segment, and so on, that a file may ask for."""


@dataclass(frozen=True)
class MemorySettings:
    """The sizes of a memory. *Source:* Hierarchical Memory Transformer, arXiv 2405.06067; docs/memory.md."""

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
