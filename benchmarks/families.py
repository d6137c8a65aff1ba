"""Decodes with a tiny random model of every causal family that transformers offers, and writes docs/families.md.

    python -m benchmarks.families

It takes minutes, so the tests run a few families only. A family's configuration is made small by the names of its
fields; ``OWN`` has the exceptions. Exit code 1: a family does not decode the ids of transformers.
"""

import copy
import re
from collections.abc import Mapping
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from dsbd.decoder import iterations
from dsbd.methods import resolve
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from dsbd.models.quiet import without_warnings
from dsbd.session import RunStart
from dsbd.settings import DecodingSettings

PAGE = Path(__file__).resolve().parents[1] / "docs/families.md"
BLOCK = re.compile(r"<!-- families -->\n.*?<!-- /families -->", re.S)
VOCABULARY, WINDOW = 23, 5
PROMPT = [5, 9, 3, 17, 8, 5, 20, 11, 14]  # longer than a window
NEW_TOKENS = 7
SETTINGS = DecodingSettings(
    temperature=0.0, max_new_tokens=NEW_TOKENS, draft_depth=2, draft_width=3, min_width=1, max_width=1, seed=1
)
CLEAR = 1e-4
"""The least gap between the best two logits for which ids are certain: rounding is about 1e-6."""
SMALL: dict[str, Any] = {
    name: value
    for value, names in {
        1: "n_group topk_group num_mem_blocks mamba_ngroups eos_token_id",
        2: "num_hidden_layers n_layer num_layers n_layers decoder_layers encoder_layers num_key_value_heads "
        "num_kv_heads num_experts_per_tok num_experts_per_token moe_topk moe_k linear_num_key_heads n_groups "
        "n_mamba_heads pad_token_id",
        3: "mamba_d_conv conv_kernel linear_conv_kernel_dim conv_kernel_size conv_L_cache",
        4: "num_attention_heads n_head n_heads num_heads decoder_attention_heads encoder_attention_heads head_dim "
        "attention_head_size num_experts num_local_experts n_routed_experts moe_num_experts qk_rope_head_dim "
        "qk_nope_head_dim v_head_dim rotary_dim adapter_rank index_head_dim hidden_size_per_layer_input kv_channels "
        "num_query_groups linear_key_head_dim linear_value_head_dim linear_head_dim linear_num_value_heads "
        "linear_num_heads mamba_n_heads mamba_num_heads mamba_d_state state_size ssm_state_size mamba_dt_rank",
        WINDOW: "sliding_window window_size sliding_window_size attention_chunk_size attention_window_size",
        8: "moe_intermediate_size shared_expert_intermediate_size expert_ffn_hidden_size shared_intermediate_size "
        "moe_shared_expert_intermediate_size router_hidden_size q_lora_rank kv_lora_rank pronunciation_embed_dim "
        "shape_embed_dim index_topk index_n_heads mamba_d_head mamba_head_dim mamba_headdim attention_head_dim "
        "mamba_chunk_size chunk_size",
        16: "hidden_size d_model n_embd emb_dim lru_width attention_hidden_size embedding_size input_embedding_size "
        "output_embedding_size",
        VOCABULARY: "vocab_size vocab_size_per_layer_input pronunciation_vocab_size shape_vocab_size",
        24: "intermediate_size ffn_dim n_inner d_inner dff decoder_ffn_dim encoder_ffn_dim dim_ff ffn_hidden_size",
        32: "mamba_d_ssm",
        256: "max_position_embeddings n_positions max_seq_len context_length model_max_length",
    }.items()
    for name in names.split()
} | {"bos_token_id": 0, "is_decoder": True}
"""The value of a field in every family that has it."""

