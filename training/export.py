"""Write a pair member as an ordinary Hugging Face folder: bfloat16, small shards, tokenizer."""

import json
from pathlib import Path

from transformers import GenerationConfig, LlamaForCausalLM, PreTrainedTokenizerBase

from dsbd.files import write_file

SHARD_SIZE = "8MB"


def export_member(model: LlamaForCausalLM, tokenizer: PreTrainedTokenizerBase, folder: Path) -> None:
    """Save model and tokenizer into `folder`, replacing weights that lie there."""
    folder.mkdir(parents=True, exist_ok=True)
    for old in folder.glob("*.safetensors*"):
        old.unlink()
    model.bfloat16()
    model.config.use_cache = True
    ids = {"bos_token_id": tokenizer.bos_token_id, "eos_token_id": tokenizer.eos_token_id}
    model.generation_config = GenerationConfig(pad_token_id=tokenizer.eos_token_id, **ids)
    model.save_pretrained(folder, max_shard_size=SHARD_SIZE)
    tokenizer.save_pretrained(folder)
    _name_tokenizer_class(folder / "tokenizer_config.json")


def _name_tokenizer_class(file: Path) -> None:
    """Name the class as every version of transformers knows it (5.x writes a newer name)."""
    settings = json.loads(file.read_text(encoding="utf-8"))
    settings["tokenizer_class"] = "PreTrainedTokenizerFast"
    for passing in ("backend", "is_local", "local_files_only"):
        settings.pop(passing, None)
    write_file(file, json.dumps(settings, indent=2, sort_keys=True) + "\n")
