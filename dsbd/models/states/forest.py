"""Keeps all beams of one decode in one KV cache; a 4-D mask shows each token the prompt and its own ancestors.

The slots of the cache, and the nodes that belong to them
    *committed prefix*: the prompt without its last token, and the nodes that all beams share. Every token sees it.
    *tree*: the other ancestors of the beams. The beams' own last nodes are never kept, because each iteration needs
    their logits.
    *to recompute*: nodes on a beam's path that are not in the cache. An iteration forwards them first, with the beams'
    last nodes at the end.
    *forest*: the tokens after them, numbered from 0 in the order of their forwards.
"""

from collections.abc import Sequence

import numpy as np
import torch

from dsbd.models.language_model import LanguageModel, Masks
from dsbd.models.states.state import DecodingState
from dsbd.util import CancelCheck, never_cancel
from dsbd.verification.beams import Node, common_prefix

PREFILL_TOKENS = 512
"""The most tokens of a prompt in one forward. A longer prompt takes several, and can be cancelled between them."""


class ForestState(DecodingState):
    """One KV cache for all beams of one decode. *Source:* docs/algorithm.md, *The engine*."""

    def __init__(self, model: LanguageModel, slots: int = 0, check: CancelCheck = never_cancel) -> None:
        super().__init__(model, check)
        self.cache = model.new_cache(slots)
        self._visible = torch.zeros((), dtype=model.dtype, device=model.device)
        self._hidden = torch.full_like(self._visible, torch.finfo(model.dtype).min)

    @property
    def slots(self) -> int:
        return self.cache.length

    @property
    def peak_bytes(self) -> int:
        return self.cache.peak_bytes

    @torch.inference_mode()
    def prefill(self, prompt: Sequence[int], root: Node, prefix: torch.Tensor | None = None) -> None:
        *stored, self._last_prompt_token = prompt
        shift = 0 if prefix is None else 1
        self.cache.reserve(shift + len(stored))
        if prefix is not None:
            self._check()
            self.model.forward(prefix[None, None], cache=self.cache, last_only=True)
        for start in range(0, len(stored), PREFILL_TOKENS):
            self._check()
            tokens = torch.tensor(stored[start : start + PREFILL_TOKENS], device=self.model.device)
            first = shift + start
            self._store(tokens, torch.arange(first, first + tokens.numel(), device=tokens.device))
        self.forwards += bool(self.cache.length)
        self._first_position = self._prefix_slots = self.cache.length  # the root's position; slots of the prefix
        self._prefix_nodes = 0  # nodes of the prefix: those with a length below this
        self._slot_of: dict[Node, int] = {}  # of the tree's nodes, counted from the end of the prefix

    def _store(self, tokens: torch.Tensor, positions: torch.Tensor) -> None:
        """Append tokens [n] of the prompt to the cache, without their logits."""
        self.model.forward(tokens[None], positions=positions[None], cache=self.cache, last_only=True)

    def begin(self, beams: Sequence[Node], room: int) -> None:
        self._beam_count = len(beams)
        self._to_recompute = [*(node for node in self._ancestors(beams) if node not in self._slot_of), *beams]
        self._tree_slots = tree = self.cache.length - self._prefix_slots
        self._slot_of |= {node: tree + index for index, node in enumerate(self._to_recompute)}
        self._forest_start = len(self._slot_of)
        self._fed = 0  # tokens behind the tree
        visible = np.zeros((len(self._to_recompute) + room, self._forest_start + room), dtype=bool)
        for index, node in enumerate(self._to_recompute):
            ancestor: Node | None = node
            while ancestor is not None and ancestor.length >= self._prefix_nodes:
                visible[index, self._slot_of[ancestor]] = True
                ancestor = ancestor.parent
        np.fill_diagonal(visible[:, tree:], True)  # every token sees itself
        # [tokens of this iteration, slots behind the prefix]
        self._attention_mask = torch.where(torch.from_numpy(visible).to(self.model.device), self._visible, self._hidden)
        lengths = torch.tensor([node.length for node in self._slot_of] + [0] * room)
        self._positions = (lengths + self._first_position).to(self.model.device)  # [slots behind the prefix]
        self._fed_positions = self._positions[tree:]  # a view

    def forward(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        self._check()
        device = tokens.device
        tokens, parents = tokens.to(self.model.device), parents.to(self.model.device)
        start, before_beams = self._fed, len(self._to_recompute) - self._beam_count
        if start == 0:
            first = [self._last_prompt_token if node.parent is None else node.token for node in self._to_recompute]
            tokens = torch.cat([torch.tensor(first, device=tokens.device), tokens])
            self._fed = len(first)
        if sizes:
            self._extend_mask(parents + before_beams, sizes)
        positions = self._fed_positions[start : self._fed]
        masks = self._masks(self._attention_mask[start : self._fed, : self._tree_slots + self._fed], positions)
        logits = self._logits(tokens, positions, masks).to(device)
        self.forwards += 1
        self.peak_slots = max(self.peak_slots, self.cache.length)
        return logits if start else logits[before_beams:]

    def _extend_mask(self, parents: torch.Tensor, sizes: Sequence[int]) -> None:
        """Add tokens to the mask: each sees itself and what its parent sees, one position after the parent."""
        for above, size in zip(parents.split(list(sizes)), sizes, strict=True):
            attention = self._attention_mask[self._fed : self._fed + size]
            torch.maximum(self._attention_mask[above], attention, out=attention)
            torch.add(self._fed_positions[above], 1, out=self._fed_positions[self._fed : self._fed + size])
            self._fed += size

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks) -> torch.Tensor:
        """Return logits [n, vocabulary] of tokens [n], which are appended to the cache. An engine replaces this."""
        self.cache.reserve(self._iteration_slots)
        return self.model.forward(tokens[None], positions=positions[None], masks=masks, cache=self.cache)[0]

    @property
    def _iteration_slots(self) -> int:
        """Return the number of slots that this iteration takes at most."""
        return self._prefix_slots + self._attention_mask.shape[1]

    def assign(self, nodes: Sequence[Node | None]) -> None:
        slots = enumerate(nodes, self._forest_start)
        self._slot_of.update((node, slot) for slot, node in slots if node is not None)

    @torch.inference_mode()
    def commit(self, beams: Sequence[Node]) -> list[Node]:
        kept = [node for node in self._ancestors(beams) if node in self._slot_of]
        self.cache.move(self._prefix_slots, [self._prefix_slots + self._slot_of[node] for node in kept])
        count = self._shared_count(kept, beams)
        self._prefix_slots += count
        self._prefix_nodes += count
        self._slot_of = {node: slot for slot, node in enumerate(kept[count:])}
        return kept

    def _ancestors(self, beams: Sequence[Node]) -> list[Node]:
        """Return the ancestors of the beams that are not in the committed prefix, parents first."""
        ancestors = dict[Node, None]()
        for beam in beams:
            node = beam.parent
            while node is not None and node.length >= self._prefix_nodes and node not in ancestors:
                ancestors[node] = None
                node = node.parent
        return sorted(ancestors, key=lambda node: node.length)

    def _shared_count(self, kept: Sequence[Node], beams: Sequence[Node]) -> int:
        """Return how many of the first kept nodes all beams share, without a gap."""
        shared = common_prefix(beam.parent for beam in beams if beam.parent is not None).length
        count = 0
        while count < len(kept) and kept[count].length == self._prefix_nodes + count <= shared:
            count += 1
        return count

    def _masks(self, attention: torch.Tensor, positions: torch.Tensor) -> Masks:
        """Return an additive mask [1, 1, n, slots] for each layer type; ``attention`` begins behind the prefix.

        The masks are floats, because eager attention silently ignores a boolean mask.
        """
        full = torch.nn.functional.pad(attention, (self._prefix_slots, 0))
        return {
            kind: (full if window is None else self._windowed(full, positions, window)).expand(1, 1, -1, -1)
            for kind, window in self.model.windows.items()
        }

    def _windowed(self, full: torch.Tensor, positions: torch.Tensor, window: int) -> torch.Tensor:
        behind = self._positions[: full.shape[1] - self._prefix_slots]
        keys = torch.cat([torch.arange(self._prefix_slots, device=positions.device), behind])
        return full.masked_fill(positions[:, None] - keys[None] >= window, self._hidden)
