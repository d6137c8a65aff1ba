"""A decoding state: what a model remembers of one decode, with the calls that drafting and scoring use.

An iteration is ``begin`` (which beams), ``forward`` once or more (tokens in, logits out), ``assign`` (which nodes the
forest's tokens are), ``commit`` (which beams go on).
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Sequence
from itertools import islice
from typing import Any

import torch

from dsbd.errors import ModelError, SettingsError
from dsbd.machine import torch_threads
from dsbd.models.language_model import LanguageModel
from dsbd.settings import ResolvedSettings
from dsbd.util import CancelCheck, never_cancel
from dsbd.verification.beams import Node

Processor = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Takes ids [n, length] of whole sequences with their prompt, and logits [n, vocabulary]; returns new logits, like
``transformers.LogitsProcessor``. The logits of a sequence may depend only on that sequence."""


class DecodingState(ABC):
    """The state of a model in one decode: KV cache or recurrent states. A kind without cache slots keeps the defaults.

    ``check`` is called before each forward; it may raise.
    """

    forwards = 0
    """The number of forwards; those of the prompt count as one."""
    peak_slots = 0
    """The most cache slots in use at one time."""

    def __init__(self, model: LanguageModel, check: CancelCheck = never_cancel) -> None:
        self.model = model
        self._check = check

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
        """Read the prompt.

        Args:
            prompt: ids.
            root: the node of the prompt's last token.
            prefix: [hidden], an embedding that stands in front of the prompt, in slot 0; None for none.
        """

    @abstractmethod
    def begin(self, beams: Sequence[Node], room: int) -> None:
        """Begin an iteration from these distinct beams of equal length, with at most ``room`` tokens of a forest."""

    @abstractmethod
    def forward(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        """Compute the logits after tokens of the forest; the first call of an iteration begins with the beams.

        Args:
            tokens: [n] ids, int64, on any device; n may be 0 in the first call.
            parents: [n] int64, the parent of each token: the index of an input beam or, counting on after the beams,
                of an earlier token of the forest.
            sizes: the number of tokens in each group; parents are in earlier groups.

        Returns:
            [n, vocabulary] logits, on the device of ``tokens``; in the first call [beams + n, vocabulary], the beams'
            first.
        """

    def assign(self, nodes: Sequence[Node | None]) -> None:  # noqa: B027
        """Set the node of each token of the forest, in the order of their forwards; None where it is no node."""

    def commit(self, beams: Sequence[Node]) -> list[Node]:
        """Keep the ancestors of the next iteration's beams; return those that the committed prefix did not have."""
        return []


class WrappedState:
    """Passes every call on to another state; subclasses change some."""

    def __init__(self, state: DecodingState) -> None:
        self._state = state

    def __getattr__(self, name: str) -> Any:
        return getattr(self._state, name)


class ThreadedState(WrappedState):
    """A state whose forwards run on as many threads as torch has when it is made."""

    def __init__(self, state: DecodingState) -> None:
        super().__init__(state)
        self._threads = torch.get_num_threads()

    def prefill(self, *arguments: Any) -> None:
        with torch_threads(self._threads):
            self._state.prefill(*arguments)

    def forward(self, *arguments: Any) -> torch.Tensor:
        with torch_threads(self._threads):
            return self._state.forward(*arguments)


class ProcessedState(WrappedState):
    """A state whose logits pass through ``processors``, in this order; they see nothing below the ids of ``eos``."""

    def __init__(self, state: DecodingState, processors: Sequence[Processor], eos: Collection[int]) -> None:
        super().__init__(state)
        self._processors = tuple(processors)
        self._eos = frozenset(eos)

    def prefill(self, prompt: Sequence[int], root: Node, prefix: torch.Tensor | None = None) -> None:
        self._prompt = list(prompt)
        self._state.prefill(prompt, root, prefix)

    def begin(self, beams: Sequence[Node], room: int) -> None:
        self._paths: list[list[int] | None] = [self._prompt + beam.token_ids() for beam in beams]
        self._processed = list[torch.Tensor]()  # [vocabulary] each, in the order of the paths
        self._state.begin(beams, room)

    @torch.inference_mode()
    def forward(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        logits = self._state.forward(tokens, parents, sizes)
        logits = logits if logits.dtype == torch.float64 else logits.float()
        edges = zip(tokens.tolist(), parents.tolist(), strict=True)
        done, before = 0, len(self._processed)
        if not self._processed:
            done = self._process(logits[: len(self._paths)], self._paths)
        for size in sizes:
            paths = [self._below(parent, token) for token, parent in islice(edges, size)]
            self._paths += paths
            done += self._process(logits[done : done + size], paths)
        return torch.stack(self._processed[before:]) if done else logits

    def _below(self, parent: int, token: int) -> list[int] | None:
        """Return the sequence of a drafted token; None if no beam can hold it, so that no processor sees it."""
        path = self._paths[parent]
        if path is None or token in self._eos or self._processed[parent][token] == -torch.inf:
            return None
        return [*path, token]

    def _process(self, logits: torch.Tensor, paths: Sequence[list[int] | None]) -> int:
        """Append the processed logits after sequences of one length; return their number."""
        allowed = [index for index, path in enumerate(paths) if path is not None]
        rows = list(logits)
        if allowed:
            ids = torch.tensor([paths[index] for index in allowed], device=logits.device)
            scores = logits[allowed]
            for processor in self._processors:
                scores = _apply(processor, ids, scores)
            if bool((scores == -torch.inf).all(dim=1).any()):
                raise ModelError("the logits processors forbid every next token of a beam; allow at least EOS")
            for index, row in zip(allowed, scores, strict=True):
                rows[index] = row
        self._processed += rows
        return len(rows)


def _apply(processor: Processor, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    """Return the logits that a processor makes of others. Raises: ModelError: they are no logits."""
    new = processor(ids, scores)
    if not isinstance(new, torch.Tensor) or new.shape != scores.shape:
        kind = list(new.shape) if isinstance(new, torch.Tensor) else type(new).__name__
        name = getattr(processor, "__name__", type(processor).__name__)
        raise ModelError(f"the logits processor {name} returned {kind}; it must return logits {list(scores.shape)}")
    return new


class Repeated:
    """A processor that gets its first input twice: one that keeps a state would write other texts, unnoticed."""

    def __init__(self, processor: Processor) -> None:
        self._processor = processor
        self._first: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None
        self._is_checked = False
        self.__name__ = getattr(processor, "__name__", type(processor).__name__)

    def __call__(self, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        before = logits[:1].clone()
        new = self._processor(ids, logits)
        if self._first is None:
            self._first = ids[:1], before, new[:1].clone() if isinstance(new, torch.Tensor) else before
        elif not self._is_checked:
            self._is_checked = True
            *inputs, first = self._first
            if not torch.allclose(self._processor(*inputs), first, equal_nan=True):
                raise SettingsError(
                    f"the logits processor {self.__name__} answers the same ids in two ways: it keeps a state; with "
                    f"drafts, several beams or prompts it must be a function of the ids; change it, or decode one "
                    f"prompt without drafts (method sampling or greedy; of generate draft_model=None, num_beams=1)"
                )
        return new


def functions_of_ids(
    processors: Sequence[Processor], settings: ResolvedSettings, several: bool
) -> tuple[Processor, ...]:
    """Return the processors; one may keep a state only if it sees one sequence, token by token."""
    is_in_turn = settings.draft_depth == 0 and settings.max_width == 1 and not several
    return tuple(processors) if is_in_turn else tuple(map(Repeated, processors))
