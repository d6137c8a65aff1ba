"""Builds twins: Llamas with the shape and cost of a larger model that compute the function of a small one.

A twin computes the small model's logits, up to rounding, with weights of another size. So decoding it costs as much as
a real model of that size, and drafts are accepted as often as with the small pair. Nothing is downloaded.

    python -m benchmarks.twin --twins target-0.3B --folder twins
    python -m dsbd bench --target twins/target-0.3B --draft assets/models/stories/draft

Why the function stays the same (d, d' are the hidden sizes):
- the residual stream is padded with zeros, so its mean square is d/d' of the original: norm weights become
  weight * sqrt(d/d') and the epsilon eps * d/d';
- additional heads (of the same size, because rotation and scale depend on it), feed-forward units and layers have
  random weights, but what they write to the residual stream is multiplied by zero;
- if the twin has fewer queries per key than the original, keys and values are repeated.
The vocabulary stays as it is, because zero rows in the head would take probability. It is small, so a twin's head and
its sampling cost less than those of a real model of that size.
"""

import argparse
import copy
import math
from dataclasses import dataclass
from pathlib import Path

import torch
from transformers import AutoTokenizer, LlamaConfig, LlamaForCausalLM
from transformers.models.llama.modeling_llama import LlamaRotaryEmbedding
from transformers.utils import logging as transformers_logging

from dsbd.assets import asset_path

SPREAD = 0.02


@dataclass(frozen=True)
class Shape:
    """The sizes of a Llama whose heads have the original's size."""

    hidden_size: int
    intermediate_size: int
    layers: int
    heads: int
    key_value_heads: int


SHAPES = {
    "tiny": Shape(512, 1024, 18, 8, 4),
    "68M": Shape(1024, 4096, 4, 16, 8),
    "0.3B": Shape(1024, 4096, 20, 16, 8),
    "0.5B": Shape(2048, 8192, 8, 32, 8),
    "1B": Shape(2048, 8192, 16, 32, 8),
    "8B": Shape(4096, 14336, 32, 64, 16),
    "13B": Shape(5120, 13824, 40, 80, 80),
}
"""Heads have size 64. If the real model has heads of 128 (8B, 13B), the twin has twice as many, so that keys and
values take as many bytes."""


