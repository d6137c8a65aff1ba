"""States for models whose paths cannot share one KV cache: a cache for each path, or no cache at all.

Recurrent and hybrid layers keep one state for a whole path, and some attention layers count windows in slots. Their
caches hold one path per row of a batch. So a beam's cache is copied for every path that goes on from it, and the prompt
is read once. The check at load finds whether caches can be copied: it compares the logits of two iterations with every
path computed from its first token.

The memory is a cache of the whole context for each beam and for each path of the forest; a forest in one cache needs
one.

:class:`PathStates` computes every path again each time: slow, obvious, and right for any causal model. The checks at
load compare every other way with it.

*Source:* ``Cache.reorder_cache`` of transformers; docs/algorithm.md, *The engine*.
"""

import copy
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

import torch
from transformers import Cache

from dsbd.models.language_model import LanguageModel
from dsbd.models.states.state import DecodingState
from dsbd.util import CancelCheck, never_cancel
from dsbd.verification.beams import Node

PATHS_PER_FORWARD = 16


class _PathState(NamedTuple):
    """Where the state of a path is: a row of a batch of caches, and the number of tokens in each row."""

    cache: Cache
    row: int
    length: int


class RecurrentState(DecodingState):
    """A row of a batch for every path, with a separate cache.

    The states after the beams of the last iteration are kept. The next iteration forwards what the new beams have below
    them, then the paths of the forest as one batch.
    """

    def __init__(self, model: LanguageModel, check: CancelCheck = never_cancel) -> None:
        super().__init__(model, check)
        self._stepwise = model.attention == "steps"

    @torch.inference_mode()
    def prefill(self, prompt: Sequence[int], root: Node, prefix: torch.Tensor | None = None) -> None:
        *stored, self._last_prompt_token = prompt
        cache = self.model.new_states()
        length = len(stored) + (prefix is not None)
        if length:
            self._check()
            tokens = torch.tensor([stored], dtype=torch.int64, device=self.model.device)
            inputs = tokens if prefix is None else self.model.behind(prefix, tokens)
            positions = torch.arange(length, device=inputs.device)[None]
            self.model.forward(inputs, positions=positions, cache=cache, last_only=True)
            self.forwards += 1
        self._kept: dict[Node | None, _PathState] = {root.parent: _PathState(cache, 0, length)}

    def begin(self, beams: Sequence[Node], room: int) -> None:
        self._beams = list(beams)
        self._tokens: list[int] = [node.token for node in beams]
        self._parents = [-1] * len(beams)
        self._states: dict[int, _PathState] = {}  # after beams and tokens of the forest, by their index

    @torch.inference_mode()
    def forward(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        logits = [] if self._states else self._forward_beams()
        first = len(self._tokens)
        self._tokens += tokens.tolist()
        self._parents += parents.tolist()
        return torch.stack([*logits, *self._forward_forest(first)]).to(tokens.device)

    def commit(self, beams: Sequence[Node]) -> list[Node]:
        self._kept = {node: self._kept[node] for node in {self._below(beam)[0] for beam in beams}}
        self._states = {}
        return []

    def _forward_beams(self) -> list[torch.Tensor]:
        """Forward each beam's tokens below its kept state; return the logits after each beam."""
        paths = [self._below(beam) for beam in self._beams]
        logits, ends = self._run([self._kept[node] for node, _ in paths], [tokens for _, tokens in paths])
        self._kept = dict(zip(self._beams, ends, strict=True))
        self._states = dict(enumerate(ends))
        return [rows[-1] for rows in logits]

    def _forward_forest(self, first: int) -> list[torch.Tensor]:
        """Forward the tokens from index ``first`` on, each path in a row; return the logits after each token."""
        indices = range(first, len(self._tokens))
        above = set(self._parents[first:])
        leaves = [index for index in indices if index not in above]
        chains = {leaf: list(self._chain(leaf)) for leaf in leaves}
        starts = {leaf: self._states[self._parents[chains[leaf][0]]] for leaf in leaves}
        logits_of = dict[int, torch.Tensor]()
        for cache in {id(start.cache): start.cache for start in starts.values()}.values():
            own = [leaf for leaf in leaves if starts[leaf].cache is cache]
            tokens = [[self._tokens[index] for index in chains[leaf]] for leaf in own]
            logits, ends = self._run([starts[leaf] for leaf in own], tokens)
            for leaf, rows, end in zip(own, logits, ends, strict=True):
                logits_of |= zip(chains[leaf], rows, strict=False)
                if len({len(chains[one]) for one in own}) == 1:
                    self._states[leaf] = end
        return [logits_of[index] for index in indices]

    def _chain(self, leaf: int) -> Iterator[int]:
        """Return the indices from below the nearest state down to this one."""
        chain = [leaf]
        while self._parents[chain[-1]] not in self._states:
            chain.append(self._parents[chain[-1]])
        return reversed(chain)

    def _run(
        self, starts: Sequence[_PathState], paths: Sequence[Sequence[int]]
    ) -> tuple[list[torch.Tensor], list[_PathState]]:
        """Go on from states of one cache along paths; return logits [longest, vocabulary] and the end of each path.

        Shorter paths are padded on the right: their logits are right, but their end is the end of the padding.
        """
        device, longest = self.model.device, max(len(path) for path in paths)
        tokens = torch.tensor([[*path, *[0] * (longest - len(path))] for path in paths], device=device)
        length = starts[0].length
        cache = copied(starts[0].cache, torch.tensor([start.row for start in starts], device=device))
        parts = []
        for column in tokens.split(1, dim=1) if self._stepwise else [tokens]:
            self._check()
            positions = torch.arange(length, length + column.shape[1], device=device).expand(column.shape)
            parts.append(self.model.forward(column, positions=positions, cache=cache))
            self.forwards += 1
            length += column.shape[1]
        return list(torch.cat(parts, dim=1)), [_PathState(cache, row, length) for row in range(len(paths))]

    def _below(self, beam: Node) -> tuple[Node | None, list[int]]:
        """Return the nearest node on this path whose state is kept, and the tokens of the path below it."""
        tokens = list[int]()
        node: Node | None = beam
        while node is not None and node not in self._kept:
            tokens.append(self._last_prompt_token if node.parent is None else node.token)
            node = node.parent
        return node, tokens[::-1]


def copied(cache: Cache, rows: torch.Tensor) -> Cache:
    """Return a new cache with these rows [n] of a cache; a row may appear several times."""
    twin = copy.copy(cache)
    layers: list[Any] = [_shallow(layer) for layer in cache.layers]
    for layer in layers:
        layer.reorder_cache(rows)
    twin.layers = layers
    return twin


def _shallow(layer: Any) -> Any:
    """Return a copy of a cache layer, with copies of its lists and dictionaries."""
    twin = copy.copy(layer)
    vars(twin).update({name: copy.copy(part) for name, part in vars(layer).items() if isinstance(part, (dict, list))})
    return twin


class PathStates(DecodingState):
    """A row of a batch for every path, computed from its first token each time."""

    def prefill(self, prompt: Sequence[int], root: Node, prefix: torch.Tensor | None = None) -> None:
        self._prompt, self._prefix = list(prompt), prefix

    def begin(self, beams: Sequence[Node], room: int) -> None:
        self._paths = [self._prompt + beam.token_ids() for beam in beams]
        self._is_first = True

    def forward(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        for token, parent in zip(tokens.tolist(), parents.tolist(), strict=True):
            self._paths.append([*self._paths[parent], token])
        paths = self._paths if self._is_first else self._paths[len(self._paths) - tokens.numel() :]
        self._is_first = False
        starts = range(0, len(paths), PATHS_PER_FORWARD)
        logits = [self._last_logits(paths[start : start + PATHS_PER_FORWARD]) for start in starts]
        return torch.cat(logits).to(tokens.device)

    def _last_logits(self, paths: Sequence[list[int]]) -> torch.Tensor:
        """Return logits [n, vocabulary] after each path. Rows are padded on the right, which no path sees."""
        longest = max(len(path) for path in paths)
        rows = torch.tensor([path + [0] * (longest - len(path)) for path in paths], device=self.model.device)
        last = torch.tensor([len(path) - 1 for path in paths], device=self.model.device)
        if self._prefix is not None:
            rows, last = self.model.behind(self._prefix, rows), last + 1
        self._check()
        self.forwards += 1
        positions = torch.arange(rows.shape[1], device=rows.device).expand(rows.shape[:2])
        return self.model.forward(rows, positions=positions)[torch.arange(len(paths), device=last.device), last]
