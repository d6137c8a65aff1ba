"""The likeliest next tokens by rows of logits, on the host.

On a CPU the host reads the logits directly; of many, only those of the alive beams, layer by layer. An accelerator
finds the likeliest tokens of all rows itself, and brings them to the host in one small copy.
"""

from collections.abc import Sequence
from functools import cached_property
from itertools import pairwise

import numpy as np
import torch

from dsbd.errors import ModelError
from dsbd.verification.beams import Node
from dsbd.verification.distributions import TopTokens

AT_ONCE = 100_000
"""Logits that are read whole: one call for them takes less time than one for each layer."""
_SIGN = 0x7FFFFFFF


class NextTokens:
    """The target's next tokens at the nodes that verification reads.

    Args:
        logits: [n, vocabulary], after the input beams and then the forest nodes in the order fed.
        nodes: [n], one for each row.
        parents: [m] the row of the parent of each forest node, on the device of ``logits``.
        tokens: [m] their ids, on the same device.
        top_k: tokens kept of each row; 0 is all.
    """

    def __init__(
        self, logits: torch.Tensor, nodes: Sequence[Node], parents: torch.Tensor, tokens: torch.Tensor, top_k: int
    ) -> None:
        self._logits, self._parents, self._tokens, self._top_k = logits, parents, tokens, top_k
        self._row_of = {node: row for row, node in enumerate(nodes)}
        self.known: dict[Node, TopTokens] = {}
        """Those that were brought to the host, by node."""
        if not is_at_hand(logits.device):
            every, self._node_log_probs = copied_next_tokens(logits, top_k, "target", parents, tokens)
            self.known = dict(zip(nodes, every, strict=True))
        elif logits.numel() <= AT_ONCE:
            self(nodes)

    def __call__(self, nodes: Sequence[Node]) -> list[TopTokens]:
        """Return the next tokens after each of these nodes."""
        missing = [node for node in nodes if node not in self.known]
        if missing:
            rows = torch.tensor([self._row_of[node] for node in missing])
            with torch.inference_mode():
                new = host_next_tokens(self._logits.index_select(0, rows), self._top_k, "target")
            self.known.update(zip(missing, new, strict=True))
        return [self.known[node] for node in nodes]

    def log_prob(self, node: Node) -> float:
        """Return the raw log p_target(token | parent) of a forest node, nats."""
        return self._node_log_probs[self._row_of[node] - (len(self._row_of) - len(self._node_log_probs))]

    @cached_property
    def _node_log_probs(self) -> list[float]:
        with torch.inference_mode():
            parents, indices = self._parents.unique(return_inverse=True)
            log_probs = token_log_probs(self._logits.index_select(0, parents))
            own: list[float] = log_probs[indices, self._tokens].tolist()
        return own


def is_at_hand(device: torch.device) -> bool:
    """Return True if the host can read a device's tensors without a copy."""
    return device.type == "cpu"


def _require_numbers(log_probs: np.ndarray, role: str) -> None:
    """Refuse log-probabilities with a NaN, such as those of a row with one NaN among its logits. Raises: ModelError."""
    if np.isnan(log_probs).any():
        raise ModelError(
            f"the {role} model returns logits that are not numbers (NaN); load the pair with dtype float32, "
            f"or check the weights"
        )


def host_next_tokens(logits: torch.Tensor, top_k: int, role: str) -> list[TopTokens]:
    """Return the next tokens of each row of logits: all of them, or the ``top_k`` likeliest if not 0.

    On a CPU a few more tokens may be among them.

    Args:
        logits: [rows, vocabulary] on any device.
        top_k: 0 is all.
        role: ``target`` or ``draft``; an error names it.

    Raises:
        ModelError: there is a NaN.
    """
    if not is_at_hand(logits.device):
        return copied_next_tokens(logits, top_k, role)[0]
    log_probs = token_log_probs(logits).numpy()
    if 0 < top_k < log_probs.shape[1]:
        return _at_least(log_probs, _bounds(log_probs, top_k, role))
    _require_numbers(log_probs, role)
    every = np.arange(log_probs.shape[1])
    return [TopTokens(every, row) for row in log_probs.astype(np.float64)]


