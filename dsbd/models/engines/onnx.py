"""Runs forwards of plain models in float32 on a CPU with ONNX Runtime, whose kernels keep the weights packed.

The cache stays where it is: its buffers are inputs and outputs of the graph, which writes behind the slots in use.

*Source:* https://onnxruntime.ai; ``engines/onnx_graph.py``.
"""

from collections.abc import Sequence
from contextlib import nullcontext
from importlib.util import find_spec
from typing import Any

import numpy as np
import torch

from dsbd.errors import first_line
from dsbd.models.cache import ForestCache
from dsbd.models.engines.lanes import released
from dsbd.models.language_model import LanguageModel, Masks
from dsbd.models.states.forest import ForestState
from dsbd.models.states.recurrent import PathStates
from dsbd.util import CancelCheck
from dsbd.verification.beams import Node

PACKAGES = ("onnx", "onnxruntime")
ONLY_ERRORS = 3
HEAD_SIZES = 16
"""ONNX Runtime rotates and attends in one operator for multiples of this."""
STATIC_ROTATIONS = ("default", "linear", "llama3", "yarn")
FAMILIES = ("Llama", "Mistral", "Qwen2", "Qwen3", "Phi3")


def missing_packages() -> list[str]:
    """Return which packages the engine needs and does not find."""
    return [package for package in PACKAGES if find_spec(package) is None]


def why_not_onnx(model: LanguageModel) -> str | None:
    """Return why a model cannot run on ONNX Runtime; None if it can."""
    if model.dtype != torch.float32 or model.device.type != "cpu":
        return "it computes float32 on a CPU only"
    return why_no_graph(model)


def why_no_graph(model: LanguageModel) -> str | None:
    """Return why ONNX Runtime has no graph of a model, whatever its dtype; None if it can have one."""
    if missing := missing_packages():
        return f"{' and '.join(missing)} not installed"
    if type(model.model).__name__ not in [f"{family}ForCausalLM" for family in FAMILIES] or model.is_hooked:
        return f"only models of the families {', '.join(FAMILIES)} have a graph"
    if model.model.model.layers[0].self_attn.head_dim % HEAD_SIZES:
        return f"its heads have a size that is not a multiple of {HEAD_SIZES}"
    if len(model.windows) > 1 or (model.config.rope_parameters or {}).get("partial_rotary_factor", 1.0) != 1.0:
        return "it has layers of two kinds, or rotates a part of each head"
    if model.config.hidden_act != "silu":
        return "its block has another activation"
    if (model.config.rope_parameters or {}).get("rope_type", "default") not in STATIC_ROTATIONS:
        return "its rotation depends on the length of the text"
    if any(type(parameter.data) is not torch.Tensor for parameter in model.model.parameters()):
        return "its weights are quantised or spread"
    return None


