"""Finds the largest entries of rows, ties to the lowest place (bfloat16 logits tie often)."""

from functools import lru_cache

import torch

_SIGN = 0x7FFFFFFF
_BLOCK = 64


def distinct_top(values: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return places and values of the largest entries of rows, best first, ties to the lowest place.

    Rows of float64 (the tests' models) are sorted. Of float32, value and place together make one integer key, so
    no two keys tie. Long rows are searched in two steps: the ``count`` best entries lie in the ``count`` blocks
    whose largest entries are best.

    Args:
        values: [rows, n] float32 or float64.
        count: 1 to n.

    Returns:
        places [rows, count] int64, values [rows, count].
    """
    if values.dtype == torch.float64:
        best, order = values.sort(dim=1, descending=True, stable=True)
        return order[:, :count], best[:, :count]
    places = torch.arange(values.shape[1], device=values.device)
    if values.shape[1] >= 4 * _BLOCK * count:
        values, places = _best_blocks(values, count)
    last = torch.iinfo(torch.int32).max
    keys = _keys(values, last - places).topk(count, dim=1).values
    return last - (keys & 0xFFFFFFFF), _values(keys)


def top_of_row(values: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return values and places [min(count, n)] of the largest of n entries, best first, ties in any order.

    The entries [..., n in all] are read as one row. It is searched in two steps: entries that lie a stride apart make a
    group, and the ``count`` best entries lie in the ``count`` groups whose largest entries are best.
    """
    size, groups = values.numel(), values.numel()
    while groups % 2 == 0 and groups * groups >= 4 * size * count:  # down to about sqrt(size * count)
        groups //= 2
    if groups == size or groups < count:
        best, places = values.flatten().topk(min(count, size))
        return best, places
    grid = values.view(-1, groups)
    kept = grid.amax(dim=0).topk(count, sorted=False).indices
    best, found = grid[:, kept].flatten().topk(count)
    return best, (_starts(size, groups, values.device) + kept).take(found)


@lru_cache(maxsize=64)
def _starts(size: int, stride: int, device: torch.device) -> torch.Tensor:
    """Return 0, stride, 2 * stride, ... below size, as a column. Made once: every layer of a decode asks for it."""
    return torch.arange(0, size, stride, device=device)[:, None]


def _best_blocks(values: torch.Tensor, count: int) -> tuple[torch.Tensor, torch.Tensor]:
    """Return the entries [rows, count * block] of the blocks that can contain the best, and their places."""
    rows, size = values.shape
    blocks = -(-size // _BLOCK)
    if size % _BLOCK:  # padding makes a copy, even if it adds nothing
        values = torch.nn.functional.pad(values, (0, blocks * _BLOCK - size), value=-torch.inf)
    grid = values.view(rows, blocks, _BLOCK)
    numbers = torch.arange(blocks, device=values.device)
    keys = _keys(grid.amax(dim=2), blocks - 1 - numbers).topk(count, dim=1, sorted=False).values
    best = blocks - 1 - (keys & 0xFFFFFFFF)
    entries = grid.gather(1, best[:, :, None].expand(-1, -1, _BLOCK)).flatten(1)
    places = best[:, :, None] * _BLOCK + torch.arange(_BLOCK, device=values.device)
    return entries, places.flatten(1)


def _keys(values: torch.Tensor, lowest_first: torch.Tensor) -> torch.Tensor:
    """Return integers that sort like the values and, among equal values, like ``lowest_first``."""
    bits = values.add(0.0).view(torch.int32)  # -0.0, which sorts below 0.0, becomes 0.0
    bits.bitwise_xor_((bits >> 31).bitwise_and_(_SIGN))
    return bits.to(torch.int64).bitwise_left_shift_(32).bitwise_or_(lowest_first)


def _values(keys: torch.Tensor) -> torch.Tensor:
    bits = (keys >> 32).to(torch.int32)
    return bits.bitwise_xor_((bits >> 31).bitwise_and_(_SIGN)).view(torch.float32)  # the map is its own inverse
