"""The tokenizer, an untrained target, a draft that begins as the target's first layers, and their folders."""

import copy
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, processors, trainers
from transformers import (
    AutoModelForCausalLM,
    AutoTokenizer,
    GenerationConfig,
    LlamaConfig,
    LlamaForCausalLM,
    PreTrainedTokenizerBase,
    PreTrainedTokenizerFast,
)

from training.corpus import SEPARATOR

CONTEXT_TOKENS = 2048
HEAD_SIZE = 64
SHARD_SIZE = "8MB"


def train_tokenizer(texts: Iterable[str], vocabulary_size: int) -> PreTrainedTokenizerFast:
    """Train a byte-level BPE; id 0 is `<|endoftext|>`, which is both BOS and EOS.

    There is no normaliser and all 256 bytes are in the alphabet, so decoding gives back the text that was encoded. BOS
    is prepended with `add_special_tokens=True`; EOS never is.
    """
    backend = Tokenizer(models.BPE())
    backend.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    backend.decoder = decoders.ByteLevel()
    trainer = trainers.BpeTrainer(
        vocab_size=vocabulary_size,
        special_tokens=[SEPARATOR],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    backend.train_from_iterator(texts, trainer)
    backend.post_processor = processors.TemplateProcessing(
        single=f"{SEPARATOR} $A",
        pair=f"{SEPARATOR} $A {SEPARATOR} $B",
        special_tokens=[(SEPARATOR, backend.token_to_id(SEPARATOR))],
    )
    return PreTrainedTokenizerFast(
        tokenizer_object=backend,
        bos_token=SEPARATOR,
        eos_token=SEPARATOR,
        clean_up_tokenization_spaces=False,
        add_prefix_space=False,
        model_max_length=CONTEXT_TOKENS,
    )


def new_target(vocabulary_size: int, layers: int, hidden_size: int, seed: int) -> LlamaForCausalLM:
    """Return an untrained Llama in float32 whose layers begin as the identity: what they add starts at zero."""
    heads = max(1, hidden_size // HEAD_SIZE)
    config = LlamaConfig(
        vocab_size=vocabulary_size,
        hidden_size=hidden_size,
        intermediate_size=-(-hidden_size * 8 // 48) * 16,  # 8/3 of the hidden size, in steps of 16
        num_hidden_layers=layers,
        num_attention_heads=heads,
        num_key_value_heads=max(1, heads // 2),
        head_dim=hidden_size // heads,
        max_position_embeddings=CONTEXT_TOKENS,
        tie_word_embeddings=True,
        bos_token_id=0,
        eos_token_id=0,
    )
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        model = LlamaForCausalLM._from_config(config, attn_implementation="eager")
    for layer in model.model.layers:
        torch.nn.init.zeros_(layer.self_attn.o_proj.weight)
        torch.nn.init.zeros_(layer.mlp.down_proj.weight)
    return model


def new_draft(target: Any, layers: int, seed: int) -> Any:
    """Return a model of the target's family with its first `layers` layers, its embeddings and its last norm."""
    config = copy.deepcopy(target.config)
    config.num_hidden_layers = layers
    if getattr(config, "layer_types", None):
        config.layer_types = config.layer_types[:layers]
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        draft = AutoModelForCausalLM.from_config(config, attn_implementation="eager", trust_remote_code=False)
    draft.load_state_dict(target.state_dict(), strict=False)
    return draft.to(target.device, torch.float32)


def load_model(folder: str, dtype: torch.dtype = torch.float32) -> tuple[Any, PreTrainedTokenizerBase]:
    """Return a causal language model and its tokenizer.

    Fused attention is slow to train in bfloat16 on a CPU, so attention is the plain one.
    """
    model = AutoModelForCausalLM.from_pretrained(
        folder, dtype=dtype, attn_implementation="eager", trust_remote_code=False
    )
    return model, AutoTokenizer.from_pretrained(folder, trust_remote_code=False)


def save_model(model: Any, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Write a model and its tokenizer as a Hugging Face folder: bfloat16, in small files that replace the old."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.safetensors*"):
        old.unlink()
    end = tokenizer.eos_token_id
    model.generation_config = GenerationConfig(bos_token_id=tokenizer.bos_token_id, eos_token_id=end, pad_token_id=end)
    model.bfloat16().save_pretrained(folder, max_shard_size=SHARD_SIZE)
    tokenizer.save_pretrained(folder)
