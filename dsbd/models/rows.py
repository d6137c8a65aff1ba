"""Keeps the beams of one decode in a model's memory between forwards.

All kinds answer the same calls. :class:`ForestRow` holds all beams in one cache row and lets a 4-D
mask show each token the prompt and its own ancestors. :class:`PathRows` is its slow obvious twin, one
row per path and no cache. For models that the mask fails on, :class:`dsbd.models.states.StateRows` keeps a cache
for each path.

An iteration is ``open`` (which beams), ``feed`` once or more (tokens in, logits out), ``register``
(which nodes the fed slots are), ``commit`` (which beams go on).

What must not be mixed up
    *settled* slots: the prompt (without its last token) and the nodes that all beams share; every token sees them.
    *live* slots: the rest of the trie, ancestors of the beams. The beams' own last nodes are never
    kept: each iteration feeds them again, because it needs their logits.
    *pending* nodes: on a beam's path but not in the row. An iteration feeds them first, the beams' last nodes last.
    *forest* slots: the tokens that are fed after them, counted from 0 in the order in which they are fed.
"""

import weakref
from collections.abc import Sequence
from typing import Protocol

import numpy as np
import torch

from dsbd.law.beams import Node, common_prefix
from dsbd.models.engines.graph import GraphRunner, runner_of
from dsbd.models.engines.traced import traced_forward_of
from dsbd.models.language_model import LanguageModel
from dsbd.models.states import StateRows
from dsbd.stopping import Check, never_stop

PATHS_PER_FORWARD = 16
PREFILL_TOKENS = 512
"""The most tokens of a prompt in one forward; a longer prompt takes several, and can be stopped between them."""


class Row(Protocol):
    """The calls with which drafting and scoring use a model's memory."""

    @property
    def forwards(self) -> int:
        """Return the forwards of the model so far; those of the prompt count as one."""
        ...

    @property
    def peak_slots(self) -> int:
        """Return the most cache slots in use at one time."""
        ...

    @property
    def slots(self) -> int:
        """Return the number of cache slots in use."""
        ...

    @property
    def peak_bytes(self) -> int:
        """Return the most bytes allocated for keys and values at one time, in use or not."""
        ...

    def prefill(self, prompt: Sequence[int], root: Node) -> None:
        """Feed the prompt; ``root`` is the node of its last token."""
        ...

    def open(self, beams: Sequence[Node], room: int) -> None:
        """Begin an iteration from these distinct beams of equal length; ``room`` forest tokens will be fed."""
        ...

    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        """Feed forest tokens; the first call of an iteration feeds the pending nodes first.

        Args:
            tokens: [n] ids, int64, on any device; n may be 0 in the first call.
            parents: [n] the parent of each token, int64: the place of an input beam or, counted on from the beams,
                of a forest token in the order fed.
            sizes: how many tokens each group of ``tokens`` has; parents are in earlier groups.

        Returns:
            [n, vocabulary] logits, on the device of ``tokens``; in the first call [beams + n, vocabulary], the beams'
            first.
        """
        ...

    def register(self, nodes: Sequence[Node | None]) -> None:
        """Set the node of each forest slot, in the order fed; None for slots that are no node."""
        ...

    def commit(self, beams: Sequence[Node]) -> list[Node]:
        """Keep the ancestors of the next iteration's beams; return the nodes that stay and are not settled."""
        ...


