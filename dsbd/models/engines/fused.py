"""Computes a Llama model with fewer, larger operations than its Python does.

- Query, key and value come from one product, gate and up from another.
- Queries and keys are rotated together, by sines and cosines from a table.
- Root-mean-square norm is one operation: layer norm of a row followed by its negative. Such a row has mean 0, and its
  variance is the mean square that the norm divides by. In float64 the model's norm stays, because it rounds to float32.

The model's weights become views of the joined ones, so nothing is in memory twice. Sums run in another order than in
the model's forward, so logits differ by rounding. The check at load compares them.

*Source:* the block of ``transformers``' ``LlamaForCausalLM``; docs/decisions/0006.
"""

from collections.abc import Sequence
from typing import Any

import torch
from torch.nn import functional

from dsbd.models.language_model import LanguageModel

STATIC_ROTATIONS = ("default", "linear", "llama3", "yarn")
Layout = Sequence[tuple[tuple[int, int], tuple[int, int]]]


def why_not_fused(model: LanguageModel) -> str | None:
    """Return why a model cannot be fused; None if it can."""
    if type(model.model).__name__ != "LlamaForCausalLM" or model.is_hooked:
        return "only plain Llama models are fused"
    if model.config.attention_bias or model.config.mlp_bias:
        return "its block has biases"
    return why_not_plain(model)


def why_not_plain(model: LanguageModel) -> str | None:
    """Return why the block of a model of a known family cannot be computed from its weights; None if it can."""
    if model.config.hidden_act != "silu":
        return "its block has another activation"
    if (model.config.rope_parameters or {}).get("rope_type", "default") not in STATIC_ROTATIONS:
        return "its rotation depends on the length of the text"
    if any(type(parameter.data) is not torch.Tensor for parameter in model.model.parameters()):
        return "its weights are quantised or spread"
    return None


