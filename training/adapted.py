"""Low-rank additions to a model's linear layers while they are trained: the model itself stays as it is."""

import math
from types import SimpleNamespace
from typing import Any

import torch
from transformers import LlamaForCausalLM

from dsbd.memory.files import LowRank

ATTENTION = ("q_proj", "k_proj", "v_proj", "o_proj")
FEED_FORWARD = ("gate_proj", "up_proj", "down_proj")


class Adapters(torch.nn.Module):
    """A pair of narrow matrices for each linear layer of a Llama model's blocks; their product begins as zero."""

    def __init__(self, model: LlamaForCausalLM, rank: int) -> None:
        super().__init__()
        self._model = [model]  # in a list: its weights are not ours
        self.up, self.down = torch.nn.ParameterDict(), torch.nn.ParameterDict()
        for name, linear in model.named_modules():
            if name.rpartition(".")[2] in (*ATTENTION, *FEED_FORWARD):
                outputs, inputs = linear.weight.shape
                self.up[_key(name)] = torch.nn.Parameter(torch.zeros(outputs, rank))
                self.down[_key(name)] = torch.nn.Parameter(torch.randn(rank, inputs) / math.sqrt(inputs))

    def low_ranks(self) -> dict[str, LowRank]:
        """Return {name of a linear layer: what is added to it}."""
        return {key.replace(":", "."): LowRank(self.up[key].detach(), self.down[key].detach()) for key in self.up}

    def layers(self) -> list[Any]:
        """Return stand-ins for the model's blocks, with the sums as weights; gradients flow to the narrow matrices."""
        return [
            self._layer(f"model.layers.{number}", layer) for number, layer in enumerate(self._model[0].model.layers)
        ]

    def _layer(self, name: str, layer: Any) -> SimpleNamespace:
        attention = {each: self._linear(f"{name}.self_attn.{each}", layer.self_attn) for each in ATTENTION}
        forward = {each: self._linear(f"{name}.mlp.{each}", layer.mlp) for each in FEED_FORWARD}
        return SimpleNamespace(
            input_layernorm=layer.input_layernorm,
            post_attention_layernorm=layer.post_attention_layernorm,
            self_attn=SimpleNamespace(head_dim=layer.self_attn.head_dim, **attention),
            mlp=SimpleNamespace(**forward),
        )

    def _linear(self, name: str, parent: Any) -> SimpleNamespace:
        weight = getattr(parent, name.rpartition(".")[2]).weight
        return SimpleNamespace(weight=weight + (self.up[_key(name)] @ self.down[_key(name)]).to(weight.dtype))


def _key(name: str) -> str:
    return name.replace(".", ":")  # a name in a ParameterDict has no dot
