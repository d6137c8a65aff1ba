"""Builds the graph of a bundled model for ONNX Runtime Web, which reads the safetensors files that Python reads.

The graph is that of ``engines/onnx_graph.py`` but for three things.

- Weights are named by file, place and size. They are widened and joined by operators of the graph, which the runtime
  computes once, when it loads the graph.
- Attention consists of plain products. In WebAssembly they take an eighth of the time of the operator that Python uses.
- A cache is [slots, heads, size] and goes in with the used slots only; what comes out is what is new. So the page keeps
  it as one array per layer, to which it appends.
"""

import json
from pathlib import Path
from typing import Any

import numpy as np
import torch
from onnx import ModelProto, TensorProto
from transformers import AutoModelForCausalLM

from dsbd.assets import BUNDLED_PAIRS, asset_path
from dsbd.files import write_file
from dsbd.models.engines.onnx_graph import FLOAT, RUNTIME, Builder
from dsbd.models.files import weight_files

NAME = "browser.onnx"
"""The graph's file, beside the weights."""
STORED = {"BF16": TensorProto.BFLOAT16, "F16": TensorProto.FLOAT16, "F32": TensorProto.FLOAT}
"""How safetensors and ONNX name the types of weights."""


def browser_graph(model: Any, folder: Path) -> ModelProto:
    """Return the graph of a model's forward for a browser.

    It takes what :func:`~dsbd.models.engines.onnx_graph.forward_graph` says, but for ``mask`` [n, used + n] and the
    caches [used, heads, 1, size]. It returns ``logits`` [m, vocabulary], and ``new_keys0``, ``new_values0``, ...
    [n, heads, 1, size].

    Args:
        model: in float32, one for which ``why_no_graph`` is None.
        folder: of its safetensors files.

    Raises:
        KeyError: the files hold a weight in another type than bfloat16, float16 or float32.
    """
    with torch.inference_mode(False), torch.no_grad():
        return _BrowserBuilder(model, folder).build().proto


def bundled_graph(pair: str, role: str) -> ModelProto:
    """Return the graph of a bundled model; ``role`` is target or draft."""
    folder = asset_path("models") / pair / role
    model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32, trust_remote_code=False)
    return browser_graph(model, folder)


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
        places = {one.data_ptr(): (own, one) for own, one in self._model.named_parameters()}  # joining moves them
        parts = []
        while start in places and start < end:
            parts.append(self._widened(places[start][0]))
            start += places[start][1].nbytes
        if start != end:
            return self._hold(name, weight.detach().numpy())
        return self._add("Concat", parts, axis=0)[0] if len(parts) > 1 else parts[0]

    def _widened(self, name: str) -> str:
        """Return a stored weight in float32."""
        if name not in self._wide:
            self._held.append(self._stored[name])
            (self._wide[name],) = self._add("Cast", [name], to=FLOAT)
        return self._wide[name]

    def _rotations(self) -> list[str]:
        """Return the tables of cosines and sines [positions, size / 2], computed when the graph is loaded."""
        rotary = self._model.model.rotary_emb
        ends = [self._hold(name, np.array(value, dtype=np.float32)) for name, value in (
            ("zero", 0), ("positions_end", self._model.config.max_position_embeddings), ("step", 1))]  # fmt: skip
        (places,) = self._add("Unsqueeze", [*self._add("Range", ends), self._ints(1)])
        (angles,) = self._add("Mul", [places, self._hold("turns", rotary.inv_freq[None].float().numpy())])
        factor = self._hold("turn_factor", np.array(rotary.attention_scaling, dtype=np.float32))
        return [self._add("Mul", [*self._add(kind, [angles]), factor])[0] for kind in ("Cos", "Sin")]

    def _slots(self) -> list[str]:
        return []

    def _attended(self, number: int, layer: Any, made: str) -> str:
        """Return what the heads see [1, n, heads * size]; the heads of a group share keys and values."""
        query, key, value = self._apart(number, layer, made)
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


def _tensors(file: Path) -> list[TensorProto]:
    """Return the tensors of a safetensors file, each with its place in the file."""
    with file.open("rb") as stream:
        size = int.from_bytes(stream.read(8), "little")
        header = json.loads(stream.read(size))
    found = []
    for name, entry in header.items():
        if name == "__metadata__":
            continue
        start, end = entry["data_offsets"]
        tensor = TensorProto(
            name=name, data_type=STORED[entry["dtype"]], dims=entry["shape"], data_location=TensorProto.EXTERNAL
        )
        for key, value in (("location", file.name), ("offset", 8 + size + start), ("length", end - start)):
            tensor.external_data.add(key=key, value=str(value))
        found.append(tensor)
    return found


if __name__ == "__main__":
    for pair in BUNDLED_PAIRS:
        for role in ("target", "draft"):
            write_file(asset_path("models") / pair / role / NAME, bundled_graph(pair, role).SerializeToString())
