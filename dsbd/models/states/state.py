"""A row: a model's memory of one decode, with the calls that drafting and scoring use; and rows around rows.

An iteration is ``begin`` (which beams), ``forward`` once or more (tokens in, logits out), ``assign``
(which nodes the fed slots are), ``commit`` (which beams go on).
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
    """A model's memory of one decode. A kind without slots keeps the defaults of ``assign`` and ``commit``.

    Args:
        model: the model.
        check: called before each forward; it may raise.
    """

    def __init__(self, model: LanguageModel, check: CancelCheck = never_cancel) -> None:
        self.model = model
        self._check = check

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
    def begin(self, beams: Sequence[Node], room: int) -> None:
        """Begin an iteration from these distinct beams of equal length; at most ``room`` forest tokens are fed."""

    @abstractmethod
    def forward(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
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

    def assign(self, nodes: Sequence[Node | None]) -> None:  # noqa: B027
        """Set the node of each forest slot, in the order fed; None for slots that are not nodes."""

    def commit(self, beams: Sequence[Node]) -> list[Node]:
        """Keep the ancestors of the next iteration's beams; return those that were not settled before."""
        return []


class WrappedState:
    """Passes every call on to another row; subclasses change some."""

    def __init__(self, row: DecodingState) -> None:
        self._row = row

    def __getattr__(self, name: str) -> Any:
        return getattr(self._row, name)


class ThreadedState(WrappedState):
    """A row whose forwards run on as many threads as torch has when the row is made."""

    def __init__(self, row: DecodingState) -> None:
        super().__init__(row)
        self._threads = torch.get_num_threads()

    def prefill(self, *given: Any) -> None:
        with torch_threads(self._threads):
            self._row.prefill(*given)

    def forward(self, *given: Any) -> torch.Tensor:
        with torch_threads(self._threads):
            return self._row.forward(*given)


class ProcessedState(WrappedState):
    """A row whose logits pass through ``processors``, in this order; they see nothing below the ids of ``eos``."""

    def __init__(self, row: DecodingState, processors: Sequence[Processor], eos: Collection[int]) -> None:
        super().__init__(row)
        self._processors = tuple(processors)
        self._eos = frozenset(eos)

    def prefill(self, prompt: Sequence[int], root: Node, prefix: torch.Tensor | None = None) -> None:
        self._prompt = list(prompt)
        self._row.prefill(prompt, root, prefix)

    def begin(self, beams: Sequence[Node], room: int) -> None:
        self._paths: list[list[int] | None] = [self._prompt + beam.token_ids() for beam in beams]
        self._answers = list[torch.Tensor]()  # [vocabulary] each, in the order of the paths
        self._row.begin(beams, room)

    @torch.inference_mode()
    def forward(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        logits = self._row.forward(tokens, parents, sizes)
        logits = logits if logits.dtype == torch.float64 else logits.float()
        fed = zip(tokens.tolist(), parents.tolist(), strict=True)
        done, before = 0, len(self._answers)
        if not self._answers:
            done = self._process(logits[: len(self._paths)], self._paths)
        for size in sizes:
            paths = [self._below(parent, token) for token, parent in islice(fed, size)]
            self._paths += paths
            done += self._process(logits[done : done + size], paths)
        return torch.stack(self._answers[before:]) if done else logits

    def _below(self, parent: int, token: int) -> list[int] | None:
        """Return the sequence of a fed token; None if no beam can hold it, so that no processor sees it."""
        path = self._paths[parent]
        if path is None or token in self._eos or self._answers[parent][token] == -torch.inf:
            return None
        return [*path, token]

    def _process(self, logits: torch.Tensor, paths: Sequence[list[int] | None]) -> int:
        """Append the processed rows of sequences of one length; return their number."""
        asked = [place for place, path in enumerate(paths) if path is not None]
        rows = list(logits)
        if asked:
            ids = torch.tensor([paths[place] for place in asked], device=logits.device)
            scores = logits[asked]
            for processor in self._processors:
                scores = _answer_of(processor, ids, scores)
            if bool((scores == -torch.inf).all(dim=1).any()):
                raise ModelError("the logits processors forbid every next token of a beam; allow at least EOS")
            for place, row in zip(asked, scores, strict=True):
                rows[place] = row
        self._answers += rows
        return len(rows)


def _answer_of(processor: Processor, ids: torch.Tensor, scores: torch.Tensor) -> torch.Tensor:
    answer = processor(ids, scores)
    if not isinstance(answer, torch.Tensor) or answer.shape != scores.shape:
        found = list(answer.shape) if isinstance(answer, torch.Tensor) else type(answer).__name__
        name = getattr(processor, "__name__", type(processor).__name__)
        raise ModelError(f"the logits processor {name} returned {found}; it must return logits {list(scores.shape)}")
    return answer


class Repeated:
    """A processor that is asked its first question twice: one with a state would write other texts, in silence."""

    def __init__(self, processor: Processor) -> None:
        self._processor = processor
        self._first: tuple[torch.Tensor, torch.Tensor, torch.Tensor] | None = None
        self._is_asked_again = False
        self.__name__ = getattr(processor, "__name__", type(processor).__name__)

    def __call__(self, ids: torch.Tensor, logits: torch.Tensor) -> torch.Tensor:
        asked = logits[:1].clone()
        answer = self._processor(ids, logits)
        if self._first is None:
            self._first = ids[:1], asked, answer[:1].clone() if isinstance(answer, torch.Tensor) else asked
        elif not self._is_asked_again:
            self._is_asked_again = True
            first, given, before = self._first
            if not torch.allclose(self._processor(first, given), before, equal_nan=True):
                raise SettingsError(
                    f"the logits processor {self.__name__} answers the same ids in two ways: it keeps a state; with "
                    f"drafts, several beams or prompts it must be a function of the ids; change it, or decode one "
                    f"prompt without drafts (method sampling or greedy; of generate draft_model=None, num_beams=1)"
                )
        return answer


def functions_of_ids(
    processors: Sequence[Processor], settings: ResolvedSettings, several: bool
) -> tuple[Processor, ...]:
    """Return the processors; those that are not asked about one sequence, token by token, may keep no state."""
    is_in_turn = settings.draft_depth == 0 and settings.max_width == 1 and not several
    return tuple(processors) if is_in_turn else tuple(map(Repeated, processors))
