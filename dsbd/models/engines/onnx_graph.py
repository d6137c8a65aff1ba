"""Builds the forward of a model of a plain family as an ONNX graph, straight from its weights: no trace of its Python.

The plain families are Llama and those with its block but for biases (Qwen2), norms of queries and keys (Qwen3), windows
(Mistral) or joined weights (Phi3).

The graph of a bundled model for ONNX Runtime Web differs in three things. Weights stay in the safetensors files that
Python reads, and the runtime widens and joins them when it loads the graph. Attention consists of plain products, which
take an eighth of the time in WebAssembly. And only what is new of a cache comes out, which the page appends to its own.

*Source:* the blocks of ``transformers``' models; the operators of ONNX and of ONNX Runtime (``com.microsoft``).
"""

import json
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch
from onnx import ModelProto, TensorProto, helper, numpy_helper
from torch.nn.functional import pad
from transformers import AutoModelForCausalLM

from dsbd.models.files import weight_files
from dsbd.util import BUNDLED_PAIRS, asset_path, write_file

FLOAT, INT = TensorProto.FLOAT, TensorProto.INT64
RUNTIME = "com.microsoft"
OPSET, IR_VERSION = 21, 10
SPARE_SLOTS = 16_384
"""How many more slots than positions the beams and forests at the end of a context may take."""
BLOCK, ROUNDED = 16, 4
"""Weights that share a scale; how the runtime is told to multiply whole numbers."""
BROWSER = "browser.onnx"
"""The file of a bundled model's graph for a browser, beside the weights."""
STORED = {"BF16": TensorProto.BFLOAT16, "F16": TensorProto.FLOAT16, "F32": TensorProto.FLOAT}
"""How safetensors and ONNX name the types of weights."""


def forward_graph(
    model: Any, weights: str = "float", has_lanes: bool = False
) -> tuple[ModelProto, dict[str, np.ndarray]]:
    """Return the graph of a model's forward, and the weights that it names but does not hold.

    It takes ``tokens`` [n] and ``positions`` [1, n] (int64), ``mask`` [1, 1, n, used + n] (additive; a token sees no
    later one), ``asked`` [m] (int64: the indices of the tokens whose logits are wanted) and for each layer ``keys0``,
    ``values0``, ... [1, heads, slots, size], of which ``used`` slots are in use. It returns ``logits`` [m, vocabulary],
    and ``new_keys0``, ``new_values0``, ...: the same with the new tokens behind the used slots. Both may be one buffer;
    then nothing but what is new is written.

    Args:
        model: in float32, one for which ``why_no_graph`` is None; its weights are shared with the graph.
        weights: ``float``, or ``int8``: matrices are rounded to eight bits, and what they multiply, too.
        has_lanes: serve several decodes in one forward. Caches are [lanes, heads, slots, size], ``tokens`` those of all
            decodes, one behind the other; attention alone sees them padded to the longest, ``longest``. ``positions``
            [lanes, longest] and ``mask`` [lanes, 1, longest, most slots in use] are padded, too; ``spread`` [lanes,
            longest] (int64) has the index of each padded token in ``tokens``, and ``packed`` [n] (int64) of each token
            among the padded. ``counts`` [lanes] is how many tokens a lane has, 0 if it rests, and ``last`` [lanes] the
            last slot in use after them (both int32). The runtime must know right-padded queries.
    """
    with torch.inference_mode(False), torch.no_grad():
        kind = _Int8Builder if weights == "int8" else Builder
        builder = (type("_Lanes", (_OfLanes, kind), {}) if has_lanes else kind)(model)
        return builder.build(), builder.weights


def bundled_graph(pair: str, role: str) -> ModelProto:
    """Return the graph of a bundled model's forward for a browser; ``role`` is target or draft.

    It takes what :func:`forward_graph` says, but for ``mask`` [n, used + n] and the caches [used, heads, 1, size]. It
    returns ``logits`` [m, vocabulary], and ``new_keys0``, ``new_values0``, ... [n, heads, 1, size].
    """
    folder = asset_path("models") / pair / role
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False)
    with torch.no_grad():
        return _BrowserBuilder(model, folder).build()


