"""Makes Llamas so small that the exact law of a decode's final beams can be added up."""

import torch
from transformers import LlamaConfig, LlamaForCausalLM


def tiny_llama(words: int, end: int | None) -> LlamaForCausalLM:
    """Make a float64 model of ``words`` tokens; ``end`` is its end-of-sequence token."""
    config = LlamaConfig(
        vocab_size=words, hidden_size=16, intermediate_size=16, num_hidden_layers=2, num_attention_heads=2,
        max_position_embeddings=64, bos_token_id=None, eos_token_id=end,
    )  # fmt: skip
    return LlamaForCausalLM(config).double().eval()


def scattered(model: LlamaForCausalLM, spread: float, seed: int, wobble: float) -> LlamaForCausalLM:
    """Give the model random weights: those of torch's present seed, plus ``wobble`` times those of ``seed``.

    ``spread`` sets how peaked the next-token laws are, ``wobble`` how much models of different seeds differ.
    """
    weights = [weight for weight in model.parameters() if weight.dim() > 1]
    with torch.no_grad():
        for weight in weights:
            weight.normal_(0.0, spread)
        torch.manual_seed(seed)
        for weight in weights:
            weight += wobble * torch.randn_like(weight)
    return model
