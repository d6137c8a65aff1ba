"""Tiny random models of every causal family that transformers offers, and what a decode of each gives.

    python -m tests.models.families          writes the tables of docs/families.md

A family's own configuration is made small by the names of its fields; what that does not fit is in ``OWN``.
"""

import copy
import re
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from dsbd.decoder import iterations
from dsbd.law.beams import Node
from dsbd.methods import resolve
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from dsbd.models.quiet import without_warnings
from dsbd.observer import RunStart
from dsbd.settings import DecodingSettings

PAGE = Path(__file__).resolve().parents[2] / "docs/families.md"
BLOCK = re.compile(r"<!-- families -->\n.*?<!-- /families -->", re.S)
VOCABULARY, WINDOW = 23, 5
PROMPT = [5, 9, 3, 17, 8, 5, 20, 11, 14]  # longer than a window
NEW_TOKENS = 7
SETTINGS = DecodingSettings(
    temperature=0.0, max_new_tokens=NEW_TOKENS, draft_depth=2, draft_width=3, min_width=1, max_width=1, seed=1
)
CLEAR = 1e-4
"""The least gap between the best two logits for which a test's ids are certain: rounding is some 1e-6."""
SMALL: dict[str, Any] = (
    dict.fromkeys(("hidden_size", "d_model", "n_embd", "emb_dim", "lru_width", "attention_hidden_size"), 16)
    | dict.fromkeys(("embedding_size", "input_embedding_size", "output_embedding_size"), 16)
    | dict.fromkeys(("intermediate_size", "ffn_dim", "n_inner", "d_inner", "dff", "decoder_ffn_dim"), 24)
    | dict.fromkeys(("encoder_ffn_dim", "dim_ff", "ffn_hidden_size"), 24)
    | dict.fromkeys(("num_hidden_layers", "n_layer", "num_layers", "n_layers", "decoder_layers", "encoder_layers"), 2)
    | dict.fromkeys(("num_attention_heads", "n_head", "n_heads", "num_heads", "decoder_attention_heads"), 4)
    | dict.fromkeys(("encoder_attention_heads", "attention_head_size", "head_dim"), 4)
    | dict.fromkeys(("num_key_value_heads", "num_kv_heads"), 2)
    | dict.fromkeys(
        ("max_position_embeddings", "n_positions", "max_seq_len", "context_length", "model_max_length"), 256
    )
    | dict.fromkeys(("sliding_window", "window_size", "sliding_window_size"), WINDOW)
    | dict.fromkeys(("attention_chunk_size", "attention_window_size"), WINDOW)
    | dict.fromkeys(("num_experts", "num_local_experts", "n_routed_experts", "moe_num_experts"), 4)
    | dict.fromkeys(("num_experts_per_tok", "num_experts_per_token", "moe_topk", "moe_k"), 2)
    | dict.fromkeys(("moe_intermediate_size", "shared_expert_intermediate_size", "expert_ffn_hidden_size"), 8)
    | dict.fromkeys(("shared_intermediate_size", "moe_shared_expert_intermediate_size", "router_hidden_size"), 8)
    | dict.fromkeys(("n_group", "topk_group", "num_mem_blocks", "mamba_ngroups"), 1)
    | dict.fromkeys(("q_lora_rank", "kv_lora_rank", "pronunciation_embed_dim", "shape_embed_dim"), 8)
    | dict.fromkeys(("qk_rope_head_dim", "qk_nope_head_dim", "v_head_dim", "rotary_dim", "adapter_rank"), 4)
    | dict.fromkeys(("index_head_dim", "hidden_size_per_layer_input", "kv_channels", "num_query_groups"), 4)
    | dict.fromkeys(("index_topk", "index_n_heads"), 8)
    | dict.fromkeys(("linear_key_head_dim", "linear_value_head_dim", "linear_head_dim"), 4)
    | dict.fromkeys(("linear_num_value_heads", "linear_num_heads", "mamba_n_heads", "mamba_num_heads"), 4)
    | dict.fromkeys(("linear_num_key_heads", "n_groups", "n_mamba_heads"), 2)
    | dict.fromkeys(("mamba_d_state", "state_size", "ssm_state_size", "mamba_dt_rank"), 4)
    | dict.fromkeys(("mamba_d_head", "mamba_head_dim", "mamba_headdim", "attention_head_dim"), 8)
    | dict.fromkeys(("mamba_chunk_size", "chunk_size"), 8)
    | dict.fromkeys(("mamba_d_conv", "conv_kernel", "linear_conv_kernel_dim", "conv_kernel_size", "conv_L_cache"), 3)
    | dict.fromkeys(("vocab_size", "vocab_size_per_layer_input"), VOCABULARY)
    | dict.fromkeys(("pronunciation_vocab_size", "shape_vocab_size"), VOCABULARY)
    | {"mamba_d_ssm": 32, "bos_token_id": 0, "eos_token_id": 1, "pad_token_id": 2, "is_decoder": True}
)
"""The value of a field in every family that has it."""