class Builder:
    """Adds nodes; its methods return the names of what these compute."""

    def __init__(self, model: Any) -> None:
        self._model, config = model, model.config
        self._heads, self._groups = config.num_attention_heads, config.num_key_value_heads
        self._size = model.model.layers[0].self_attn.head_dim
        self._mask: list[Any] = [1, 1, "n", "slots"]
        self._more: list[str] = []  # inputs of attention
        self._inputs: dict[str, tuple[int, list[Any]]] = {}  # of the graph, beside those that all have
        self._cache: list[Any] = [1, self._groups, "room", self._size]
        self._nodes: list[Any] = []
        self._initializers: list[Any] = []
        self.weights: dict[str, np.ndarray] = {}

    def build(self) -> ModelProto:
        base = self._model.model
        self._tables, self._ends = self._rotations(), self._slots()
        (hidden,) = self._add("Gather", [self._weight("embedding", base.embed_tokens.weight), "tokens"])
        states = self._norm("norm", hidden, base.layers[0].input_layernorm)
        for number, layer in enumerate(base.layers):
            attended = self._attention(number, layer.self_attn, states)
            after = base.layers[number + 1].input_layernorm if number + 1 < len(base.layers) else base.norm
            hidden, states = self._residual(f"{number}.second", hidden, attended, layer.post_attention_layernorm)
            fed = self._feed_forward(f"{number}.", layer.mlp, states)
            hidden, states = self._residual(f"{number}.after", hidden, fed, after)
        (states,) = self._add("Gather", [states, "asked"])
        self._linear("head", states, [self._model.lm_head], ["logits"])
        return self._proto(len(base.layers))

    def _attention(self, number: int, layer: Any, states: str) -> str:
        """Return what attention computes [n, width]. It turns queries and keys, and writes keys and values."""
        parts = [layer.qkv_proj] if hasattr(layer, "qkv_proj") else [layer.q_proj, layer.k_proj, layer.v_proj]
        joint = self._linear(f"{number}.qkv", states, parts)
        attended = self._packed(self._attended(number, layer, self._padded(joint)))
        return self._linear(f"{number}.o", attended, [layer.o_proj])

    def _padded(self, states: str) -> str:
        """Return states [n, width] as attention takes them: [1, n, width]."""
        return self._add("Unsqueeze", [states, self._ints(0)])[0]

    def _packed(self, states: str) -> str:
        """Return what attention gives as [n, width]."""
        return self._add("Squeeze", [states, self._ints(0)])[0]

    def _attended(self, number: int, layer: Any, joint: str) -> str:
        """Return what the heads see [1, n, heads * size]; ``joint`` is query, key and value one behind the other."""
        parts = self._apart(number, layer, joint) if hasattr(layer, "q_norm") else [joint, "", ""]
        return self._add(
            "GroupQueryAttention",
            [*parts, f"keys{number}", f"values{number}", *self._ends, *self._tables, "positions", "mask", *self._more],
            [f"attended{number}", f"new_keys{number}", f"new_values{number}"],
            domain=RUNTIME, num_heads=self._heads, kv_num_heads=self._groups, scale=layer.scaling, do_rotary=1,
        )[0]  # fmt: skip

    def _apart(self, number: int, layer: Any, joint: str) -> list[str]:
        """Return query, key and value; the first two normed, where the family does that."""
        widths = self._ints(*(heads * self._size for heads in (self._heads, self._groups, self._groups)))
        parts = self._add("Split", [joint, widths], 3, axis=2)
        for index, name in enumerate(("q_norm", "k_norm") if hasattr(layer, "q_norm") else ()):
            (heads,) = self._add("Reshape", [parts[index], self._ints(0, 0, -1, self._size)])
            normed = self._norm(f"{number}.{name}", heads, getattr(layer, name))
            (parts[index],) = self._add("Reshape", [normed, self._ints(0, 0, -1)])
        return parts

    def _slots(self) -> list[str]:
        """Return the last slot after this forward [1] and the number of slots [], int32."""
        (total,) = self._add("Shape", ["mask"], start=3)
        (total,) = self._add("Cast", [total], to=TensorProto.INT32)
        (last,) = self._add("Sub", [total, self._hold("one", np.array([1], dtype=np.int32))])
        return [last, *self._add("Squeeze", [total, self._ints(0)])]

    def _feed_forward(self, name: str, mlp: Any, states: str) -> str:
        parts = [mlp.gate_up_proj] if hasattr(mlp, "gate_up_proj") else [mlp.gate_proj, mlp.up_proj]
        gate_up = self._linear(f"{name}gate_up", states, parts)
        gate, up = self._add("Split", [gate_up], 2, axis=1, num_outputs=2)
        (opened,) = self._add("QuickGelu", [gate], alpha=1.0, domain=RUNTIME)  # x times its sigmoid: SiLU
        return self._linear(f"{name}down", self._add("Mul", [opened, up])[0], [mlp.down_proj])

    def _linear(self, name: str, states: str, layers: Sequence[Any], outputs: list[str] | None = None) -> str:
        """Return what linear layers make of the same states, one behind the other."""
        inputs = [states, self._weight(name, joined(layers) if len(layers) > 1 else layers[0].weight)]
        if layers[0].bias is not None:
            inputs.append(self._weight(f"{name}_bias", torch.cat([layer.bias for layer in layers])))
        return self._add("Gemm", inputs, outputs or 1, transB=1, alpha=1.0)[0]

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
        """Return the tables of cosines and sines [slots, size / 2].

        The operator asks for a row per slot, and branches of a forest share positions: rows beyond the last position
        are there and never read.
        """
        base = self._model.model
        positions = torch.arange(self._model.config.max_position_embeddings)[None]
        tables = base.rotary_emb(base.embed_tokens.weight[:1], positions)
        half = self._size // 2
        return [
            self._weight(name, pad(table[0, :, :half], (0, 0, 0, SPARE_SLOTS)))
            for name, table in zip(("cosines", "sines"), tables, strict=True)
        ]

    def _add(
        self, kind: str, inputs: list[str], outputs: int | list[str] = 1, domain: str = "", **attributes: Any
    ) -> list[str]:
        """Add a node; return the names of its outputs, new ones if only their number is given."""
        if isinstance(outputs, int):
            outputs = [f"{kind}{len(self._nodes)}_{index}" for index in range(outputs)]
        self._nodes.append(helper.make_node(kind, inputs, outputs, domain=domain, **attributes))
        return outputs

    def _ints(self, *values: int) -> str:
        """Return the name of a constant."""
        return self._hold(f"ints_{'_'.join(map(str, values))}", np.array(values, dtype=np.int64))

    def _hold(self, name: str, values: np.ndarray) -> str:
        if all(tensor.name != name for tensor in self._initializers):
            self._initializers.append(numpy_helper.from_array(values, name))
        return name

    def _weight(self, name: str, weight: torch.Tensor) -> str:
        """Declare a weight, whose numbers stay where they are."""
        numbers = weight.detach().numpy()
        kind = helper.np_dtype_to_tensor_dtype(numbers.dtype)
        tensor = TensorProto(name=name, data_type=kind, dims=weight.shape, data_location=TensorProto.EXTERNAL)
        tensor.external_data.add(key="location", value="given")
        self._initializers.append(tensor)
        self.weights[name] = numbers
        return name

    def _proto(self, layers: int) -> ModelProto:
        shapes: dict[str, tuple[int, list[Any]]] = {
            "tokens": (INT, ["n"]), "positions": (INT, [1, "n"]), "mask": (FLOAT, self._mask),
            "asked": (INT, ["rows"]), **self._inputs,
        }  # fmt: skip
        both = [f"{kind}{number}" for number in range(layers) for kind in ("keys", "values")]
        shapes |= dict.fromkeys(both, (FLOAT, self._cache))
        inputs = [helper.make_tensor_value_info(name, *shape) for name, shape in shapes.items()]
        names = ["logits", *(f"new_{name}" for name in both)]
        outputs = [helper.make_tensor_value_info(name, FLOAT, None) for name in names]
        graph = helper.make_graph(self._nodes, "forward", inputs, outputs, self._initializers)
        domains = [helper.make_opsetid("", OPSET), helper.make_opsetid(RUNTIME, 1)]
        return helper.make_model(graph, opset_imports=domains, ir_version=IR_VERSION)