def twin_config(original: LlamaConfig, shape: Shape) -> LlamaConfig:
    """Return the configuration of a twin.

    Raises:
        ValueError: the shape is smaller than the original somewhere, or has no place for its heads.
    """
    heads, key_value_heads, size = _heads(original)
    needed = key_value_heads * math.ceil(heads // key_value_heads / (shape.heads // shape.key_value_heads))
    least = {
        "hidden_size": (shape.hidden_size, original.hidden_size),
        "intermediate_size": (shape.intermediate_size, original.intermediate_size),
        "layers": (shape.layers, original.num_hidden_layers),
        "heads": (shape.heads, heads),
        "key_value_heads": (shape.key_value_heads, needed),
    }
    for name, (value, smallest) in least.items():
        if value < smallest:
            raise ValueError(f"{name} is {value}; the original needs at least {smallest}: choose a larger shape")
    config = copy.deepcopy(original)
    config.num_hidden_layers = shape.layers
    config.hidden_size, config.intermediate_size = shape.hidden_size, shape.intermediate_size
    config.num_attention_heads, config.num_key_value_heads = shape.heads, shape.key_value_heads
    config.head_dim = size
    config.rms_norm_eps = original.rms_norm_eps * original.hidden_size / shape.hidden_size
    return config


def make_twin(
    original: LlamaForCausalLM,
    shape: Shape,
    dtype: torch.dtype | None = None,
    device: torch.device | str = "cpu",
    seed: int = 0,
) -> LlamaForCausalLM:
    """Build a Llama of this shape that computes the original's logits.

    Args:
        original: a Llama without biases.
        shape: at least as large everywhere.
        dtype: of the twin; None is the original's. Its weights are rounded to it once.
        device: where it is built.
        seed: of the weights that have no effect.

    Raises:
        ValueError: the shape is too small for the original.
    """
    config = twin_config(original.config, shape)
    with torch.device("meta"):
        twin = LlamaForCausalLM(config)
    twin = twin.to(dtype=dtype or original.dtype).to_empty(device=device)  # type: ignore[call-arg]
    twin.model.rotary_emb = LlamaRotaryEmbedding(config=config).to(device)
    twin.tie_weights()
    generator = torch.Generator(device).manual_seed(seed)
    with torch.no_grad():
        _fill(twin, generator)
        _place(twin, original)
    twin.generation_config = copy.deepcopy(original.generation_config)
    return twin.eval()


def _fill(twin: LlamaForCausalLM, generator: torch.Generator) -> None:
    """Set random weights everywhere, and zeros where something would be written to the residual stream."""
    for name, weight in twin.named_parameters():
        if name.endswith(("o_proj.weight", "down_proj.weight", "embed_tokens.weight", "lm_head.weight")):
            weight.zero_()
        elif weight.dim() == 1:
            weight.fill_(1.0)
        else:
            weight.normal_(0.0, SPREAD, generator=generator)


def _place(twin: LlamaForCausalLM, original: LlamaForCausalLM) -> None:
    """Copy the original's weights into the first places of the twin's."""
    width, wide = original.config.hidden_size, twin.config.hidden_size
    shrink = math.sqrt(width / wide)
    _corner(twin.model.embed_tokens.weight, original.model.embed_tokens.weight)
    if twin.lm_head.weight is not twin.model.embed_tokens.weight:
        _corner(twin.lm_head.weight, original.lm_head.weight)
    _corner(twin.model.norm.weight, original.model.norm.weight.double() * shrink)
    queries, keys = _head_places(original.config, twin.config)
    _, _, size = _heads(original.config)
    for ours, theirs in zip(twin.model.layers, original.model.layers, strict=False):
        for name in ("input_layernorm", "post_attention_layernorm"):
            _corner(getattr(ours, name).weight, getattr(theirs, name).weight.double() * shrink)
        for name in ("gate_proj", "up_proj", "down_proj"):
            _corner(getattr(ours.mlp, name).weight, getattr(theirs.mlp, name).weight)
        for place, head in enumerate(queries):
            rows, source = slice(head * size, (head + 1) * size), slice(place * size, (place + 1) * size)
            ours.self_attn.q_proj.weight[rows, :width] = theirs.self_attn.q_proj.weight[source].to(twin.dtype)
            ours.self_attn.o_proj.weight[:width, rows] = theirs.self_attn.o_proj.weight[:, source].to(twin.dtype)
        for head, place in keys.items():
            rows, source = slice(head * size, (head + 1) * size), slice(place * size, (place + 1) * size)
            ours.self_attn.k_proj.weight[rows, :width] = theirs.self_attn.k_proj.weight[source].to(twin.dtype)
            ours.self_attn.v_proj.weight[rows, :width] = theirs.self_attn.v_proj.weight[source].to(twin.dtype)


def _head_places(original: LlamaConfig, twin: LlamaConfig) -> tuple[list[int], dict[int, int]]:
    """Return the place of each original query head, and the original key-value head of each one used in the twin."""
    heads, key_value_heads, _ = _heads(original)
    wide_heads, wide_key_value_heads, _ = _heads(twin)
    group, wide = heads // key_value_heads, wide_heads // wide_key_value_heads
    queries, keys = [], dict[int, int]()
    for pair in range(key_value_heads):
        for start in range(0, group, wide):
            place = len(keys)
            keys[place] = pair
            queries += [place * wide + one for one in range(min(wide, group - start))]
    return queries, keys


def _corner(weight: torch.Tensor, source: torch.Tensor) -> None:
    """Write a smaller tensor into the first places of a larger one."""
    weight[tuple(slice(size) for size in source.shape)] = source.to(weight)


def _heads(config: LlamaConfig) -> tuple[int, int, int]:
    """Return the number of query heads and of key-value heads, and their size."""
    heads = int(config.num_attention_heads)
    return heads, int(config.num_key_value_heads or heads), int(config.head_dim or config.hidden_size // heads)


def build_twin(role: str, size: str, folder: Path, device: str = "cpu") -> Path:
    """Write the bfloat16 twin of a bundled model with its tokenizer as an ordinary folder, unless it is there already.

    Args:
        role: ``target`` or ``draft``.
        size: of :data:`SHAPES`.
        folder: where to.
        device: where it is built.
    """
    transformers_logging.disable_progress_bar()
    if not (folder / "config.json").is_file():
        source = asset_path(f"models/stories/{role}")
        original = LlamaForCausalLM.from_pretrained(source, dtype=torch.bfloat16)
        twin = make_twin(original, SHAPES[size], torch.bfloat16, device)
        AutoTokenizer.from_pretrained(source, trust_remote_code=False).save_pretrained(folder)
        twin.save_pretrained(folder)
    return folder


def main() -> None:
    parser = argparse.ArgumentParser(description="Write twins of the bundled pair")
    parser.add_argument("--twins", default="target-8B", metavar="LIST", help=f"ROLE-SIZE; sizes: {', '.join(SHAPES)}")
    parser.add_argument("--folder", type=Path, required=True, metavar="DIR", help="the twins become folders in it")
    parser.add_argument("--device", default="cpu", help="where they are built")
    asked = parser.parse_args()
    for name in asked.twins.split(","):
        print(build_twin(*name.split("-"), asked.folder / name, asked.device))


if __name__ == "__main__":
    main()