_MIXED = {"layer_types": ["linear_attention", "full_attention"]}
OWN: dict[str, dict[str, Any]] = {
    "bailing_hybrid": _MIXED,
    "bamba": {"attn_layer_indices": [1]},
    "dbrx": {
        "attn_config": {"rope_theta": 10000.0, "kv_n_heads": 2, "clip_qkv": 8.0},
        "ffn_config": {"hidden_size": 16, "ffn_hidden_size": 8},
    },
    "cohere_compass_text": {"rope_parameters": {"full_attention": {"rope_type": "default", "rope_theta": 10000.0}}},
    "dots1": {"n_shared_experts": 1, "n_routed_experts": 4},
    "gemma3n_text": {
        "num_kv_shared_layers": 0,
        "activation_sparsity_pattern": [0.0, 0.0],
        "layer_types": ["sliding_attention", "full_attention"],
    },
    "gpt_neo": {"attention_types": [[["global", "local"], 1]]},
    "granitemoehybrid": _MIXED,
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "kimi_linear": _MIXED,
    "lfm2": {"layer_types": ["conv", "full_attention"]},
    "lfm2_moe": {"layer_types": ["conv", "full_attention"], "num_dense_layers": 1},
    "lfm3": {"layer_types": ["conv", "full_attention"]},
    "mamba2": {"num_heads": 4, "head_dim": 8},
    "qwen3_5_moe_text": _MIXED,
    "qwen3_5_text": _MIXED,
    "qwen3_next": _MIXED,
    "qwen4_exp_text": {
        "layer_types": ["linear_attention", "indexed_attention"],
        "indexer_n_heads": 2,
        "indexer_kv_heads": 1,
        "indexer_head_dim": 4,
        "indexer_budget": 8,
        "indexer_compress_ratio": 2,
    },
    "recurrent_gemma": {"block_types": ["recurrent", "attention"]},
    "reformer": {"attn_layers": ["local", "lsh"], "axial_pos_embds": False},
    "xlstm": {"hidden_size": 64, "num_heads": 2, "qk_dim_factor": 1.0},
    "zamba": {
        "attention_hidden_size": 32,
        "num_hidden_layers": 4,
        "layers_block_type": ["linear_attention", "hybrid"] * 2,
    },
    "zamba2": {"attention_hidden_size": 32, "n_mamba_heads": 4, "layers_block_type": ["linear_attention", "hybrid"]},
    "zaya": {"num_experts_per_tok": 1},
}
"""Fields of one family."""

_IMAGES = "takes images or sound beside text; only text models are run"
_HEADS = "drafts from the hidden states of its target, and is no model by itself"
_ENCODER = "decodes what an encoder hears or reads, which a prompt of tokens is not"
LEFT_OUT = {
    "blt": "takes bytes in patches that a second model cuts",
    "cpmant": "sees later tokens, and is refused at load",
    "dots3_note": _IMAGES,
    "gemma3": _IMAGES,
    "gemma3n": _IMAGES,
    "gemma4": _IMAGES,
    "gemma4_assistant": _HEADS,
    "gemma4_unified": _IMAGES,
    "gemma4_unified_assistant": _HEADS,
    "git": _IMAGES,
    "got_ocr2": _IMAGES,
    "moshi": "`generate` of transformers gives other ids with its cache than without",
    "moss_transcribe_diarize": _IMAGES,
    "musicgen": _ENCODER,
    "musicgen_melody": _ENCODER,
    "phi4_multimodal": _IMAGES,
    "prophetnet": "`generate` of transformers fails on it: its positions are refused",
    "xlm": "predicts at a mask token behind the text, so it is not causal",
    "xlnet": "predicts at a mask token behind the text, so it is not causal",
}
"""Families that are not run, and why."""
VARIANTS = {"falcon alibi": ("falcon", {"alibi": True})}
"""Kinds of a family that keep positions in another way."""
SINGLE = {"inkling_text", "inkling2_text", "xglm"}
"""Families with parts that compute in float32 only."""


class Decoded(NamedTuple):
    """What a family decodes."""

    ids: list[int]
    """By this package, temperature 0, width 1."""
    expected: list[int]
    """By ``generate(do_sample=False)`` of transformers."""
    gap: float
    """The least gap between the best two logits on the way."""
    pair: Pair


def families() -> list[str]:
    """Return the families and variants that are run, by name."""
    kinds = CONFIG_MAPPING_NAMES.items()  # by name: the configurations themselves take seconds to import
    offered = {kind: name for name, kind in kinds if name in MODEL_FOR_CAUSAL_LM_MAPPING_NAMES}
    return sorted({*offered.values(), *VARIANTS} - {*LEFT_OUT})