class _Int8Builder(Builder):
    """A builder whose matrices are in eight bits: whole numbers from -127 to 127, with a scale for each block of a row.

    The operator rounds what it multiplies in the same way, block by block **of each token**. With one scale for all
    tokens (``DynamicQuantizeLinear``) the distribution of a node would depend on the tokens of the rest of the forest.
    """

    def _linear(self, name: str, states: str, layers: Sequence[Any], outputs: list[str] | None = None) -> str:
        weight = torch.cat([layer.weight for layer in layers])
        rows, columns = weight.shape
        blocks = pad(weight, (0, -columns % BLOCK)).view(rows, -1, BLOCK)
        scales = (blocks.abs().amax(dim=2) / 127).clamp_min(torch.finfo(weight.dtype).tiny)
        whole = (blocks / scales[:, :, None]).round_().add_(128).to(torch.uint8)  # the operator takes 128 as zero
        inputs = [states, self._weight(name, whole), self._weight(f"{name}_scales", scales)]
        if layers[0].bias is not None:
            inputs += ["", "", self._weight(f"{name}_bias", torch.cat([layer.bias for layer in layers]))]
        return self._add(
            "MatMulNBits", inputs, outputs or 1, domain=RUNTIME,
            K=columns, N=rows, bits=8, block_size=BLOCK, accuracy_level=ROUNDED,
        )[0]  # fmt: skip


