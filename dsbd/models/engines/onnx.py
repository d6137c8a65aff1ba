"""Runs forwards of Llama models in float32 on a CPU with ONNX Runtime, whose kernels keep the weights packed.

The cache stays where it is: its buffers are inputs of the graph, and what the graph returns is written behind the slots
in use.

*Source:* https://onnxruntime.ai; ``engines/onnx_graph.py``.
"""

from importlib.util import find_spec
from typing import Any

import torch

from dsbd.errors import first_line
from dsbd.models.cache import ForestCache
from dsbd.models.engines.fused import why_not_fused
from dsbd.models.language_model import LanguageModel, Masks

PACKAGES = ("onnx", "onnxruntime")
ONLY_ERRORS = 3


def why_not_onnx(model: LanguageModel) -> str | None:
    """Return why a model cannot run on ONNX Runtime; None if it can."""
    missing = [package for package in PACKAGES if find_spec(package) is None]
    if missing:
        return f"{' and '.join(missing)} not installed"
    if model.dtype != torch.float32 or model.device.type != "cpu":
        return "it computes float32 on a CPU only"
    return why_not_fused(model)


class OnnxForward:
    """The forward of one model. Several decodes may use it at the same time, each with its cache.

    Raises:
        RuntimeError: this version of ONNX Runtime or of onnx refuses the graph.
    """

    def __init__(self, model: LanguageModel) -> None:
        self._limit = model.vocabulary_limit
        try:
            self._session = self._opened(model)
        except Exception as error:  # its errors have no class in common
            raise RuntimeError(f"ONNX Runtime: {first_line(error)}") from None

    def _opened(self, model: LanguageModel) -> Any:
        import onnxruntime

        from dsbd.models.engines.onnx_graph import llama_graph

        proto, self._weights = llama_graph(model.model, model.new_cache())
        options = onnxruntime.SessionOptions()
        options.intra_op_num_threads = torch.get_num_threads()
        options.log_severity_level = ONLY_ERRORS
        options.add_session_config_entry("session.intra_op.allow_spinning", "0")  # it would slow torch's operations
        values = [onnxruntime.OrtValue.ortvalue_from_numpy(weight) for weight in self._weights.values()]
        options.add_external_initializers(list(self._weights), values)
        return onnxruntime.InferenceSession(proto.SerializeToString(), options, providers=["CPUExecutionProvider"])

    def run(self, tokens: torch.Tensor, positions: torch.Tensor, masks: Masks, cache: ForestCache) -> torch.Tensor:
        """Return logits [n, vocabulary] of tokens [n], appended to a cache that has room; masks [1, 1, n, slots]."""
        (mask,) = masks.values()
        used, end = cache.length, cache.length + tokens.numel()
        inputs = {
            "tokens": tokens.numpy(),
            "positions": positions[None].numpy(),
            "mask": mask[0, 0].contiguous().numpy(),
            "used": torch.tensor([used]).numpy(),
        }
        inputs |= {f"buffer{place}": buffer.numpy() for place, buffer in enumerate(cache.buffers)}
        logits, *new = self._session.run(None, inputs)
        for buffer, made in zip(cache.buffers, new, strict=True):
            buffer[:, :, :, used:end] = torch.from_numpy(made)
        cache.extend(tokens.numel())
        return torch.from_numpy(logits)[:, : self._limit]
