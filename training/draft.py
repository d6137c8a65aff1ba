"""Training of the draft: distillation of the target's whole next-token law.

The target's final hidden states over a fixed pool of windows are computed once; its
log-probabilities are then one product with its head, so many epochs cost little.
"""

from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from transformers import LlamaForCausalLM

from training.llama import Forward, compiled_if, model_config, new_model
from training.losses import answer_weights, distillation_chunk, log_probs_chunk
from training.trainer import Trainer, in_chunks


def new_draft(target: LlamaForCausalLM, intermediate_size: int, seed: int) -> LlamaForCausalLM:
    """Return a one-layer draft that begins with the target's embeddings, norms and attention."""
    config = target.config
    draft = new_model(
        model_config(
            1,
            vocab_size=config.vocab_size,
            hidden_size=config.hidden_size,
            intermediate_size=intermediate_size,
            num_attention_heads=config.num_attention_heads,
            num_key_value_heads=config.num_key_value_heads,
            head_dim=config.head_dim,
        ),
        seed,
    )
    mine, theirs = draft.model, target.model
    mine.embed_tokens.load_state_dict(theirs.embed_tokens.state_dict())
    mine.norm.load_state_dict(theirs.norm.state_dict())
    for name in ("self_attn", "input_layernorm", "post_attention_layernorm"):
        first = getattr(theirs.layers[0], name)
        getattr(mine.layers[0], name).load_state_dict(first.state_dict())
    return draft.bfloat16() if target.dtype == torch.bfloat16 else draft


Pool = tuple[torch.Tensor, torch.Tensor]
"""Windows of tokens, (windows, length) int64, and the target's final normed hidden states, (windows, length, size)."""


def windows(ids: np.ndarray, length: int) -> torch.Tensor:
    """Cut ids (tokens,) into (tokens // length, length) int64 windows."""
    count = len(ids) // length
    return torch.from_numpy(ids[: count * length].astype(np.int64)).view(count, length)


@torch.no_grad()
def build_pool(
    target: LlamaForCausalLM,
    ids: torch.Tensor,
    rows: int,
    *,
    compiled: bool = False,
    report: Callable[[str], None] = lambda text: None,
) -> Pool:
    """Run the target over windows (windows, length), `rows` at a time; drop a last short batch."""
    forward = Forward(target, compiled=compiled)
    ids = ids[: max(len(ids) // rows, 1) * rows]
    size = target.config.hidden_size
    hidden = torch.empty(*ids.shape, size, dtype=target.dtype)
    for start in range(0, len(ids), rows):
        hidden[start : start + rows] = forward(ids[start : start + rows])
        if start // rows % 100 == 0:
            report(f"target states of {start} of {len(ids)} windows")
    return ids, hidden


class PoolBatches:
    """Batches of a pool's windows: every epoch all windows once, in a new order."""

    def __init__(self, pool: Pool, seed: int) -> None:
        (self._ids, self._hidden), self._seed = pool, seed
        self.restore({"epoch": 0, "cursor": 0})

    @property
    def state(self) -> dict[str, int]:
        """Return the place of the next batch: {"epoch", "cursor"}."""
        return {"epoch": self._epoch, "cursor": self._cursor}

    def restore(self, state: dict[str, int]) -> None:
        """Go to a place that `state` returned."""
        self._epoch, self._cursor = state["epoch"], state["cursor"]
        random = np.random.default_rng([self._seed, self._epoch])
        self._order = random.permutation(len(self._ids))

    def batch(self, rows: int, length: int) -> tuple[torch.Tensor, torch.Tensor]:
        """Return ids (rows, length) and the target's hidden states (rows, length, size)."""
        assert length == self._ids.shape[1]
        assert rows <= len(self._ids)
        if self._cursor + rows > len(self._order):
            self.restore({"epoch": self._epoch + 1, "cursor": 0})
        chosen = self._order[self._cursor : self._cursor + rows]
        self._cursor += rows
        return self._ids[chosen], self._hidden[chosen]


def variation_share(progress: float) -> float:
    """Return the share of the total-variation term in the loss, at ``progress`` in [0, 1]: 0, then a ramp, then 0.9."""
    return 0.9 * min(1.0, max(0.0, (progress - 0.4) / (0.7 - 0.4)))


class DraftTrainer(Trainer):
    """Distils on `PoolBatches`. `head`: the target's."""

    LOSS = distillation_chunk

    def __init__(self, *arguments: Any, head: torch.Tensor, compiled: bool = False, **named: Any) -> None:
        super().__init__(*arguments, compiled=compiled, **named)
        self._target_head, self._target_law = head, compiled_if(compiled, log_probs_chunk)

    def _backward(self, batch: tuple[torch.Tensor, torch.Tensor], progress: float) -> float:
        ids, target_hidden = batch
        hidden, head = self.forward(ids), self.model.model.embed_tokens.weight.detach()
        share = torch.tensor(variation_share(progress))  # a changing float would recompile at every step
        weights = answer_weights(ids, self._answer)
        chunks = zip(in_chunks(hidden.detach()), in_chunks(target_hidden), in_chunks(weights), strict=True)
        return self._descend(
            hidden,
            (
                self._loss(self._target_law(theirs, self._target_head), mine, head, share, shares)
                for mine, theirs, shares in chunks
            ),
        )