class FusedLlama(torch.nn.Module):
    """The forward as a function of tensors alone, as in ``engines/traced.py``.

    Args:
        model: a Llama model for which :func:`why_not_fused` is None.
        layout: for each layer, the buffer and the place in it of the keys, then of the values.
    """

    cosines: torch.Tensor  # [positions, size], like the sines
    sines: torch.Tensor
    embedding: torch.Tensor
    head: torch.Tensor
    blocks: Any

    def __init__(self, model: Any, layout: Layout) -> None:
        super().__init__()
        config, base = model.config, model.model
        self._layout = list(layout)
        self._heads, self._groups = config.num_attention_heads, config.num_key_value_heads
        self._size = base.layers[0].self_attn.head_dim
        with torch.inference_mode(False), torch.no_grad():
            positions = torch.arange(config.max_position_embeddings, device=base.embed_tokens.weight.device)
            cosines, sines = (part[0] for part in base.rotary_emb(base.embed_tokens.weight[:1], positions[None]))
            sines[:, : self._size // 2].neg_()  # the first half of a rotation is subtracted
            self.register_buffer("cosines", cosines, persistent=False)
            self.register_buffer("sines", sines, persistent=False)
            self.register_buffer("embedding", base.embed_tokens.weight.detach(), persistent=False)
            self.register_buffer("head", model.lm_head.weight.detach(), persistent=False)
            self.norm = _norm_of(base.norm)
            self.blocks = torch.nn.ModuleList(_Block(layer) for layer in base.layers)

    def forward(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        slots: torch.Tensor,
        masks: list[torch.Tensor],
        buffers: list[torch.Tensor],
    ) -> torch.Tensor:
        place = positions[0]
        turn = self.cosines[place][:, None], self.sines[place][:, None]
        mask = torch.cat([masks[0][0, 0]] * (self._heads // self._groups))  # heads of a group are rows of one query
        hidden = functional.embedding(tokens[0], self.embedding)
        for block, ((group, number), (other, its)) in zip(self.blocks, self._layout, strict=True):
            keys, values = buffers[group][number][0], buffers[other][its][0]
            hidden = hidden + self._attended(block, hidden, turn, mask, slots, keys, values)
            gate, up = functional.linear(block.second_norm(hidden), block.gate_up).chunk(2, dim=1)
            hidden = hidden + functional.linear(functional.silu(gate) * up, block.down)
        return functional.linear(self.norm(hidden), self.head)[None]

    def _attended(
        self,
        block: "_Block",
        hidden: torch.Tensor,
        turn: tuple[torch.Tensor, torch.Tensor],
        mask: torch.Tensor,
        slots: torch.Tensor,
        keys: torch.Tensor,
        values: torch.Tensor,
    ) -> torch.Tensor:
        """Return what attention adds to hidden [n, width]; write keys and values [groups, slots, size]."""
        heads, groups, size = self._heads, self._groups, self._size
        made = functional.linear(block.first_norm(hidden), block.query_key_value).view(-1, heads + 2 * groups, size)
        turned = _rotated(made[:, : heads + groups], *turn)
        keys.index_copy_(1, slots, turned[:, heads:].transpose(0, 1))
        values.index_copy_(1, slots, made[:, heads + groups :].transpose(0, 1))
        queries = turned[:, :heads].transpose(0, 1).reshape(1, groups, -1, size)
        attended = functional.scaled_dot_product_attention(queries, keys[None], values[None], attn_mask=mask)
        together = attended.view(heads, -1, size).transpose(0, 1).reshape(-1, heads * size)
        return functional.linear(together, block.output)


def _norm_of(norm: Any) -> torch.nn.Module:
    """Return the norm as one operation; in float64 the model's norm, which computes in float32."""
    own: torch.nn.Module = norm
    return own if norm.weight.dtype == torch.float64 else _Norm(norm)


class _Norm(torch.nn.Module):
    """Root-mean-square norm as layer norm of (x, -x)."""

    weight: torch.Tensor

    def __init__(self, norm: Any) -> None:
        super().__init__()
        self._size, self._epsilon = norm.weight.numel(), norm.variance_epsilon
        self.register_buffer("weight", torch.cat([norm.weight.detach()] * 2), persistent=False)

    def forward(self, hidden: torch.Tensor) -> torch.Tensor:
        both = torch.cat([hidden, -hidden], dim=1)
        return functional.layer_norm(both, (2 * self._size,), self.weight, None, self._epsilon)[:, : self._size]


class _Block(torch.nn.Module):
    """The weights of one layer."""

    query_key_value: torch.Tensor
    output: torch.Tensor
    gate_up: torch.Tensor
    down: torch.Tensor

    def __init__(self, layer: Any) -> None:
        super().__init__()
        attention, mlp = layer.self_attn, layer.mlp
        self.first_norm, self.second_norm = _norm_of(layer.input_layernorm), _norm_of(layer.post_attention_layernorm)
        weights = {
            "query_key_value": joined([attention.q_proj, attention.k_proj, attention.v_proj]),
            "output": attention.o_proj.weight.detach(),
            "gate_up": joined([mlp.gate_proj, mlp.up_proj]),
            "down": mlp.down_proj.weight.detach(),
        }
        for name, weight in weights.items():
            self.register_buffer(name, weight, persistent=False)


def joined(linears: Sequence[Any]) -> torch.Tensor:
    """Return the weights of linear layers as one tensor [sum of outputs, inputs]; theirs become views of it."""
    weights = [linear.weight.detach() for linear in linears]
    ends = [weight.data_ptr() + weight.numel() * weight.element_size() for weight in weights]
    one_storage = len({weight.untyped_storage().data_ptr() for weight in weights}) == 1
    if not one_storage or any(end != weight.data_ptr() for end, weight in zip(ends, weights[1:], strict=False)):
        whole = torch.cat(weights)
        for linear, part in zip(linears, whole.split([len(weight) for weight in weights]), strict=True):
            linear.weight.data = part
        return whole
    columns = weights[0].shape[1]
    return weights[0].as_strided((sum(len(weight) for weight in weights), columns), (columns, 1))


def _rotated(states: torch.Tensor, cosines: torch.Tensor, sines: torch.Tensor) -> torch.Tensor:
    """Rotate states [n, heads, size] by cosines and sines [n, 1, size]; the first half of the sines is negated."""
    first, second = states.chunk(2, dim=-1)
    return torch.addcmul(states * cosines, torch.cat([second, first], dim=-1), sines)
