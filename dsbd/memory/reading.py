"""A memory: its learned part with its three steps, and reading a long prompt segment by segment.

The steps are: summarise a segment, recall, read on. All states are [batch, hidden] or [batch, tokens, hidden]. The
model itself is a function from input embeddings to its last hidden states (after the final norm), so the same steps
serve any decoder, in training and in decoding. What remains of a prompt is one embedding, and the ids of the last
segment.

*Source:* Hierarchical Memory Transformer, arXiv 2405.06067, section 3; docs/memory.md.
"""

import hashlib
from collections.abc import Callable, Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple

import torch

from dsbd.results import ShortRepr
from dsbd.util import CancelCheck, Progress, never_cancel

READING = "reading a long prompt"
States = Callable[[torch.Tensor], torch.Tensor]
"""From input embeddings [batch, tokens, hidden] to the last hidden states of the same shape; attention is causal, and
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


class Recalled(NamedTuple):
    """What a segment remembers before it is read."""

    memory: torch.Tensor
    """[batch, hidden]: the embedding in front of the segment."""
    weights: torch.Tensor
    """[batch, cached memories], float32: how much of each cached memory is in it, adding up to 1; no column if nothing
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

        ``segment`` [batch, tokens, hidden] are its token embeddings, ``memories`` [batch, n, hidden] those of the
        segments before it, oldest first; n may be 0.
        """
        batch, count = memories.shape[:2]
        if not count:
            return Recalled(self.first.to(segment.dtype).expand(batch, -1), memories.new_zeros(batch, 0).float())
        if not self.settings.recall:
            weights = torch.zeros(batch, count, device=memories.device)
            weights[:, -1] = 1.0
            return Recalled(memories[:, -1], weights)
        memories = memories[:, -self.settings.cached_memories :]
        query = self.summarise(states, segment).float() @ self.query.float()
        keys = memories.float() @ self.key.float()
        scores = (keys @ query[:, :, None])[:, :, 0] * self.settings.hidden_size**-0.5
        weights = scores.softmax(dim=1)
        return Recalled((weights[:, None] @ memories.float())[:, 0].to(segment.dtype), weights)

    def summarise(self, states: States, segment: torch.Tensor) -> torch.Tensor:
        """Return [batch, hidden], the summary of the first half of a segment: step 1."""
        around = self.summary.to(segment.dtype).expand(len(segment), 1, -1)
        half = segment[:, : self.settings.segment_tokens // 2]
        return states(torch.cat([around, half, around], dim=1))[:, -1]

    def remember(
        self, states: States, recalled: torch.Tensor, sensory: torch.Tensor, segment: torch.Tensor
    ) -> torch.Tensor:
        """Return [batch, hidden], the memory of a segment: step 3.

        ``recalled`` [batch, hidden] is what the segment remembers, ``sensory`` [batch, at most k, hidden] are the last
        token embeddings of the segment before, ``segment`` [batch, tokens, hidden] its own.
        """
        around = recalled[:, None]
        return states(torch.cat([around, sensory, segment, around], dim=1))[:, -1]


@dataclass(frozen=True)
class ReadSegment:
    """A segment of a prompt, as it was read."""

    ids: tuple[int, ...]
    first_memory: int
    """The segment whose memory is the first of those that it could recall."""
    weights: tuple[float, ...]
    """How much of each memory it recalled, from ``first_memory`` on."""


@dataclass(frozen=True, repr=False, eq=False)
class PromptMemory(ShortRepr):
    """A prompt behind a memory: what stands in slot 0, and the ids that follow."""

    embedding: torch.Tensor
    """[hidden], in the model's dtype: the one embedding that stands for all earlier segments."""
    segments: tuple[ReadSegment, ...]
    """All segments; the last one is in the window, and its weights say what ``embedding`` is made of."""
    ids: list[int]
    """Sensory ids, then the last segment's: an ordinary prompt behind slot 0."""
    sensory: int
    """How many of ``ids`` are repeated from the segment before."""

    @cached_property
    def digest(self) -> str:
        """Return the SHA-256 of the embedding's numbers, as float32 in little-endian order."""
        numbers = self.embedding.detach().cpu().float().numpy().astype("<f4").tobytes()
        return f"sha256:{hashlib.sha256(numbers).hexdigest()}"


class Memory:
    """A learned memory of one model. It keeps the last prompt that it read, for the next method of a race."""

    def __init__(self, name: str, network: MemoryNetwork) -> None:
        self.name, self.network, self.settings = name, network, network.settings
        self._latest: tuple[Any, tuple[int, ...], PromptMemory] | None = None

    def window_of(self, prompt_size: int) -> int:
        """Return the slots that a prompt takes once it is read: memory, sensory tokens, and the last segment."""
        last = segments_of(prompt_size, self.settings.segment_tokens)[-1]
        return 1 + min(self.settings.sensory_tokens, last.start) + len(last)

    def reading(
        self, model: Any, ids: Sequence[int], check: CancelCheck = never_cancel
    ) -> Generator[Progress, None, PromptMemory]:
        """Read a prompt that is longer than a segment; yield after each segment. Closing the generator cancels.

        ``model`` is the :class:`dsbd.models.language_model.LanguageModel` that the memory was made for. ``check`` is
        called before each segment; it may raise.
        """
        key, latest = tuple(ids), self._latest  # another decode may put its own there meanwhile
        if latest is None or latest[0] is not model or latest[1] != key:
            self._latest = latest = model, key, (yield from self._read(model, key, check))
        return latest[2]

    def _read(self, model: Any, ids: tuple[int, ...], check: CancelCheck) -> Generator[Progress, None, PromptMemory]:
        network, kept = self.network, self.settings.sensory_tokens
        spans = segments_of(len(ids), self.settings.segment_tokens)
        last = spans[-1]
        segments, memories = list[ReadSegment](), list[torch.Tensor]()
        for number, span in enumerate(spans):
            check()
            with torch.inference_mode():
                embedded = model.embed(ids[span.start : span.stop])
                past = torch.stack(memories, dim=1) if memories else embedded[:, :0]
                recalled = network.recalled(model.hidden_states, embedded, past)
                if span is not last:
                    sensory = model.embed(ids[max(0, span.start - kept) : span.start])
                    memories.append(network.remember(model.hidden_states, recalled.memory, sensory, embedded))
            weights = tuple(recalled.weights[0].tolist())
            segments.append(ReadSegment(ids[span.start : span.stop], number - len(weights), weights))
            yield Progress(READING, number + 1, len(spans))
        start = max(0, last.start - kept)
        return PromptMemory(recalled.memory[0], tuple(segments), list(ids[start:]), last.start - start)


def segments_of(tokens: int, length: int) -> list[range]:
    """Cut a prompt into segments, so that the last one is as long as possible: the first may be shorter.

    >>> segments_of(10, 4)
    [range(0, 2), range(2, 6), range(6, 10)]
    """
    first = tokens % length
    starts = ([0] if first else []) + list(range(first, tokens, length))
    return [range(start, end) for start, end in zip(starts, [*starts[1:], tokens], strict=True)]
