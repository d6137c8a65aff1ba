"""Builds the forward of a model of a plain family as an ONNX graph, straight from its weights: no trace of its Python.

The plain families are Llama and those with its block but for biases (Qwen2), norms of queries and keys (Qwen3), factors
(Granite), windows (Mistral) or joined weights (Phi3).

Query, key and value come from one product, gate and up from another. Scores of earlier slots and of the new tokens are
computed apart and joined before the softmax, so the cache is never copied together with what is new.

*Source:* the blocks of ``transformers``' models; the operators of ONNX, and those that ONNX Runtime adds
in its domain ``com.microsoft``.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np
import torch
from onnx import ModelProto, TensorProto, helper, numpy_helper

from dsbd.models.cache import ForestCache
from dsbd.models.engines.fused import joined

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
RUNTIME = "com.microsoft"
OPSET, IR_VERSION = 21, 10


class Graph(NamedTuple):
    """A graph, and the weights that it names but does not hold."""

    proto: ModelProto
    weights: dict[str, np.ndarray]


def forward_graph(model: Any, cache: ForestCache) -> Graph:
    """Return the graph of a model's forward.

    It takes ``tokens`` [n] and ``positions`` [1, n] (int64), ``mask`` [n, used + n] (additive), ``used`` [1] (int64:
    the slots in use), ``asked`` [m] (int64: the places of the tokens whose logits are wanted) and ``buffer0``,
    ``buffer1``, ... [places, 1, heads, slots, size], as the cache has them. It returns ``logits`` [m, vocabulary], and
    for each buffer ``new0``, ``new1``, ... [places, 1, heads, n, size].

    Args:
        model: in float32, one for which ``why_no_graph`` is None; its weights are shared with the graph.
        cache: one of the model; only its layout is read.
    """
    with torch.inference_mode(False), torch.no_grad():
        return _Builder(model, cache).build()


class _Builder:
    """Adds nodes; its methods return the names of what these compute."""

    def __init__(self, model: Any, cache: ForestCache) -> None:
        self._model, self._cache, config = model, cache, model.config
        self._heads, self._groups = config.num_attention_heads, config.num_key_value_heads
        self._size = model.model.layers[0].self_attn.head_dim
        self._factor = getattr(config, "residual_multiplier", 1.0)
        self._nodes: list[Any] = []
        self._held: list[Any] = []
        self._weights: dict[str, np.ndarray] = {}

    def build(self) -> Graph:
        base, buffers = self._model.model, self._cache.buffers
        (self._mask,) = self._add("Concat", ["mask"] * (self._heads // self._groups), axis=0)
        (self._split,) = self._add("Concat", ["used", *self._add("Shape", ["tokens"])], axis=0)
        self._tables = self._rotations()
        new: list[list[str]] = [[] for _ in buffers]
        (hidden,) = self._add("Gather", [self._weight("embedding", base.embed_tokens.weight), "tokens"])
        if (factor := getattr(self._model.config, "embedding_multiplier", 1.0)) != 1.0:
            (hidden,) = self._add("Mul", [hidden, self._weight("embedding_factor", torch.tensor(float(factor)))])
        states = self._norm("norm", hidden, base.layers[0].input_layernorm)
        for number, (layer, layout) in enumerate(zip(base.layers, self._cache.layout, strict=True)):
            attended, *made = self._attention(f"{number}.", layer.self_attn, states, layout)
            for (buffer, _), name in zip(layout, made, strict=True):
                new[buffer].append(name)
            after = base.layers[number + 1].input_layernorm if number + 1 < len(base.layers) else base.norm
            hidden, states = self._residual(f"{number}.second", hidden, attended, layer.post_attention_layernorm)
            fed = self._feed_forward(f"{number}.", layer.mlp, states)
            hidden, states = self._residual(f"{number}.after", hidden, fed, after)
        (states,) = self._add("Gather", [states, "asked"])
        scale = 1.0 / getattr(self._model.config, "logits_scaling", 1.0)
        self._linear("head", states, [self._model.lm_head], scale, ["logits"])
        for place, names in enumerate(new):
            self._add("Concat", names, [f"new{place}"], axis=0)
        return Graph(self._proto(), self._weights)

    def _attention(self, name: str, layer: Any, states: str, layout: Any) -> tuple[str, str, str]:
        """Return what attention computes [n, width], and the new keys and values [1, 1, groups, n, size]."""
        heads, groups, size = self._heads, self._groups, self._size
        parts = [layer.qkv_proj] if hasattr(layer, "qkv_proj") else [layer.q_proj, layer.k_proj, layer.v_proj]
        made = self._linear(f"{name}qkv", states, parts)
        (made,) = self._add("Reshape", [made, self._ints(-1, heads + 2 * groups, size)])
        (made,) = self._add("Transpose", [made], perm=[1, 0, 2])
        turning, values = self._add("Split", [made, self._ints(heads + groups, groups)], 2, axis=0)
        if hasattr(layer, "q_norm"):
            both = zip(self._add("Split", [turning, self._ints(heads, groups)], 2, axis=0), "qk", strict=True)
            normed = [self._norm(f"{name}{one}_norm", part, getattr(layer, f"{one}_norm")) for part, one in both]
            (turning,) = self._add("Concat", normed, axis=0)
        (turning,) = self._add("Unsqueeze", [turning, self._ints(0)])
        (turned,) = self._add("RotaryEmbedding", [turning, "positions", *self._tables], domain=RUNTIME)
        (turned,) = self._add("Squeeze", [turned, self._ints(0)])
        queries, keys = self._add("Split", [turned, self._ints(heads, groups)], 2, axis=0)
        (queries,) = self._add("Reshape", [queries, self._ints(groups, -1, size)])
        before_keys, before_values = (self._before(*place) for place in layout)
        score = {"transB": 1, "alpha": layer.scaling, "domain": RUNTIME}
        apart = [self._add("FusedMatMul", [queries, one], **score)[0] for one in (before_keys, keys)]
        (scores,) = self._add("Concat", apart, axis=2)
        (scores,) = self._add("Add", [scores, self._mask])
        (shares,) = self._add("Softmax", [scores], axis=-1)
        before, now = self._add("Split", [shares, self._split], 2, axis=2)
        sums = [*self._add("MatMul", [before, before_values]), *self._add("MatMul", [now, values])]
        (attended,) = self._add("Add", sums)
        (attended,) = self._add("Reshape", [attended, self._ints(heads, -1, size)])
        (attended,) = self._add("Transpose", [attended], perm=[1, 0, 2])
        (attended,) = self._add("Reshape", [attended, self._ints(-1, heads * size)])
        attended = self._linear(f"{name}o", attended, [layer.o_proj], self._factor)
        new_keys, new_values = (self._add("Unsqueeze", [one, self._ints(0, 1)])[0] for one in (keys, values))
        return attended, new_keys, new_values

    def _before(self, buffer: int, place: int) -> str:
        """Return the keys or values of the slots in use [groups, used, size] of a layer's place in a buffer."""
        (ends,) = self._add("Concat", [self._ints(place + 1), "used"], axis=0)
        (part,) = self._add("Slice", [f"buffer{buffer}", self._ints(place, 0), ends, self._ints(0, 3)])
        return self._add("Squeeze", [part, self._ints(0, 1)])[0]

    def _feed_forward(self, name: str, mlp: Any, states: str) -> str:
        parts = [mlp.gate_up_proj] if hasattr(mlp, "gate_up_proj") else [mlp.gate_proj, mlp.up_proj]
        made = self._linear(f"{name}gate_up", states, parts)
        gate, up = self._add("Split", [made], 2, axis=1, num_outputs=2)
        (opened,) = self._add("QuickGelu", [gate], alpha=1.0, domain=RUNTIME)  # x times its sigmoid: SiLU
        (made,) = self._add("Mul", [opened, up])
        return self._linear(f"{name}down", made, [mlp.down_proj], self._factor)

    def _linear(
        self, name: str, states: str, layers: Sequence[Any], scale: float = 1.0, outputs: list[str] | None = None
    ) -> str:
        """Return what linear layers make of the same states, one behind the other, times ``scale``."""
        inputs = [states, self._weight(name, joined(layers) if len(layers) > 1 else layers[0].weight)]
        if layers[0].bias is not None:
            inputs.append(self._weight(f"{name}_bias", torch.cat([layer.bias for layer in layers]) * scale))
        return self._add("Gemm", inputs, outputs or 1, transB=1, alpha=scale)[0]

    def _norm(self, name: str, states: str, norm: Any) -> str:
        """Return the root-mean-square norm of the last axis."""
        inputs = [states, self._weight(name, norm.weight)]
        return self._add("SimplifiedLayerNormalization", inputs, epsilon=norm.variance_epsilon)[0]

    def _residual(self, name: str, hidden: str, added: str, norm: Any) -> tuple[str, str]:
        """Return the sum of both, and its norm."""
        weight, outputs = self._weight(f"{name}_norm", norm.weight), [f"{name}_states", "", "", f"{name}_hidden"]
        inputs, epsilon = [hidden, added, weight], norm.variance_epsilon
        self._add("SkipSimplifiedLayerNormalization", inputs, outputs, domain=RUNTIME, epsilon=epsilon)
        return outputs[3], outputs[0]

    def _rotations(self) -> list[str]:
        """Return the tables of cosines and sines [positions, size / 2]."""
        base = self._model.model
        positions = torch.arange(self._model.config.max_position_embeddings)[None]
        tables = base.rotary_emb(base.embed_tokens.weight[:1], positions)
        half = self._size // 2
        return [
            self._weight(name, table[0, :, :half].contiguous())
            for name, table in zip(("cosines", "sines"), tables, strict=True)
        ]

    def _add(
        self, kind: str, inputs: list[str], outputs: int | list[str] = 1, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Add a node; return the names of its outputs, new ones if only their number is given."""
        if isinstance(outputs, int):
            outputs = [f"{kind}{len(self._nodes)}_{place}" for place in range(outputs)]
        self._nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **attributes))
        return outputs

    def _ints(self, *values: int) -> str:
        """Return the name of a constant."""
        name = f"ints_{'_'.join(map(str, values))}"
        if all(held.name != name for held in self._held):
            self._held.append(numpy_helper.from_array(np.array(values, dtype=np.int64), name))
        return name

    def _weight(self, name: str, weight: torch.Tensor) -> str:
        """Declare a weight, whose numbers stay where they are."""
        tensor = TensorProto(name=name, data_type=FLOAT, dims=weight.shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="given")
        self._held.append(tensor)
        self._weights[name] = weight.detach().numpy()
        return name

    def _proto(self) -> ModelProto:
        shapes: dict[str, tuple[int, list[Any]]] = {
            "tokens": (INT, ["n"]), "positions": (INT, [1, "n"]), "mask": (FLOAT, ["n", "slots"]), "used": (INT, [1]),
            "asked": (INT, ["rows"]),
        }  # fmt: skip
        for place, buffer in enumerate(self._cache.buffers):
            places, one, heads, _, size = buffer.shape
            shapes[f"buffer{place}"] = FLOAT, [places, one, heads, f"room{place}", size]
        inputs = [helper.make_tensor_value_info(name, *shape) for name, shape in shapes.items()]
        outputs = [
            helper.make_tensor_value_info(name, FLOAT, None)
            for name in ("logits", *(f"new{place}" for place in range(len(self._cache.buffers))))
        ]
        graph = helper.make_graph(self._nodes, "forward", inputs, outputs, self._held)
        domains = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME, 1)]
        return helper.make_model(graph, opset_imports=domains, ir_version=IR_VERSION)