class _OfLanes(Builder):
    """A builder whose caches have a lane for each of several decodes."""

    def __init__(self, model: Any) -> None:
        super().__init__(model)
        lanes, padded, self._more = ["lanes"], ["lanes", "longest"], ["", "", "", "", "", "counts"]
        self._cache, self._mask = ["lanes", *self._cache[1:]], [*lanes, 1, "longest", "slots"]
        self._inputs = {"positions": (INT, padded), "spread": (INT, padded), "packed": (INT, ["n"])}
        self._inputs |= dict.fromkeys(("counts", "last"), (TensorProto.INT32, lanes))

    def _padded(self, states: str) -> str:
        return self._add("Gather", [states, "spread"])[0]

    def _packed(self, states: str) -> str:
        (flat,) = self._add("Reshape", [states, self._ints(-1, self._heads * self._size)])
        return self._add("Gather", [flat, "packed"])[0]

    def _slots(self) -> list[str]:
        return ["last", super()._slots()[1]]


class _BrowserBuilder(Builder):
    """A builder whose weights stay in their files."""

    def __init__(self, model: Any, folder: Path) -> None:
        super().__init__(model)
        self._cache = ["used", self._groups, 1, self._size]
        self._mask = ["n", "slots"]
        self._stored = {tensor.name: tensor for file in weight_files(folder) for tensor in _tensors(file)}
        self._wide: dict[str, str] = {}

    def _weight(self, name: str, weight: torch.Tensor) -> str:
        """Return a weight as it is in the files, widened and joined; what is in no file is held by the graph."""
        start, end = weight.data_ptr(), weight.data_ptr() + weight.nbytes
        parameters = {one.data_ptr(): (own, one) for own, one in self._model.named_parameters()}  # joining moves them
        parts = []
        while start in parameters and start < end:
            parts.append(self._widened(parameters[start][0]))
            start += parameters[start][1].nbytes
        if start != end:
            return self._hold(name, weight.detach().numpy())
        return self._add("Concat", parts, axis=0)[0] if len(parts) > 1 else parts[0]

    def _widened(self, name: str) -> str:
        """Return a stored weight in float32."""
        if name not in self._wide:
            self._initializers.append(self._stored[name])
            (self._wide[name],) = self._add("Cast", [name], to=FLOAT)
        return self._wide[name]

    def _rotations(self) -> list[str]:
        """Return the tables of cosines and sines [positions, size / 2], computed when the graph is loaded."""
        rotary = self._model.model.rotary_emb
        ends = [self._hold(name, np.array(value, dtype=np.float32)) for name, value in (
            ("zero", 0), ("positions_end", self._model.config.max_position_embeddings), ("step", 1))]  # fmt: skip
        (positions,) = self._add("Unsqueeze", [*self._add("Range", ends), self._ints(1)])
        (angles,) = self._add("Mul", [positions, self._hold("turns", rotary.inv_freq[None].float().numpy())])
        factor = self._hold("turn_factor", np.array(rotary.attention_scaling, dtype=np.float32))
        return [self._add("Mul", [*self._add(kind, [angles]), factor])[0] for kind in ("Cos", "Sin")]

    def _slots(self) -> list[str]:
        return []

    def _attended(self, number: int, layer: Any, joint: str) -> str:
        """Return what the heads see [1, n, heads * size]; the heads of a group share keys and values."""
        query, key, value = self._apart(number, layer, joint)
        groups, size, per_group = self._groups, self._size, self._heads // self._groups
        seen = []
        for kind, states in (("keys", self._turned(key, groups)), ("values", value)):
            new = self._add("Reshape", [states, self._ints(-1, groups, 1, size)], [f"new_{kind}{number}"])
            (all_slots,) = self._add("Concat", [f"{kind}{number}", *new], axis=0)
            seen += self._add("Transpose", [all_slots], perm=[1, 2, 0, 3])  # [groups, 1, slots, size]
        shape = self._ints(-1, groups, per_group, size)
        (query,) = self._add("Reshape", [self._turned(query, self._heads), shape])
        (query,) = self._add("Transpose", [query], perm=[1, 2, 0, 3])
        scores = self._add("FusedMatMul", [query, seen[0]], domain=RUNTIME, transB=1, alpha=layer.scaling)
        shares = self._add("Softmax", self._add("Add", [*scores, "mask"]), axis=-1)
        (attended,) = self._add("MatMul", [*shares, seen[1]])
        (attended,) = self._add("Transpose", [attended], perm=[2, 0, 1, 3])
        return self._add("Reshape", [attended, self._ints(1, -1, self._heads * size)])[0]

    def _turned(self, states: str, heads: int) -> str:
        """Return states [1, n, heads * size] rotated to their positions."""
        inputs = [states, "positions", *self._tables]
        return self._add("RotaryEmbedding", inputs, domain=RUNTIME, num_heads=heads)[0]


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


def _tensors(file: Path) -> list[TensorProto]:
    """Return the tensors of a safetensors file, each with its place in the file."""
    with file.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(size))
    tensors = []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        tensor = TensorProto(
            name=name, data_type=STORED[entry["dtype"]], dims=entry["shape"], data_location=TensorProto.EXTERNAL
        )
        for key, value in (("location", file.name), ("offset", 8 + size + start), ("length", end - start)):
            tensor.external_data.add(key=key, value=str(value))
        tensors.append(tensor)
    return tensors


if __name__ == "__main__":
    for pair in BUNDLED_PAIRS:
        for role in ("target", "draft"):
            write_file(asset_path("models") / pair / role / BROWSER, bundled_graph(pair, role).SerializeToString())
