"""The target's laws of the next token, at the nodes that verification reads.

On a GPU the one copy of the iteration contains the rows of all nodes, needed or not. On a CPU the host reads the logits
directly, so it makes rows of the alive beams only, layer by layer.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch

from dsbd.errors import ModelError
from dsbd.law.beams import Node
from dsbd.law.laws import TopTokens
from dsbd.topk import distinct_top

ROUNDING = 1e-3
"""More than float32 rounds a sum of log-weight and log-probability by, nats."""


class _Named:
    """Knows which row belongs to which node."""

    def name(self, nodes: Sequence[Node | None]) -> None:
        """Set the node of each row: the input beams, then the slots as they were fed; None = no node."""
        self._place = {node: place for place, node in enumerate(nodes) if node is not None}
        self._first = len(nodes)

    def _slot(self, node: Node, slots: int) -> int:
        """Return the place of a forest node among the slots; the slots come after the input beams."""
        return self._place[node] - (self._first - slots)


class NextTokensOnDemand(_Named):
    """Makes rows lazily from logits on the host.

    Args:
        logits: [rows, vocabulary].
        parents: [slots] the row of each slot's parent.
        tokens: [slots] ids.
        top_k: tokens kept of each row; 0 is all.
    """

    def __init__(self, logits: torch.Tensor, parents: torch.Tensor, tokens: torch.Tensor, top_k: int) -> None:
        self._logits, self._parents, self._tokens, self._top_k = logits, parents, tokens, top_k
        self._rows: dict[Node, TopTokens] = {}

    def __call__(self, nodes: Sequence[Node]) -> list[TopTokens]:
        """Return the row after each of these nodes."""
        missing = [node for node in nodes if node not in self._rows]
        if missing:
            self._rows.update(zip(missing, self._make([self._place[node] for node in missing]), strict=True))
        return [self._rows[node] for node in nodes]

    @torch.inference_mode()
    def _make(self, places: list[int]) -> list[TopTokens]:
        return host_rows(self._logits.index_select(0, torch.tensor(places)), self._top_k, "target")

    def log_prob(self, node: Node) -> float:
        """Return the raw log p_target(token | parent) of a forest node, nats."""
        return self._log_probs[self._slot(node, len(self._log_probs))]

    @cached_property
    def _log_probs(self) -> list[float]:
        with torch.inference_mode():
            parents, place = self._parents.unique(return_inverse=True)
            rows = token_log_probs(self._logits.index_select(0, parents))
            own: list[float] = rows[place, self._tokens].tolist()
        return own


class NextTokensCopied(_Named):
    """Rows of all nodes, brought to the host.

    Args:
        tokens: [rows, k].
        log_probs: [rows, k].
        own: [slots] of each slot's token given its parent.
    """

    def __init__(self, tokens: np.ndarray, log_probs: np.ndarray, own: np.ndarray) -> None:
        require_numbers(log_probs, "target")
        self._tokens, self._log_probs, self._own = tokens, log_probs, own

    def __call__(self, nodes: Sequence[Node]) -> list[TopTokens]:
        """Return the row after each of these nodes."""
        return [
            TopTokens(self._tokens[place], self._log_probs[place]) for place in (self._place[node] for node in nodes)
        ]

    def log_prob(self, node: Node) -> float:
        """Return the raw log p_target(token | parent) of a forest node, nats."""
        return float(self._own[self._slot(node, self._own.size)])


NextTokens = NextTokensOnDemand | NextTokensCopied
"""The target's next-token rows of one iteration."""


def is_at_hand(device: torch.device) -> bool:
    """Return True if the host can read a device's tensors without a copy."""
    return device.type == "cpu"


def require_numbers(log_probs: np.ndarray, role: str) -> None:
    """Refuse log-probabilities with a NaN; one NaN among a row's logits makes the whole row NaN.

    Args:
        log_probs: on the host, of any shape; minus infinity is a number here.
        role: ``target`` or ``draft``; the message names it.

    Raises:
        ModelError: there is a NaN.
    """
    if np.isnan(log_probs).any():
        raise ModelError(
            f"the {role} model returns logits that are not numbers (NaN); load the pair with dtype float32, "
            f"or check the weights"
        )