class ForestRow:
    """One cache row for all beams of one decode. *Source:* docs/algorithm.md, *The engine*."""

    def __init__(self, model: LanguageModel, slots: int = 0, check: Check = never_stop) -> None:
        """Make an empty row. ``slots``: the expected number; ``check``: called before each forward."""
        self.model = model
        self._check = check
        self.cache = model.new_cache(slots)
        self.forwards = 0
        self.peak_slots = 0
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
    def prefill(self, prompt: Sequence[int], root: Node) -> None:
        *stored, self._last_prompt_token = prompt
        self.cache.reserve(len(stored))
        for start in range(0, len(stored), PREFILL_TOKENS):
            self._check()
            tokens = torch.tensor([stored[start : start + PREFILL_TOKENS]], device=self.model.device)
            positions = torch.arange(start, start + tokens.shape[1], device=tokens.device)[None]
            self.model.forward(tokens, positions=positions, cache=self.cache, last_only=True)
        self.forwards += bool(stored)
        self._first_position = len(prompt) - 1  # of the root
        self._settled = len(prompt) - 1  # slots
        self._settled_nodes = 0  # nodes among them: those with a length below this
        self._slot_of: dict[Node, int] = {}  # of every node that is live, counted behind the settled slots

    def open(self, beams: Sequence[Node], room: int) -> None:
        self._beam_count = len(beams)
        self._pending = [*self._unfed(beams), *beams]
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
        self._sight = torch.where(seen, self._seen_value, self._unseen_value)  # [fed from now on, behind the settled]
        lengths = torch.tensor([node.length for node in places] + [0] * room)
        self._positions = (lengths + self._first_position).to(self.model.device)  # [slots behind the settled]
        self._fed_positions = self._positions[live:]  # a view
        self._live = live

    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        self._check()
        asked_on = tokens.device
        tokens, parents = tokens.to(self.model.device), parents.to(self.model.device)
        start = self._fed
        if start == 0:
            tokens = torch.cat([self._pending_tokens(), tokens])
            self._fed = len(self._pending)
        if sizes:
            self._extend_sight(parents + (len(self._pending) - self._beam_count), sizes)
        logits = self._forward(tokens, start).to(asked_on)
        self.forwards += 1
        self.peak_slots = max(self.peak_slots, self.cache.length)
        return logits if start else logits[len(self._pending) - self._beam_count :]

    def _extend_sight(self, parents: torch.Tensor, sizes: Sequence[int]) -> None:
        """Add tokens to the mask: each sees what its parent sees, and itself, one position after its parent."""
        for above, size in zip(parents.split(list(sizes)), sizes, strict=True):
            sight = self._sight[self._fed : self._fed + size]
            torch.maximum(self._sight[above], sight, out=sight)
            torch.add(self._fed_positions[above], 1, out=self._fed_positions[self._fed : self._fed + size])
            self._fed += size

    def _forward(self, tokens: torch.Tensor, start: int) -> torch.Tensor:
        """Return the logits of the fed tokens from number ``start`` on."""
        end = self._live + self._fed
        positions = self._fed_positions[start : self._fed]
        masks = self._masks(self._sight[start : self._fed, :end], positions)
        return self._logits(tokens, positions, masks)

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: dict[str, torch.Tensor]) -> torch.Tensor:
        self.cache.reserve(self._settled + self._sight.shape[1])
        mask = masks if len(masks) > 1 else next(iter(masks.values()))
        return self.model.forward(tokens[None], positions=positions[None], mask=mask, cache=self.cache)[0]

    def register(self, nodes: Sequence[Node | None]) -> None:
        slots = enumerate(nodes, self._forest_start)
        self._slot_of.update((node, slot) for slot, node in slots if node is not None)

    @torch.inference_mode()
    def commit(self, beams: Sequence[Node]) -> list[Node]:
        kept = dict[Node, None]()
        for beam in beams:
            node = beam.parent
            while node is not None and node.length >= self._settled_nodes and node not in kept:
                if node in self._slot_of:
                    kept[node] = None
                node = node.parent
        order = sorted(kept, key=lambda node: node.length)
        self.cache.move(self._settled, [self._settled + self._slot_of[node] for node in order])
        settle = self._settle_count(order, beams)
        self._settled += settle
        self._settled_nodes += settle
        self._slot_of = {node: slot for slot, node in enumerate(order[settle:])}
        return order

    def _unfed(self, beams: Sequence[Node]) -> list[Node]:
        """Return the ancestors of the beams that are not in the row, parents first."""
        found = dict[Node, None]()
        for beam in beams:
            node = beam.parent
            while node is not None and node.length >= self._settled_nodes and node not in found:
                if node not in self._slot_of:
                    found[node] = None
                node = node.parent
        return sorted(found, key=lambda node: node.length)

    def _settle_count(self, order: Sequence[Node], beams: Sequence[Node]) -> int:
        """Return how many of the first kept nodes are shared by all beams, without a gap."""
        shared = common_prefix(beam.parent for beam in beams if beam.parent is not None).length
        count = 0
        while count < len(order) and order[count].length == self._settled_nodes + count <= shared:
            count += 1
        return count

    def _pending_tokens(self) -> torch.Tensor:
        tokens = [self._last_prompt_token if node.parent is None else node.token for node in self._pending]
        return torch.tensor(tokens, device=self.model.device)

    def _masks(self, sight: torch.Tensor, positions: torch.Tensor) -> dict[str, torch.Tensor]:
        """Return additive masks [1, 1, n, slots] made of the sight [n, slots] behind the settled slots, one per window.

        Floats, because eager attention silently ignores a boolean mask.
        """
        full = torch.nn.functional.pad(sight, (self._settled, 0))
        return {
            kind: (full if window is None else self._windowed(full, positions, window)).expand(1, 1, -1, -1)
            for kind, window in self.model.windows.items()
        }

    def _windowed(self, full: torch.Tensor, positions: torch.Tensor, window: int) -> torch.Tensor:
        behind = self._positions[: full.shape[1] - self._settled]
        keys = torch.cat([torch.arange(self._settled, device=positions.device), behind])
        return full.masked_fill(positions[:, None] - keys[None] >= window, self._unseen)


