"""The members of a pair, as configurations and untrained models."""

from typing import Any

import torch
from transformers import LlamaConfig, LlamaForCausalLM

from training.tokenizer import CONTEXT_TOKENS


def model_config(layers: int, **sizes: Any) -> LlamaConfig:
    """Return the configuration of a pair member with `layers` layers; `sizes` are named as in ``LlamaConfig``."""
    sizes["attn_implementation"] = "eager"  # in bfloat16 on a CPU the backward of fused attention takes much longer
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