def host_rows(logits: torch.Tensor, top_k: int, role: str) -> list[TopTokens]:
    """Return the next tokens of each row of logits on the host: all of them, or the ``top_k`` likeliest if not 0.

    Args:
        logits: [rows, vocabulary] on a CPU.
        top_k: 0 is all.
        role: ``target`` or ``draft``; an error names it.

    Raises:
        ModelError: there is a NaN.
    """
    log_probs = token_log_probs(logits).numpy()
    if 0 < top_k < log_probs.shape[1]:
        return likeliest_tokens(log_probs, top_k, role)
    require_numbers(log_probs, role)
    every = np.arange(log_probs.shape[1])
    return [TopTokens(every, row) for row in log_probs.astype(np.float64)]


def likeliest_tokens(log_probs: np.ndarray, top_k: int, role: str) -> list[TopTokens]:
    """Return the ``top_k`` likeliest tokens of each row, by id; a few more tokens may be among them.

    Args:
        log_probs: [rows, vocabulary] on the host, float32 or float64.
        top_k: 1 to vocabulary - 1.
        role: ``target`` or ``draft``; an error names it.

    Raises:
        ModelError: there is a NaN.
    """
    return _at_least(log_probs, log_probs, _bounds(log_probs, top_k, role)[:, None])


def likeliest_pairs(logits: torch.Tensor, offsets: np.ndarray, top_k: int, role: str) -> list[TopTokens]:
    """Return the tokens of the ``top_k`` pairs (row, token) with the largest sum of log-probability and offset.

    A few more pairs may be among them; a row that has none of these pairs has no tokens.

    Args:
        logits: [rows, vocabulary] on a CPU.
        offsets: [rows] float64, what is added to each row.
        top_k: 1 to rows * vocabulary - 1.
        role: ``target`` or ``draft``; an error names it.

    Raises:
        ModelError: there is a NaN.
    """
    log_probs = token_log_probs(logits).numpy()
    scores = log_probs + (offsets - offsets.max()).astype(log_probs.dtype)[:, None]
    (bound,) = _bounds(scores.reshape(1, -1), top_k, role)
    return _at_least(log_probs, scores, bound - ROUNDING)


def _bounds(values: np.ndarray, count: int, role: str) -> np.ndarray:
    """Return for each row of ``values`` a bound that at least ``count`` of its entries reach, and hardly more.

    The entries that lie a stride apart make a group. The bound is the ``count``-th best of the groups' largest entries.
    """
    rows, size = values.shape
    groups = size // max(size // (4 * count), 1)
    largest = values[:, : size // groups * groups].reshape(rows, -1, groups).max(axis=1)
    require_numbers(largest, role)  # a NaN makes its whole row NaN
    largest.partition(groups - count, axis=1)
    bounds: np.ndarray = largest[:, groups - count]
    return bounds


def _at_least(log_probs: np.ndarray, scores: np.ndarray, bounds: np.ndarray) -> list[TopTokens]:
    """Return the tokens of each row whose scores reach the bounds, impossible tokens excepted."""
    rows, size = log_probs.shape
    found = np.flatnonzero(scores >= np.maximum(bounds, np.finfo(scores.dtype).min))
    ends = found.searchsorted(np.arange(1, rows + 1) * size).tolist()
    tokens, values = found % size, log_probs.ravel()[found].astype(np.float64)
    return [TopTokens(tokens[start:end], values[start:end]) for start, end in pairwise([0, *ends])]


def next_token_rows(logits: torch.Tensor, top_k: int) -> tuple[torch.Tensor, torch.Tensor, torch.Tensor]:
    """Return the likeliest tokens of each row in one tensor, ties to the lowest id (bfloat16 logits tie often).

    Returns:
        tokens [rows, k], their raw log-probabilities [rows, k], and those of all tokens [rows, vocabulary].
        With top_k 0 every token, by id.
    """
    log_probs = token_log_probs(logits)
    if 0 < top_k < logits.shape[1]:
        tokens, best = distinct_top(log_probs, top_k)
        return tokens, best, log_probs
    return torch.arange(logits.shape[1], device=logits.device).expand(logits.shape), log_probs, log_probs


def token_log_probs(logits: torch.Tensor) -> torch.Tensor:
    """Return the raw log p(token | before) of every token, in single precision or, of double logits, in double."""
    return (logits if logits.dtype == torch.float64 else logits.float()).log_softmax(dim=-1)
