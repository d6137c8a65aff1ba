"""Lets models with ALiBi positions take a forest mask: the bias follows the depth of a token in its path.

ALiBi adds to the score of a key a number that grows with the key's position. Bloom and MPT count positions in slots,
but in a forest the tokens of a path are not in neighbouring slots. Every row of a forest mask shows one path, parents
before children. So a key's position is its rank among the keys that the row shows, and the model's table has the bias
of this rank. Bloom's table begins with 0 at the first key, MPT's ends with 0 at the last one. (A constant added to a
whole row changes no law, but numbers far from 0 would be rounded more.)

Without a mask of four dimensions the models compute as before.

*Source:* Press et al., arXiv 2108.12409; docs/algorithm.md, *The engine*.
"""

import threading
from typing import Any

import torch

_BLOOM, _MPT = "build_alibi_tensor", "build_mpt_alibi_tensor"


def bias_by_depth(model: Any) -> None:
    """Wrap the methods of a model that build an ALiBi bias, so that they understand forest masks."""
    for module in model.modules():
        if hasattr(module, _BLOOM) and _BLOOM not in vars(module):
            setattr(module, _BLOOM, _bloom(getattr(module, _BLOOM)))
        if hasattr(module, _MPT) and _MPT not in vars(module):
            shown = threading.local()  # MPT builds its bias without the mask
            module.register_forward_pre_hook(_note_mask(shown), with_kwargs=True)
            setattr(module, _MPT, _mpt(getattr(module, _MPT), shown))


def _bloom(own: Any) -> Any:
    def build(attention_mask: torch.Tensor, num_heads: int, dtype: torch.dtype) -> torch.Tensor:
        if attention_mask.dim() != 4:
            found: torch.Tensor = own(attention_mask, num_heads, dtype)
            return found
        slots = attention_mask.shape[-1]
        table: torch.Tensor = own(attention_mask.new_ones(1, slots), num_heads, dtype)
        return table[:, 0, _ranks(attention_mask)]

    return build


def _mpt(own: Any, shown: threading.local) -> Any:
    def build(num_heads: int, sequence_length: int, *more: Any, **named: Any) -> torch.Tensor:
        table: torch.Tensor = own(num_heads, sequence_length, *more, **named)
        mask = getattr(shown, "mask", None)
        if mask is None or mask.dim() != 4:
            return table
        ranks = _ranks(mask)
        return table[:, 0, ranks - ranks[:, -1:] - 1]  # from the table's end: a row's last key has 0

    return build


def _note_mask(shown: threading.local) -> Any:
    def note(module: Any, given: tuple[Any, ...], named: dict[str, Any]) -> None:
        shown.mask = named.get("attention_mask")

    return note


def _ranks(mask: torch.Tensor) -> torch.Tensor:
    """Return each slot's rank among the slots that its row shows [n, slots], from 0; unseen slots get any number.

    ``mask`` is additive [1, 1, n, slots], 0 = seen.
    """
    return ((mask[0, 0] == 0).cumsum(-1) - 1).clamp(min=0)
