"""Decodes with a tiny random model of every causal family of transformers, and compares their ways with docs/models.md.

    python -m benchmarks.families

It takes minutes, so the tests run a few families only. A family's configuration is made small by the names of its
fields; families.json has both. Exit code 1: a family does not decode the ids of transformers, or its way is another.
"""

import copy
import json
import re
from pathlib import Path
from typing import Any, NamedTuple

import torch
from transformers import CONFIG_MAPPING, AutoModelForCausalLM
from transformers.models.auto.configuration_auto import CONFIG_MAPPING_NAMES
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING_NAMES

from dsbd.decoder import iterations
from dsbd.machine import without_warnings
from dsbd.methods import resolve
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import Ids, make_pair
from dsbd.models.pair import Pair
from dsbd.session import RunStart
from dsbd.settings import DecodingSettings

PAGE = Path(__file__).resolve().parents[1] / "docs/models.md"
VOCABULARY, WINDOW = 23, 5
PROMPT = [5, 9, 3, 17, 8, 5, 20, 11, 14]  # longer than a window
NEW_TOKENS = 7
SETTINGS = DecodingSettings(
    temperature=0.0, max_new_tokens=NEW_TOKENS, draft_depth=2, draft_width=3, min_width=1, max_width=1, seed=1
)
CLEAR = 1e-4
"""The least gap between the best two logits for which ids are certain: rounding is about 1e-6."""
_TABLES = json.loads(Path(__file__).with_suffix(".json").read_text(encoding="utf-8"))
SMALL: dict[str, Any] = {name: int(value) for value, names in _TABLES["small"].items() for name in names.split()}
"""The value of a field in every family that has it."""
SMALL |= {"bos_token_id": 0, "is_decoder": True}
OWN: dict[str, dict[str, Any]] = _TABLES["own"]
"""Fields of one family."""
LEFT_OUT: dict[str, str] = _TABLES["left_out"]
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
        for seed, weight in enumerate(draft.parameters()):
            noise = torch.Generator().manual_seed(seed)
            weight.add_(0.02 * torch.randn(weight.shape, generator=noise, dtype=weight.dtype))
        output = target.generate(
            torch.tensor([PROMPT]), attention_mask=torch.ones(1, len(PROMPT), dtype=torch.int64), do_sample=False,
            num_beams=1, max_new_tokens=NEW_TOKENS, return_dict_in_generate=True, output_logits=True,
        )  # fmt: skip
        best = torch.stack(output.logits)[:, 0].topk(2).values
        pair = make_pair(LanguageModel(target, name), LanguageModel(draft, name), Ids())
        start = RunStart(pair, "", PROMPT, resolve(SETTINGS))
        *_, last = iterations(start)
        ids = last.result.token_ids
        return Decoded(ids, output.sequences[0, len(PROMPT) :].tolist(), float((best[:, 0] - best[:, 1]).min()), pair)


def tiny_model(name: str, seed: int = 0, **own: Any) -> Any:
    """Make a model of this family with these fields, and weights large enough that its next-token distributions
    differ.
    """
    family, more = VARIANTS.get(name, (name, {}))
    config = _tiny(CONFIG_MAPPING[family], {**OWN.get(family, {}), **more, **own})
    torch.manual_seed(seed)
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


def documented_ways() -> dict[str, str]:
    """Return the way of each family on the page: ``forest`` unless its table names another."""
    rows = re.findall(r"^\| (.+) \| `(\w+)` \|$", PAGE.read_text(encoding="utf-8"), re.M)
    return dict.fromkeys(families(), "forest") | {name: way for names, way in rows for name in names.split(", ")}


def main() -> None:
    """Decode with every family and compare."""
    for name, documented in documented_ways().items():
        ids, expected, gap, pair = decoded(name)
        way = pair.target.attention
        print(f"{name}: {way}", flush=True)
        if ids != expected or way != documented:
            raise SystemExit(
                f"{name}: {ids} by {way} instead of {expected} by {documented}; the gap of its logits is {gap:.0e}"
            )


if __name__ == "__main__":
    main()
