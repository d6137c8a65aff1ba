"""Makes tiny models of several families from their configurations, with random weights."""

from typing import Any

import torch
from transformers import (
    AutoModelForCausalLM,
    BloomConfig,
    Gemma2Config,
    Gemma3TextConfig,
    GPT2Config,
    GPTNeoXConfig,
    LlamaConfig,
    MistralConfig,
    MptConfig,
    OPTConfig,
    PhiConfig,
    Qwen2Config,
)

from dsbd.models.language_model import LanguageModel

VOCABULARY = 23
WINDOW = 5

_ROPE = {
    "vocab_size": VOCABULARY,
    "hidden_size": 16,
    "intermediate_size": 24,
    "num_hidden_layers": 2,
    "num_attention_heads": 4,
    "max_position_embeddings": 256,
    "bos_token_id": 0,
    "eos_token_id": 1,
    "pad_token_id": None,
}
_GROUPED = {**_ROPE, "num_key_value_heads": 2}
_ALTERNATING = {"sliding_window": WINDOW, "layer_types": ["sliding_attention", "full_attention"], "head_dim": 8}

CONFIGS: dict[str, Any] = {
    "llama": lambda: LlamaConfig(**_GROUPED),
    "qwen2": lambda: Qwen2Config(**_GROUPED),
    "qwen2 windows": lambda: Qwen2Config(
        **_GROUPED, use_sliding_window=True, sliding_window=WINDOW, max_window_layers=1
    ),
    "mistral windows": lambda: MistralConfig(**_GROUPED, sliding_window=WINDOW),
    "gemma2 windows": lambda: Gemma2Config(**_GROUPED, **_ALTERNATING),
    "gemma3 windows": lambda: Gemma3TextConfig(**_GROUPED, **_ALTERNATING),
    "gpt2": lambda: GPT2Config(
        vocab_size=VOCABULARY, n_positions=256, n_embd=16, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=1
    ),
    "gpt_neox": lambda: GPTNeoXConfig(**_ROPE),
    "opt": lambda: OPTConfig(**{**_ROPE, "pad_token_id": 2}, ffn_dim=24, word_embed_proj_dim=16),
    "phi": lambda: PhiConfig(**_ROPE),
    "bloom": lambda: BloomConfig(
        vocab_size=VOCABULARY, hidden_size=16, n_layer=2, n_head=4, bos_token_id=0, eos_token_id=1
    ),
    "mpt": lambda: MptConfig(
        vocab_size=VOCABULARY, d_model=16, n_layers=2, n_heads=4, max_seq_len=256, bos_token_id=0, eos_token_id=1
    ),
}
ALIBI = ("bloom", "mpt")
FORESTS = [name for name in CONFIGS if name not in ALIBI]


def tiny_model(family: str, seed: int = 0, dtype: torch.dtype = torch.float64) -> LanguageModel:
    """Make a language model with weights large enough that its next-token laws differ."""
    config = CONFIGS[family]()
    attention = "eager" if family.startswith("gemma2") else "sdpa"
    torch.manual_seed(seed)
    try:
        model = AutoModelForCausalLM.from_config(config, attn_implementation=attention, trust_remote_code=False)
    except ValueError:
        model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", trust_remote_code=False)
    with torch.no_grad():
        for weight in model.parameters():
            if weight.dim() > 1:
                weight.normal_(0.0, 0.4)
    return LanguageModel(model.to(dtype).eval(), family)
