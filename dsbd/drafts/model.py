"""The draft model as a draft source."""

from collections.abc import Iterable, Sequence
from itertools import groupby

import torch

from dsbd.drafts.source import DraftRecord
from dsbd.models.states.state import DecodingState
from dsbd.next_tokens import host_next_tokens
from dsbd.settings import ResolvedSettings
from dsbd.verification.beams import Node
from dsbd.verification.distributions import TopTokens


class DraftModel:
    """Next tokens of a draft model.

    Args:
        state: its decoding state (KV cache).
        settings: the drafts of each layer and top_k are read.
        device: where ``state`` takes tokens and returns logits.
    """

    def __init__(self, state: DecodingState, settings: ResolvedSettings, device: torch.device) -> None:
        self._state, self._settings, self._device = state, settings, device

    @property
    def record(self) -> DraftRecord:
        return DraftRecord(self._state.model.id)

    def begin(self, prompt: Sequence[int], beams: Sequence[Node], depth: int) -> list[TopTokens]:
        self._state.begin(beams, sum(self._settings.layer_drafts[: depth - 1]))
        self._index_of, self._beams = {node: index for index, node in enumerate(beams)}, len(beams)
        return self._feed([], ())

    def extend(self, nodes: Sequence[Node]) -> list[TopTokens]:
        self._index_of.update({node: index for index, node in enumerate(nodes, len(self._index_of))})
        answers = self._feed(nodes, [len([*layer]) for _, layer in groupby(nodes, lambda node: node.length)])
        self._state.assign([*self._index_of][self._beams :])
        return answers

    def _feed(self, nodes: Sequence[Node], sizes: Sequence[int]) -> list[TopTokens]:
        logits = self._state.forward(*tokens_and_parents(nodes, self._index_of, self._device), sizes)
        return host_next_tokens(logits, self._settings.top_k, "draft")


def tokens_and_parents(
    nodes: Iterable[Node], index_of: dict[Node, int], device: torch.device
) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the tokens [n] of nodes, and the indices [n] of their parents; see :meth:`DecodingState.forward`."""
    candidates = [(node.token, index_of[node.parent]) for node in nodes if node.parent is not None]
    both = torch.tensor(candidates, dtype=torch.int64).reshape(-1, 2).to(device)
    return both[:, 0].contiguous(), both[:, 1].contiguous()
