"""Keeps all beams of one decode in one cache row; a 4-D mask shows each token the prompt and its own ancestors.

Four kinds of slots and nodes
    *settled* slots: the prompt (without its last token) and the nodes that all beams share; every token sees them.
    *live* slots: the other ancestors of the beams. The beams' last nodes are never kept: each iteration feeds them
    again, because it needs their logits.
    *pending* nodes: on a beam's path but not in the row. An iteration feeds them first, the beams' last nodes last.
    *forest* slots: the tokens fed after them, counted from 0 in the order in which they are fed.
"""

from collections.abc import Sequence

import numpy as np
import torch

from dsbd.models.language_model import LanguageModel, Masks
from dsbd.models.states.state import DecodingState
from dsbd.util import CancelCheck, never_cancel
from dsbd.verification.beams import Node, common_prefix

PREFILL_TOKENS = 512
"""The most tokens of a prompt in one forward. A longer prompt takes several, and can be stopped between them."""


class ForestState(DecodingState):
    """One cache row for all beams of one decode. *Source:* docs/algorithm.md, *The engine*."""

    forwards = 0
    peak_slots = 0

    def __init__(self, model: LanguageModel, slots: int = 0, check: CancelCheck = never_cancel) -> None:
        """Make an empty row with room for ``slots``; ``check`` is called before each forward."""
        super().__init__(model, check)
        self.cache = model.new_cache(slots)
        self._unseen = torch.finfo(model.dtype).min
        self._seen_value = torch.zeros((), dtype=model.dtype, device=model.device)
        self._unseen_value = torch.full_like(self._seen_value, self._unseen)

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
        self._first_position = self._settled = self.cache.length  # of the root; slots
        self._settled_nodes = 0  # nodes among them: those with a length below this
        self._slot_of: dict[Node, int] = {}  # of the live nodes, counted behind the settled slots

    def _store(self, tokens: torch.Tensor, positions: torch.Tensor) -> None:
        """Append tokens [n] of the prompt to the cache, without their logits."""
        self.model.forward(tokens[None], positions=positions[None], cache=self.cache, last_only=True)

    def begin(self, beams: Sequence[Node], room: int) -> None:
        self._beam_count = len(beams)
        self._pending = [*(node for node in self._ancestors(beams) if node not in self._slot_of), *beams]
        live = self.cache.length - self._settled
        places = self._slot_of | {node: live + place for place, node in enumerate(self._pending)}
        self._slot_of = places
        self._forest_start = len(places)
        self._fed = 0  # tokens behind the live slots
        rows, slots = len(self._pending) + room, len(places) + room
        sees = np.zeros((rows, slots), dtype=bool)
        for place, node in enumerate(self._pending):
            ancestor: Node | None = node
            while ancestor is not None and ancestor.length >= self._settled_nodes:
                sees[place, places[ancestor]] = True
                ancestor = ancestor.parent
        np.fill_diagonal(sees[:, live:], True)  # what is fed sees itself
        seen = torch.from_numpy(sees).to(self.model.device)
        self._attention_mask = torch.where(
            seen, self._seen_value, self._unseen_value
        )  # [fed from now on, behind the settled]
        lengths = torch.tensor([node.length for node in places] + [0] * room)
        self._positions = (lengths + self._first_position).to(self.model.device)  # [slots behind the settled]
        self._fed_positions = self._positions[live:]  # a view
        self._live = live

    def forward(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        self._check()
        asked_on = tokens.device
        tokens, parents = tokens.to(self.model.device), parents.to(self.model.device)
        start = self._fed
        if start == 0:
            pending = [self._last_prompt_token if node.parent is None else node.token for node in self._pending]
            tokens = torch.cat([torch.tensor(pending, device=tokens.device), tokens])
            self._fed = len(self._pending)
        if sizes:
            self._extend_mask(parents + (len(self._pending) - self._beam_count), sizes)
        positions = self._fed_positions[start : self._fed]
        masks = self._masks(self._attention_mask[start : self._fed, : self._live + self._fed], positions)
        logits = self._logits(tokens, positions, masks).to(asked_on)
        self.forwards += 1
        self.peak_slots = max(self.peak_slots, self.cache.length)
        return logits if start else logits[len(self._pending) - self._beam_count :]

    def _extend_mask(self, parents: torch.Tensor, sizes: Sequence[int]) -> None:
        """Add tokens to the mask: each sees itself and what its parent sees, one position after the parent."""
        for above, size in zip(parents.split(list(sizes)), sizes, strict=True):
            attention = self._attention_mask[self._fed : self._fed + size]
            torch.maximum(self._attention_mask[above], attention, out=attention)
            torch.add(self._fed_positions[above], 1, out=self._fed_positions[self._fed : self._fed + size])
            self._fed += size

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks) -> torch.Tensor:
        self.cache.reserve(self._settled + self._attention_mask.shape[1])
        return self.model.forward(tokens[None], positions=positions[None], masks=masks, cache=self.cache)[0]

    def assign(self, nodes: Sequence[Node | None]) -> None:
        slots = enumerate(nodes, self._forest_start)
        self._slot_of.update((node, slot) for slot, node in slots if node is not None)

    @torch.inference_mode()
    def commit(self, beams: Sequence[Node]) -> list[Node]:
        order = [node for node in self._ancestors(beams) if node in self._slot_of]
        self.cache.move(self._settled, [self._settled + self._slot_of[node] for node in order])
        settle = self._settle_count(order, beams)
        self._settled += settle
        self._settled_nodes += settle
        self._slot_of = {node: slot for slot, node in enumerate(order[settle:])}
        return order

    def _ancestors(self, beams: Sequence[Node]) -> list[Node]:
        """Return the ancestors of the beams that are not settled, parents first."""
        found = dict[Node, None]()
        for beam in beams:
            node = beam.parent
            while node is not None and node.length >= self._settled_nodes and node not in found:
                found[node] = None
                node = node.parent
        return sorted(found, key=lambda node: node.length)

    def _settle_count(self, order: Sequence[Node], beams: Sequence[Node]) -> int:
        """Return how many of the first kept nodes all beams share, without a gap."""
        shared = common_prefix(beam.parent for beam in beams if beam.parent is not None).length
        count = 0
        while count < len(order) and order[count].length == self._settled_nodes + count <= shared:
            count += 1
        return count

    def _masks(self, attention: torch.Tensor, positions: torch.Tensor) -> Masks:
        """Return an additive mask [1, 1, n, slots] for each layer type; the attention [n, slots] begins behind the
        settled.

        The masks are floats, because eager attention silently ignores a boolean mask.
        """
        full = torch.nn.functional.pad(attention, (self._settled, 0))
        return {
            kind: (full if window is None else self._windowed(full, positions, window)).expand(1, 1, -1, -1)
            for kind, window in self.model.windows.items()
        }

    def _windowed(self, full: torch.Tensor, positions: torch.Tensor, window: int) -> torch.Tensor:
        behind = self._positions[: full.shape[1] - self._settled]
        keys = torch.cat([torch.arange(self._settled, device=positions.device), behind])
        return full.masked_fill(positions[:, None] - keys[None] >= window, self._unseen)