class OnnxForward:
    """The forward of one model. Several decodes may use it at the same time, each bound to its cache.

    Raises:
        RuntimeError: this version of ONNX Runtime or of onnx refuses the graph.
    """

    has_lanes = False
    """Whether it serves several decodes at once."""

    def __init__(self, model: LanguageModel) -> None:
        self.vocabulary, self.limit = len(model.model.get_output_embeddings().weight), model.vocabulary_limit
        self._is_small = model.is_small
        try:
            import onnxruntime

            from dsbd.models.engines.onnx_graph import forward_graph

            proto, self._weights = forward_graph(model.model, model.weights, self.has_lanes)  # the session reads these
            options = onnxruntime.SessionOptions()
            options.intra_op_num_threads = 1 if model.is_small else torch.get_num_threads()
            options.log_severity_level = ONLY_ERRORS
            options.add_session_config_entry("session.force_spinning_stop", "1")  # between forwards cores are torch's
            values = [onnxruntime.OrtValue.ortvalue_from_numpy(weight) for weight in self._weights.values()]
            options.add_external_initializers(list(self._weights), values)
            graph = proto.SerializeToString()
            self.session: Any = onnxruntime.InferenceSession(graph, options, providers=["CPUExecutionProvider"])
        except Exception as error:  # its errors have no class in common
            raise RuntimeError(f"ONNX Runtime: {first_line(error)}") from None

    def bound_to(self, cache: ForestCache) -> Any:
        """Return a binding that reads and writes the present buffers of a cache, without a copy."""
        import onnxruntime

        binding = self.session.io_binding()
        for number, layer in enumerate(cache.kv_layers):
            for name, states in ((f"keys{number}", layer.keys), (f"values{number}", layer.values)):
                value = onnxruntime.OrtValue.ortvalue_from_numpy(states.numpy())
                binding.bind_ortvalue_input(name, value)
                binding.bind_ortvalue_output(f"new_{name}", value)
        return binding

    def run(self, binding: Any, inputs: dict[str, np.ndarray], count: int) -> torch.Tensor:
        """Run on a binding; return logits [count, vocabulary]."""
        for name, numbers in inputs.items():
            binding.bind_cpu_input(name, numbers)
        logits = torch.empty(count, self.vocabulary)
        binding.bind_output("logits", "cpu", 0, np.float32, logits.shape, logits.data_ptr())
        with nullcontext() if self._is_small else released():
            self.session.run_with_iobinding(binding)
        return logits[:, : self.limit]


class OnnxState(ForestState):
    """A state on ONNX Runtime. It reads the prompt too: then torch has nothing left to do in several threads."""

    _bound: list[torch.Tensor] | None = None

    def _store(self, tokens: torch.Tensor, positions: torch.Tensor) -> None:
        (window,) = self.model.windows.values()
        ahead = positions[:, None] - torch.arange(self.cache.length + tokens.numel())
        unseen = (ahead < 0) if window is None else (ahead < 0) | (ahead >= window)
        self._run(tokens, positions, torch.where(unseen, self._hidden, self._visible)[None, None], 1)

    def _logits(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks) -> torch.Tensor:
        self.cache.reserve(self._iteration_slots)
        ((kind, mask),) = masks.items()
        if self.cache.length or tokens.numel() == 1:
            return self._run(tokens, positions, mask, tokens.numel())
        first = self._run(tokens[:1], positions[:1], mask[:, :, :1, :1], 1)  # it counts the first positions itself
        return torch.cat([first, self._logits(tokens[1:], positions[1:], {kind: mask[:, :, 1:]})])

    def _run(self, tokens: torch.Tensor, positions: torch.Tensor, mask: torch.Tensor, count: int) -> torch.Tensor:
        """Append tokens [n], with a mask [1, 1, n, slots]. Returns logits [count, vocabulary] of the first."""
        forward = self.model.runner(OnnxForward)
        if self._bound is not self.cache.buffers:
            self._bound, self._binding = self.cache.buffers, forward.bound_to(self.cache)
        tensors = {"tokens": tokens, "positions": positions[None], "mask": mask.contiguous()}
        inputs = {name: tensor.numpy() for name, tensor in tensors.items()} | {"asked": np.arange(count)}
        logits = forward.run(self._binding, inputs, count)
        self.cache.extend(tokens.numel())
        return logits


class OnnxPathStates(PathStates):
    """Every path alone through the graph, for a model in eight bits: torch has only the float model behind it."""

    def _last_logits(self, paths: Sequence[list[int]]) -> torch.Tensor:
        logits, nothing = [], torch.empty(0, dtype=torch.int64)
        for path in paths:
            state, root = OnnxState(self.model, len(path), self._check), Node(None, -1, 0)
            state.prefill(path, root, self._prefix)
            state.begin([root], 0)
            logits.append(state.forward(nothing, nothing, ()))
            self.forwards += state.forwards
        return torch.cat(logits)


class Onnx:
    """The engine ``onnx``."""

    fallback = "traced"

    def why_not(self, model: LanguageModel) -> str | None:
        return why_not_onnx(model)

    def new_state(self, model: LanguageModel, slots: int, check: CancelCheck) -> ForestState:
        return OnnxState(model, slots, check)
