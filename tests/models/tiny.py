"""Makes tiny models of several families from their configurations, with random weights."""

from functools import partial
from typing import Any

import torch
import transformers
from transformers import AutoModelForCausalLM

from dsbd.models.language_model import LanguageModel

VOCABULARY = 23
WINDOW = 5

_ENDS = {"vocab_size": VOCABULARY, "bos_token_id": 0, "eos_token_id": 1}
_ROPE = {"hidden_size": 16, "intermediate_size": 24, "num_hidden_layers": 2, "num_attention_heads": 4,
         "max_position_embeddings": 256, "pad_token_id": None, **_ENDS}  # fmt: skip
_GROUPED = {**_ROPE, "num_key_value_heads": 2, "head_dim": 16}
_ALTERNATING = {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"], "head_dim": 8}
_QWEN = {"use_sliding_window": True, "sliding_window": WINDOW, "max_window_layers": 1}

CONFIGS: dict[str, partial[Any]] = {
    "llama": partial(transformers.LlamaConfig, **_GROUPED),
    "qwen2": partial(transformers.Qwen2Config, **_GROUPED),
    "qwen2 windows": partial(transformers.Qwen2Config, **(_GROUPED | _QWEN)),
    "mistral windows": partial(transformers.MistralConfig, **{**_GROUPED, "sliding_window": WINDOW}),
    "qwen3": partial(transformers.Qwen3Config, **_GROUPED),
    "granite": partial(
        transformers.GraniteConfig,
        **_GROUPED,
        embedding_multiplier=1.7,
        residual_multiplier=0.6,
        attention_multiplier=0.4,
        logits_scaling=1.3,
        attention_bias=True,
    ),
    "phi3": partial(transformers.Phi3Config, **(_GROUPED | {"pad_token_id": 2})),
    "gemma2 windows": partial(transformers.Gemma2Config, **(_GROUPED | _ALTERNATING)),
    "gemma3 windows": partial(transformers.Gemma3TextConfig, **(_GROUPED | _ALTERNATING)),
    "gpt2": partial(transformers.GPT2Config, **{**_ENDS, "n_positions": 256, "n_embd": 16, "n_layer": 2, "n_head": 4}),
    "gpt_neox": partial(transformers.GPTNeoXConfig, **_ROPE),
    "opt": partial(transformers.OPTConfig, **{**_ROPE, "pad_token_id": 2, "ffn_dim": 24, "word_embed_proj_dim": 16}),
    "phi": partial(transformers.PhiConfig, **_ROPE),
}
FORESTS = list(CONFIGS)


def tiny_model(family: str, seed: int = 0, dtype: torch.dtype = torch.float64) -> LanguageModel:
    """Make a language model with weights large enough that its next-token laws differ."""
    attention = "eager" if family == "gemma2 windows" else "sdpa"
    torch.manual_seed(seed)
    model = AutoModelForCausalLM.from_config(CONFIGS[family](), attn_implementation=attention, trust_remote_code=False)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(0.0, 0.4)
    return LanguageModel(model.to(dtype).eval(), family)