def _bounds(values: np.ndarray, count: int, role: str) -> np.ndarray:
    """Return for each row of ``values`` a bound that at least ``count`` of its entries reach, and hardly more.

    The entries that lie a stride apart make a group. The bound is the ``count``-th best of the groups' largest entries.
    """
    rows, size = values.shape
    groups = size // max(size // (4 * count), 1)
    largest = values[:, : size // groups * groups].reshape(rows, -1, groups).max(axis=1)
    _require_numbers(largest, role)  # a NaN makes its whole row NaN
    largest.partition(groups - count, axis=1)
    return largest[:, groups - count]


def _at_least(log_probs: np.ndarray, bounds: np.ndarray) -> list[TopTokens]:
    """Return the tokens of each row that reach its bound, impossible tokens excepted."""
    rows, size = log_probs.shape
    reached = np.flatnonzero(log_probs >= np.maximum(bounds, np.finfo(log_probs.dtype).min)[:, None])
    ends = reached.searchsorted(np.arange(1, rows + 1) * size).tolist()
    tokens, values = reached % size, log_probs.ravel()[reached].astype(np.float64)
    return [TopTokens(tokens[start:end], values[start:end]) for start, end in pairwise([0, *ends])]


@torch.inference_mode()
def copied_next_tokens(
    logits: torch.Tensor,
    top_k: int,
    role: str,
    parents: torch.Tensor | None = None,
    tokens: torch.Tensor | None = None,
) -> tuple[list[TopTokens], list[float]]:
    """Bring the next tokens of each row to the host in one copy of ``top_k`` numbers a row, all of them if 0.

    Ties go to the lowest id (bfloat16 logits tie often). What is copied is in single precision.

    Args:
        logits: [rows, vocabulary] on any device.
        top_k: 0 is all.
        role: ``target`` or ``draft``; an error names it.
        parents, tokens: [n] rows and ids of candidates whose log-probabilities are copied too.

    Returns:
        The next tokens of each row by id, and the log-probabilities of the candidates.

    Raises:
        ModelError: there is a NaN.
    """
    log_probs = token_log_probs(logits).float()
    rows, size = log_probs.shape
    own = log_probs.new_empty(0) if parents is None else log_probs[parents, tokens]
    if 0 < top_k < size:
        keys = torch.cat([top_keys(log_probs, top_k).flatten(), own.view(torch.int32).long()]).cpu().numpy()
        ids, values = read_keys(keys[: rows * top_k].reshape(rows, top_k))
        order = ids.argsort(axis=1)
        ids, values = np.take_along_axis(ids, order, axis=1), np.take_along_axis(values, order, axis=1)
        candidates = keys[rows * top_k :].astype(np.int32).view(np.float32)
    else:
        copied = torch.cat([log_probs.flatten(), own]).cpu().numpy()
        values, candidates = copied[: rows * size].reshape(rows, size), copied[rows * size :]
        ids = np.broadcast_to(np.arange(size), values.shape)
    _require_numbers(values, role)
    every = [TopTokens(*row) for row in zip(ids, values.astype(np.float64), strict=True)]
    return every, candidates.astype(np.float64).tolist()


def top_keys(values: torch.Tensor, count: int) -> torch.Tensor:
    """Return one integer for each of the largest entries of rows, best first; :func:`read_keys` reads them.

    Value and index together make one key, so no two keys tie: the lowest index comes first.

    Args:
        values: [rows, n] float32.
        count: 1 to n.

    Returns:
        keys [rows, count] int64.
    """
    indices = torch.arange(values.shape[1], device=values.device)
    bits = values.add(0.0).view(torch.int32)  # -0.0, which sorts below 0.0, becomes 0.0
    bits.bitwise_xor_((bits >> 31).bitwise_and_(_SIGN))
    keys = bits.to(torch.int64).bitwise_left_shift_(32).bitwise_or_(torch.iinfo(torch.int32).max - indices)
    return keys.topk(count, dim=1).values


def read_keys(keys: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Return the indices, int64, and the values, float32, of keys on the host."""
    bits = (keys >> 32).astype(np.int32)
    bits ^= (bits >> 31) & np.int32(_SIGN)  # the map of the bits is its own inverse
    return np.iinfo(np.int32).max - (keys & 0xFFFFFFFF), bits.view(np.float32)


def token_log_probs(logits: torch.Tensor) -> torch.Tensor:
    """Return the raw log p(token | before) of every token, in single precision or, of double logits, in double."""
    return (logits if logits.dtype == torch.float64 else logits.float()).log_softmax(dim=-1)
