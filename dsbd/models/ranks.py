"""One model in several processes: tensor parallelism of transformers, under ``torchrun``.

Every process, a *rank*, holds a part of the weights and decodes the whole prompt. A forward needs all ranks at once,
with the same tokens, so all must choose alike:

- the logits of rank 0 go to all ranks, so that different rounding does no harm;
- each rank computes what follows the logits, with a generator of the same seed;
- after each iteration the ranks compare their beams, and end with an error if they differ.

So no draw needs to be sent, and the comparison copies nothing from a device.
"""

import hashlib
from collections.abc import Callable, Iterable, Sequence

import torch
import torch.distributed

from dsbd.errors import ModelError, PairError
from dsbd.models.language_model import LanguageModel
from dsbd.models.rows.row import Row, WrappedRow


class Ranks:
    """The processes that hold one model. All of them must make this object at the same time."""

    def __init__(self) -> None:
        self.number = torch.distributed.get_rank()
        """The rank of this process; rank 0 reports."""
        self.count = torch.distributed.get_world_size()
        self._processors = torch.distributed.new_group(backend="gloo")

    def of_first(self, numbers: torch.Tensor) -> torch.Tensor:
        """Return the numbers of rank 0. Every rank gives a tensor of the same shape, dtype and kind of device."""
        numbers = numbers.contiguous()
        torch.distributed.broadcast(numbers.view(torch.uint8), src=0)
        return numbers

    def agreed(self, stop: Callable[[], bool]) -> Callable[[], bool]:
        """Return a function that gives every rank the answer of rank 0's ``stop``; all ranks must call it together."""

        def ask() -> bool:
            answer = torch.tensor([self.number == 0 and stop()])
            torch.distributed.broadcast(answer, src=0, group=self._processors)
            return bool(answer)

        return ask

    def require_equal(self, what: str, value: object) -> None:
        """Compare the ``repr`` of a value. Raises: ModelError, on every rank, if one of them has another value."""
        digest = hashlib.blake2b(repr(value).encode(), digest_size=7).digest()
        mine = torch.tensor([int.from_bytes(digest, "big")])
        found = [torch.empty_like(mine) for _ in range(self.count)]
        torch.distributed.all_gather(found, mine, group=self._processors)
        if any(not torch.equal(mine, other) for other in found):
            raise ModelError(
                f"the {self.count} processes of a tensor-parallel model are not in step: they differ in {what}; give "
                f"every process the same prompt, settings and seed, and devices of one kind"
            )


class RankedRow(WrappedRow):
    """A :class:`Row` whose logits are those of rank 0."""

    def __init__(self, row: Row, ranks: Ranks) -> None:
        super().__init__(row)
        self._ranks = ranks

    @torch.inference_mode()
    def feed(self, tokens: torch.Tensor, parents: torch.Tensor, sizes: Sequence[int]) -> torch.Tensor:
        return self._ranks.of_first(super().feed(tokens, parents, sizes))


def ranks_of(models: Iterable[LanguageModel]) -> Ranks | None:
    """Return the ranks that hold a model of a pair; None if each model is whole in this process.

    Raises:
        PairError: a model is spread over only some of the processes, or they cannot share its heads equally.
    """
    spread = [model for model in models if model.processes > 1]
    for model in spread:
        launched = torch.distributed.get_world_size()
        if model.processes != launched:
            raise PairError(
                f"{model.id} is spread over {model.processes} of {launched} processes; spread it over all of them: "
                f"leave tp_size out"
            )
        heads = getattr(model.config, "num_key_value_heads", None) or model.config.num_attention_heads
        if heads % launched:
            raise PairError(
                f"{model.id} has {heads} key-value heads, which {launched} processes cannot share equally; launch a "
                f"number of processes that divides {heads}"
            )
    return Ranks() if spread else None