_MIXED = {"layer_types": ["linear_attention", "full_attention"]}
_CONVOLVED = {"layer_types": ["conv", "full_attention"]}
OWN: dict[str, dict[str, Any]] = {
    **dict.fromkeys(("bailing_hybrid", "granitemoehybrid", "kimi_linear", "qwen3_next"), _MIXED),
    **dict.fromkeys(("qwen3_5_moe_text", "qwen3_5_text"), _MIXED),
    **dict.fromkeys(("lfm2", "lfm3"), _CONVOLVED),
    "lfm2_moe": {**_CONVOLVED, "num_dense_layers": 1},
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
    "jamba": {"attn_layer_period": 2, "attn_layer_offset": 1},
    "mamba2": {"num_heads": 4, "head_dim": 8},
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

LEFT_OUT = {
    "takes bytes in patches that a second model cuts": "blt",
    "sees later tokens, and is refused at load": "cpmant",
    "takes images or sound beside text; only text models are run": "dots3_note, gemma3, gemma3n, gemma4, "
    "gemma4_unified, git, got_ocr2, moss_transcribe_diarize, phi4_multimodal",
    "drafts from the hidden states of its target, and is not a separate model": "gemma4_assistant, "
    "gemma4_unified_assistant",
    "`generate` of transformers gives other ids with its cache than without": "moshi",
    "decodes what an encoder hears or reads, which a prompt of tokens is not": "musicgen, musicgen_melody",
    "`generate` of transformers fails on it: its positions are refused": "prophetnet",
    "predicts at a mask token behind the text, so it is not causal": "xlm, xlnet",
}
"""Families that are not run, by the reason."""
VARIANTS = {"falcon alibi": ("falcon", {"alibi": True})}
"""Variants that keep positions in another way."""
SINGLE = {"inkling_text", "inkling2_text", "xglm"}
"""Families with parts that compute only in float32."""


class Decoded(NamedTuple):
    """What a model of a family decodes."""

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
    return sorted({*offered.values(), *VARIANTS} - {*", ".join(LEFT_OUT.values()).split(", ")})


def decoded(name: str) -> Decoded:
    """Decode with a tiny random target and a draft that is nearly the same, and with ``generate`` of transformers."""
    with without_warnings(), torch.inference_mode():  # configurations of this size are warned about
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
        start = RunStart(pair, "", PROMPT, resolve(SETTINGS))
        *_, last = iterations(start)
        ids = last.result.token_ids
        return Decoded(ids, told.sequences[0, len(PROMPT) :].tolist(), float((best[:, 0] - best[:, 1]).min()), pair)


def tiny_model(name: str) -> Any:
    """Make a model of this family with weights large enough that its next-token laws differ."""
    family, more = VARIANTS.get(name, (name, {}))
    config = _tiny(CONFIG_MAPPING[family], {**OWN.get(family, {}), **more})
    torch.manual_seed(0)
    config._experts_implementation = "eager"
    try:
        model = AutoModelForCausalLM.from_config(config, attn_implementation="sdpa", trust_remote_code=False)
    except ValueError:
        model = AutoModelForCausalLM.from_config(config, attn_implementation="eager", trust_remote_code=False)
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
    """Return the two tables of the page: the families of each way, and the families that are not run."""
    rows = ["| families | way |", "| --- | --- |"]
    for way in ("forest", "states", "steps", "paths"):
        rows.append(f"| {', '.join(name for name, found in ways.items() if found == way)} | `{way}` |")
    rows += ["", "| not run | why |", "| --- | --- |"]
    return "\n".join([*rows, *(f"| {names} | {why} |" for why, names in LEFT_OUT.items())])


def told_ways() -> dict[str, str]:
    """Return the way of each family on the page."""
    text = PAGE.read_text(encoding="utf-8")
    rows = re.findall(r"^\| (.+) \| `(\w+)` \|$", text, re.M)
    return {name: way for names, way in rows for name in names.split(", ")}


class _Ids:
    """A tokenizer for prompts that are ids already."""

    eos_token_id = None

    def decode(self, ids: list[int], **how: Any) -> str:
        return " ".join(map(str, ids))


def main() -> None:
    """Decode with every family and write the tables."""
    ways = {}
    for name in families():
        found = decoded(name)
        ways[name] = found.pair.target.attention
        print(f"{name}: {ways[name]}", flush=True)
        if found.ids != found.expected:
            raise SystemExit(
                f"{name}: {found.ids} instead of {found.expected}; the gap of its logits is {found.gap:.0e}"
            )
    block = f"<!-- families -->\n{tables(ways)}\n<!-- /families -->"
    PAGE.write_text(BLOCK.sub(lambda _: block, PAGE.read_text(encoding="utf-8")), encoding="utf-8")


if __name__ == "__main__":
    main()
