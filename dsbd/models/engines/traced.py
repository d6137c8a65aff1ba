"""Runs a forward without the model's Python: traced once, then replayed for any number of tokens and slots.

An eager forward of a small model on a CPU spends most of its time in Python. TorchScript records the operations and how
sizes are computed, and then calls the same operations: the logits equal the eager ones bit for bit. This needs no
compiler and no padding, and tracing takes as long as a few forwards.

A trace knows one way through the model. If the way depends on the data (a router chooses experts), the trace is wrong
for other tokens, so such models are not traced. The check at load compares the trace of every other model.

*Source:* ``torch.jit.trace``; docs/decisions/0006.
"""

from collections.abc import Sequence
from dataclasses import replace
from typing import Any

import torch
from torch.nn import functional

from dsbd.machine import without_warnings
from dsbd.models.cache import ForestCache, fixed_cache
from dsbd.models.language_model import LanguageModel, Masks
from dsbd.models.rows.forest import ForestRow

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
    """The forward as a function of tensors alone, with fewer, larger operations than the model's Python.

    - Query, key and value come from one product, gate and up from another.
    - Queries and keys are rotated together, by sines and cosines from a table.
    - Root-mean-square norm is one operation: layer norm of a row followed by its negative. Such a row has mean 0, and
      its variance is the mean square that the norm divides by. In float64 the model's norm stays, because it rounds to
      float32.

    The model's weights become views of the joined ones, so nothing is in memory twice. Sums run in another order than
    in the model's forward, so logits differ by rounding. *Source:* the block of ``LlamaForCausalLM`` of transformers.

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


_EXPERTS = ("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts")


def routes(config: Any) -> bool:
    """Return True if the tokens choose a model's experts."""
    return max(getattr(config, name, None) or 0 for name in _EXPERTS) > 1


class _OnBuffers(torch.nn.Module):
    """The forward as a function of tensors alone."""

    def __init__(self, model: LanguageModel, kinds: list[str], layout: Layout) -> None:
        super().__init__()
        self.module = model.model  # so that torch finds the weights
        self._model, self._kinds, self._layout = model, kinds, layout

    def forward(
        self,
        tokens: torch.Tensor,
        positions: torch.Tensor,
        slots: torch.Tensor,
        masks: list[torch.Tensor],
        buffers: list[torch.Tensor],
    ) -> torch.Tensor:
        keys = [buffers[group][place] for (group, place), _ in self._layout]
        values = [buffers[group][place] for _, (group, place) in self._layout]
        named = dict(zip(self._kinds, masks, strict=True))
        cache = fixed_cache(keys, values, slots, keys[0].shape[2])
        return self._model.forward(tokens, positions=positions, masks=named, cache=cache)


class TracedForward:
    """The traced forward of one model. Several decodes may use it at the same time, each with its cache."""

    def __init__(self, model: LanguageModel) -> None:
        self._model = replace(model)  # a copy without runners, so that no reference cycle keeps the model alive
        self._forward: Any = None

    def run(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks, cache: ForestCache) -> torch.Tensor:
        """Return logits [n, vocabulary] of tokens [n], appended to a cache that has room; masks [1, 1, n, slots]."""
        start, end = cache.length, cache.length + tokens.numel()
        slots = torch.arange(start, end, device=tokens.device)
        shown = [buffer[:, :, :, :end] for buffer in cache.buffers]
        inputs = tokens[None], positions[None], slots, list(masks.values()), shown
        forward = self._forward or self._trace(list(masks), cache, inputs)
        logits: torch.Tensor = forward(*inputs)[0]
        cache.extend(tokens.numel())
        return logits[:, : self._model.vocabulary_limit]

    def _trace(self, kinds: list[str], cache: ForestCache, inputs: tuple[Any, ...]) -> Any:
        """Trace a forward of several tokens. One token runs eagerly, because a trace would fix the size 1."""
        forward: torch.nn.Module = _OnBuffers(self._model, kinds, cache.layout)
        if self._model.engine == "fused":
            forward = FusedLlama(self._model.model, cache.layout)
        if inputs[0].numel() == 1:
            return forward
        # tracing warns of sizes that look like constants; the check at load finds those that are
        with without_warnings():
            self._forward = torch.jit.trace(forward, inputs, check_trace=False)
        return self._forward


class TracedRow(ForestRow):
    """A forest row whose forwards are traced, on the row's own buffers."""

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks) -> torch.Tensor:
        self.cache.reserve(self._settled + self._sight.shape[1])
        return self.model.runner(TracedForward).run(tokens, positions, masks, self.cache)
