"""Configurations of the pair, and a Llama forward that trains fast on two CPU cores.

`Forward` computes what `LlamaForCausalLM.model` computes (a test compares them), but
with joined projections and blockwise plain attention: in bfloat16 on a CPU the backward of
fused attention costs more than all matrix products of the layer together.
"""

from collections.abc import Callable, Iterable
from typing import Any, NamedTuple

import torch
from torch.nn import functional
from transformers import LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaAttention, LlamaDecoderLayer, LlamaMLP

from training.tokenizer import CONTEXT_TOKENS

ATTENTION_BLOCK = 256


def model_config(layers: int, **sizes: Any) -> LlamaConfig:
    """Return the configuration of a pair member with `layers` layers; `sizes` are named as in ``LlamaConfig``."""
    return LlamaConfig(
        num_hidden_layers=layers,
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
        **sizes,
    )


def new_model(config: LlamaConfig, seed: int) -> LlamaForCausalLM:
    """Return a float32 model whose layers begin as the identity (outputs start at zero)."""
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM(config)
    for layer in model.model.layers:
        torch.nn.init.zeros_(layer.self_attn.o_proj.weight)
        torch.nn.init.zeros_(layer.mlp.down_proj.weight)
    return model


class PositionTables(NamedTuple):
    """Tables that depend on positions only.

    `cosines`, `sines`: (1, length, head_dim). `mask`: (length, length), added to scores: 0 up
    to the diagonal, the type's minimum above. (A mask computed inside the compiled forward
    is not vectorised and costs more than the softmax.)
    """

    cosines: torch.Tensor
    sines: torch.Tensor
    mask: torch.Tensor


def position_tables(model: LlamaForCausalLM, length: int) -> PositionTables:
    """Return the tables of positions 0..length-1 in the model's type."""
    weight = model.model.embed_tokens.weight
    cosines, sines = model.model.rotary_emb(weight, torch.arange(length)[None])
    lowest = torch.finfo(weight.dtype).min
    mask = torch.full((length, length), lowest, dtype=weight.dtype).triu(1)
    return PositionTables(cosines, sines, mask)


def compiled_if(wanted: bool, function: Callable[..., Any]) -> Callable[..., Any]:
    """Return a function, compiled by torch if that is wanted."""
    return torch.compile(function, dynamic=False) if wanted else function


class Forward:
    """Final normed hidden states of one model; its layers are compiled or not, and its position tables kept."""

    def __init__(self, model: LlamaForCausalLM, *, compiled: bool = False) -> None:
        self._model = model
        self._layer = compiled_if(compiled, layer_states)  # compiled once, it serves every layer
        self._tables: dict[int, PositionTables] = {}

    def __call__(self, ids: torch.Tensor) -> torch.Tensor:
        """Return hidden states (rows, length, hidden) of ids (rows, length)."""
        embedded = functional.embedding(ids, self._model.model.embed_tokens.weight)
        return self.states(embedded, self._model.model.layers)

    def states(self, embedded: torch.Tensor, layers: Iterable[Any]) -> torch.Tensor:
        """Return the same of input embeddings (rows, length, hidden), through these layers.

        `layers`: the model's own, or stand-ins with other weights.
        """
        length, epsilon = embedded.shape[1], self._model.config.rms_norm_eps
        if length not in self._tables:
            self._tables[length] = position_tables(self._model, length)
        for layer in layers:
            embedded = self._layer(layer, embedded, self._tables[length], epsilon)
        return _rms_norm(embedded, self._model.model.norm.weight, epsilon)


def layer_states(
    layer: LlamaDecoderLayer, hidden: torch.Tensor, tables: PositionTables, epsilon: float
) -> torch.Tensor:
    """Return one layer's output, (rows, length, hidden), for its input of the same shape."""
    normed = _rms_norm(hidden, layer.input_layernorm.weight, epsilon)
    hidden = hidden + _attention(layer.self_attn, normed, tables)
    normed = _rms_norm(hidden, layer.post_attention_layernorm.weight, epsilon)
    return hidden + _feed_forward(layer.mlp, normed)


def _rms_norm(hidden: torch.Tensor, weight: torch.Tensor, epsilon: float) -> torch.Tensor:
    wide = hidden.float()
    wide = wide * torch.rsqrt(wide.square().mean(-1, keepdim=True) + epsilon)
    return weight * wide.to(hidden.dtype)


def _feed_forward(mlp: LlamaMLP, hidden: torch.Tensor) -> torch.Tensor:
    joined = functional.linear(hidden, torch.cat([mlp.gate_proj.weight, mlp.up_proj.weight]))
    gate, up = joined.chunk(2, dim=-1)
    return functional.linear(functional.silu(gate) * up, mlp.down_proj.weight)


def _rotate(vectors: torch.Tensor, tables: PositionTables) -> torch.Tensor:
    first, second = vectors.chunk(2, dim=-1)
    return vectors * tables.cosines + torch.cat([-second, first], dim=-1) * tables.sines


def _attention(attention: LlamaAttention, hidden: torch.Tensor, tables: PositionTables) -> torch.Tensor:
    rows, length, _ = hidden.shape
    size = attention.head_dim
    weights = [attention.q_proj.weight, attention.k_proj.weight, attention.v_proj.weight]
    counts = [weight.shape[0] // size for weight in weights]
    joined = functional.linear(hidden, torch.cat(weights)).view(rows, length, -1, size)
    query, key, value = joined.transpose(1, 2).split(counts, dim=1)
    query, key = _rotate(query, tables), _rotate(key, tables)
    query = query.reshape(rows, counts[1], -1, length, size) * size**-0.5
    blocks = [
        _attend(query[..., start : start + ATTENTION_BLOCK, :], key, value, tables.mask, start)
        for start in range(0, length, ATTENTION_BLOCK)
    ]
    mixed = torch.cat(blocks, dim=-2).reshape(rows, -1, length, size)
    return functional.linear(mixed.transpose(1, 2).flatten(2), attention.o_proj.weight)


def _attend(
    query: torch.Tensor,
    key: torch.Tensor,
    value: torch.Tensor,
    mask: torch.Tensor,
    start: int,
) -> torch.Tensor:
    """Attend causally from one block of positions.

    `query`: (rows, kv_heads, group, block, size), positions from `start`. `key`, `value`:
    (rows, kv_heads, length, size). The group shares one product per kv head.
    """
    rows, heads, group, block, size = query.shape
    end = start + block
    flat = query.reshape(rows, heads, group * block, size)
    scores = flat @ key[:, :, :end].transpose(-1, -2)
    scores = scores.view(rows, heads, group, block, end)
    weights = (scores + mask[start:end, :end]).softmax(-1)
    mixed = weights.view(rows, heads, group * block, end) @ value[:, :, :end]
    return mixed.view(rows, heads, group, block, size)