def decoded(name: str) -> Decoded:
    """Decode with a tiny random target of this family and a draft that is nearly the same, and as transformers does."""
    with without_warnings, torch.inference_mode():  # configurations of this size are warned about
        target = tiny_model(name)
        draft = copy.deepcopy(target)
        for place, weight in enumerate(draft.parameters()):
            noise = torch.Generator().manual_seed(place)
            weight.add_(0.02 * torch.randn(weight.shape, generator=noise, dtype=weight.dtype))
        told = target.generate(
            torch.tensor([PROMPT]), attention_mask=torch.ones(1, len(PROMPT), dtype=torch.int64), do_sample=False,
            num_beams=1, max_new_tokens=NEW_TOKENS, return_dict_in_generate=True, output_logits=True,
        )  # fmt: skip
        best = torch.stack(told.logits)[:, 0].topk(2).values
        pair = make_pair(LanguageModel(target, name), LanguageModel(draft, name), _Ids())
        start = RunStart(pair, "", PROMPT, resolve(SETTINGS), Node(None, -1, 0))
        *_, last = iterations(start)
        ids = last.result.token_ids
        return Decoded(ids, told.sequences[0, len(PROMPT) :].tolist(), float((best[:, 0] - best[:, 1]).min()), pair)


def tiny_model(name: str) -> Any:
    """Make a model of this family with weights large enough that its next-token laws differ."""
    family, more = VARIANTS.get(name, (name, {}))
    config = _tiny(CONFIG_MAPPING[family], {**OWN.get(family, {}), **more})
    torch.manual_seed(0)
    try:
        model = AutoModelForCausalLM.from_config(
            config, attn_implementation="sdpa", experts_implementation="eager", trust_remote_code=False
        )
    except ValueError:
        model = AutoModelForCausalLM.from_config(
            config, attn_implementation="eager", experts_implementation="eager", trust_remote_code=False
        )
    for weight in model.parameters():
        if weight.dim() > 1:
            weight.data.normal_(0.0, 0.4)
    if hasattr(model, "set_default_language"):
        model.set_default_language("en_XX")
    model.generation_config.eos_token_id = model.generation_config.forced_eos_token_id = None
    model.generation_config.pad_token_id = SMALL["pad_token_id"]
    return model.to(torch.float32 if family in SINGLE else torch.float64).eval()


def _tiny(kind: Any, own: dict[str, Any]) -> Any:
    """Return a configuration of this class with small values for the fields that it has."""
    usual = kind()
    fields = usual.to_dict()
    kept = {field: value for field, value in SMALL.items() if field in fields} | own
    if "kv_lora_rank" in fields and "num_key_value_heads" in fields:
        kept["num_key_value_heads"] = kept["num_attention_heads"]
    if "text_config" in getattr(kind, "sub_configs", {}):
        text = type(usual.text_config)
        kept["text_config"] = _tiny(text, OWN.get(text.model_type, {})).to_dict()
    for other, field in getattr(kind, "attribute_map", {}).items():
        if field in kept:
            kept.pop(other, None)
    return kind(**kept)


def tables(ways: Mapping[str, str]) -> str:
    """Return the two tables of the page: the families of each way, and those that are left out."""
    rows = ["| families | way |", "| --- | --- |"]
    for way in ("forest", "states", "steps", "paths"):
        names = [name for name, found in sorted(ways.items()) if found == way]
        rows += [f"| {', '.join(names)} | `{way}` |"] if names else []
    rows += ["", "| not run | why |", "| --- | --- |"]
    for why in dict.fromkeys(LEFT_OUT.values()):
        rows.append(f"| {', '.join(name for name, reason in LEFT_OUT.items() if reason == why)} | {why} |")
    return "\n".join(rows)


def told_ways() -> dict[str, str]:
    """Return the way of each family as the page tells it."""
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| `(\w+)` \|$", text, re.M)
    return {name: way for names, way in rows for name in names.split(", ")}


class _Ids:
    """Stands for a tokenizer: the prompts are ids already."""

    eos_token_id = None

    def decode(self, ids: list[int], **how: Any) -> str:
        return " ".join(map(str, ids))


def main() -> None:
    """Decode with every family and write the tables; end with an error if one decodes otherwise than transformers."""
    ways = {}
    for name in families():
        found = decoded(name)
        ways[name] = found.pair.target.attention
        print(f"{name}: {ways[name]}", file=sys.stderr, flush=True)
        if found.ids != found.expected:
            raise SystemExit(f"{name}: {found.ids} instead of {found.expected}")
    text = PAGE.read_text(encoding="utf-8")
    PAGE.write_text(
        BLOCK.sub(lambda _: f"<!-- families -->\n{tables(ways)}\n<!-- /families -->", text), encoding="utf-8"
    )


if __name__ == "__main__":
    main()