class TracedRow(ForestRow):
    """A forest row that feeds its forests through a traced forward, the model's own or a fused one."""

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: dict[str, torch.Tensor]) -> torch.Tensor:
        self.cache.reserve(self._settled + self._sight.shape[1])
        return traced_forward_of(self.model).run(tokens, positions, masks, self.cache)


class GraphRow(ForestRow):
    """A forest row on a runner's buffers; after the first forward without a bucket, the row stays eager."""

    def __init__(self, model: LanguageModel, runner: GraphRunner, slots: int = 0, check: Check = never_stop) -> None:
        """Make an empty row for about ``slots``. ``runner`` was taken for this row, and is released with it."""
        super().__init__(model, check=check)
        weakref.finalize(self, runner.release)
        self._runner = runner
        runner.reserve(slots)
        self.cache.adopt(runner.buffers)

    @property
    def peak_bytes(self) -> int:
        return max(self._runner.capacity * self.cache.slot_bytes, self.cache.peak_bytes)

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: dict[str, torch.Tensor]) -> torch.Tensor:
        slots = self._settled + self._sight.shape[1]
        outgrown = self.cache.buffers is not self._runner.buffers
        if not outgrown:
            self._runner.reserve(slots, self.cache.length)
            self.cache.adopt(self._runner.buffers)
        if outgrown or not self._runner.fits(tokens.numel(), slots):
            if not outgrown:
                self.cache.reserve(self._runner.capacity + 1)
            return super()._logits(tokens, positions, masks)
        logits = self._runner.run(tokens, positions, masks, self.cache.length)
        self.cache.extend(tokens.numel())
        return logits


class PathRows:
    """A row for every path, computed again each time: slow, simple, and right for any causal model."""

    def __init__(self, model: LanguageModel, check: Check = never_stop) -> None:
        """Make an empty row. ``check`` is called before each forward."""
        self.model = model
        self.forwards = 0
        self.peak_slots = 0
        self._check = check

    @property
    def slots(self) -> int:
        return 0

    @property
    def peak_bytes(self) -> int:
        return 0

    def prefill(self, prompt: Sequence[int], root: Node) -> None:
        self._prompt = list(prompt)

    def open(self, beams: Sequence[Node], room: int) -> None:
        self._paths = [self._prompt + beam.token_ids() for beam in beams]
        self._is_first = True

    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        for token, parent in zip(tokens.tolist(), parents.tolist(), strict=True):
            self._paths.append([*self._paths[parent], token])
        paths = self._paths if self._is_first else self._paths[len(self._paths) - tokens.numel() :]
        self._is_first = False
        starts = range(0, len(paths), PATHS_PER_FORWARD)
        logits = [self._last_logits(paths[start : start + PATHS_PER_FORWARD]) for start in starts]
        return torch.cat(logits).to(tokens.device)

    def register(self, nodes: Sequence[Node | None]) -> None:
        """Do nothing: no slot is kept."""

    def commit(self, beams: Sequence[Node]) -> list[Node]:
        return []

    def _last_logits(self, paths: Sequence[list[int]]) -> torch.Tensor:
        """Return logits [n, vocabulary] after each path. Rows are padded on the right; no earlier token sees that."""
        longest = max(len(path) for path in paths)
        rows = torch.tensor([path + [0] * (longest - len(path)) for path in paths], device=self.model.device)
        last = torch.tensor([len(path) - 1 for path in paths], device=self.model.device)
        self._check()
        self.forwards += 1
        positions = torch.arange(longest, device=rows.device).expand(rows.shape)
        return self.model.forward(rows, positions=positions)[torch.arange(len(paths), device=last.device), last]


def new_row(model: LanguageModel, slots: int = 0, check: Check = never_stop) -> Row:
    """Make the kind of row that ``model.attention`` and ``model.engine`` name.

    Args:
        model: whose forwards the row makes.
        slots: the number of slots that there is room for at the start.
        check: called before each forward.
    """
    if model.attention in ("states", "steps"):
        return StateRows(model, check)
    if model.attention != "forest":
        return PathRows(model, check)
    if model.engine == "graph" and runner_of(model).take():
        return GraphRow(model, runner_of(model), slots, check)
    if model.engine in ("traced", "fused"):
        return TracedRow(model, slots, check)
    return ForestRow(model, slots, check)
