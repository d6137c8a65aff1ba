"""Rows whose logits pass through functions of one sequence: bad words, forced tokens, a grammar.

The functions change the logits of both models before any law is made of them. So every guarantee holds under the law of
the processed target. *Source:* docs/algorithm.md, *Processed laws*.
"""

from collections.abc import Callable, Collection, Sequence
from itertools import islice

import torch

from dsbd.errors import ModelError
from dsbd.law.beams import Node
from dsbd.models.rows.row import Row, WrappedRow

Processor = Callable[[torch.Tensor, torch.Tensor], torch.Tensor]
"""Takes ids [n, length] of whole sequences with their prompt, and logits [n, vocabulary]; returns new logits, like
``transformers.LogitsProcessor``. The logits of a sequence may depend only on that sequence."""


class ProcessedRow(WrappedRow):
    """A row whose logits pass through ``processors``, in this order; they see nothing below the ids of ``eos``."""

    def __init__(self, row: Row, processors: Sequence[Processor], eos: Collection[int]) -> None:
        super().__init__(row)
        self._processors = tuple(processors)
        self._eos = frozenset(eos)

    def prefill(self, prompt: Sequence[int], root: Node, prefix: torch.Tensor | None = None) -> None:
        self._prompt = list(prompt)
        super().prefill(prompt, root, prefix)

    def open(self, beams: Sequence[Node], room: int) -> None:
        self._paths: list[list[int] | None] = [self._prompt + beam.token_ids() for beam in beams]
        self._answers = list[torch.Tensor]()  # [vocabulary] each, in the order of the paths
        super().open(beams, room)

    @torch.inference_mode()
    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        logits = super().feed(tokens, parents, sizes)
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
