"""Reads a long prompt segment by segment; what remains is one embedding, and the ids of the last segment."""

import hashlib
from collections.abc import Generator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple, Protocol

import torch

from dsbd.errors import PromptError
from dsbd.memory.network import MemoryNetwork, MemorySettings
from dsbd.results import brief
from dsbd.stopping import Check, never_stop


class ReadProgress(NamedTuple):
    """How many segments of a prompt are read."""

    done: int
    total: int


class Backbone(Protocol):
    """What a memory needs of its model."""

    def embed(self, tokens: Sequence[int]) -> torch.Tensor:
        """Return the input embeddings [1, n, hidden] of ids."""

    def hidden_states(self, embeddings: torch.Tensor) -> torch.Tensor:
        """Return the last hidden states [rows, n, hidden] of input embeddings; attention is causal."""


@dataclass(frozen=True)
class ReadSegment:
    """A segment of a prompt, as it was read."""

    ids: tuple[int, ...]
    first_memory: int
    """The segment whose memory is the first of those that it could recall."""
    weights: tuple[float, ...]
    """How much of each memory it recalled, from ``first_memory`` on."""


@dataclass(frozen=True, eq=False)
class PromptMemory:
    """A prompt behind a memory: what stands in slot 0, and the ids that follow."""

    __repr__ = brief

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
    """A learned memory of one model. It keeps the last prompt that it read, for the next method of a race.

    Args:
        name: what to call it.
        network: the learned part, on the model's device.
    """

    def __init__(self, name: str, network: MemoryNetwork) -> None:
        self.name = name
        self.network = network
        self._latest: tuple[Backbone, tuple[int, ...], PromptMemory] | None = None

    def __repr__(self) -> str:
        return f"Memory({self.name!r})"

    @property
    def settings(self) -> MemorySettings:
        """Return the sizes."""
        return self.network.settings

    def window_of(self, prompt_size: int) -> int:
        """Return the slots that a prompt takes once it is read: memory, sensory tokens, and the last segment."""
        last = segments_of(prompt_size, self.settings.segment_tokens)[-1]
        return 1 + min(self.settings.sensory_tokens, last.start) + len(last)

    def reading(
        self, model: Backbone, ids: Sequence[int], check: Check = never_stop
    ) -> Generator[ReadProgress, None, PromptMemory]:
        """Read a prompt; yield after each segment. Closing the generator cancels.

        Args:
            model: the model that the memory was made for.
            ids: the prompt, longer than a segment.
            check: called before each segment; it may raise.

        Raises:
            PromptError: there is nothing to read before the last segment.
        """
        key = tuple(ids)
        if len(key) <= self.settings.segment_tokens:
            raise PromptError(
                f"a prompt of {len(key)} tokens has nothing before its last segment of {self.settings.segment_tokens}; "
                f"decode it as it is"
            )
        if self._latest is None or self._latest[0] is not model or self._latest[1] != key:
            self._latest = model, key, (yield from self._read(model, key, check))
        return self._latest[2]

    def _read(self, model: Backbone, ids: tuple[int, ...], check: Check) -> Generator[ReadProgress, None, PromptMemory]:
        network, kept = self.network, self.settings.sensory_tokens
        spans = segments_of(len(ids), self.settings.segment_tokens)
        last = spans[-1]
        segments, memories = list[ReadSegment](), list[torch.Tensor]()
        for number, span in enumerate(spans):
            check()
            with torch.inference_mode():
                embedded = model.embed(ids[span.start : span.stop])
                past = torch.stack(memories, dim=1) if memories else embedded[:, :0]
                found = network.recalled(model.hidden_states, embedded, past)
                if span is not last:
                    sensory = model.embed(ids[max(0, span.start - kept) : span.start])
                    memories.append(network.remember(model.hidden_states, found.memory, sensory, embedded))
            weights = tuple(found.weights[0].tolist())
            segments.append(ReadSegment(ids[span.start : span.stop], number - len(weights), weights))
            yield ReadProgress(number + 1, len(spans))
        start = max(0, last.start - kept)
        return PromptMemory(found.memory[0], tuple(segments), list(ids[start:]), last.start - start)


def segments_of(tokens: int, length: int) -> list[range]:
    """Cut a prompt into segments, so that the last one is as long as possible: the first may be shorter.

    >>> segments_of(10, 4)
    [range(0, 2), range(2, 6), range(6, 10)]
    """
    first = tokens % length
    starts = ([0] if first else []) + list(range(first, tokens, length))
    return [range(start, end) for start, end in zip(starts, [*starts[1:], tokens], strict=True)]
