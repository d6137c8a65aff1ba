"""Hostile folders of a model, each a change of a good one. None may run code or hang; a PairError is the only error."""

import json
import os
import shutil
from pathlib import Path
from typing import Any

RAN = "ran"
"""A file that is written beside the model once any of its code has run."""
JSONS = ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json")
TRUSTED = {"trust_remote_code": 1}


def deep(levels: int) -> Any:
    """Return so many objects inside each other."""
    found: Any = {}
    for _ in range(levels):
        found = {"x": found}
    return found


TEMPLATE = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<no>", "type_id": 0}}], "pair": [],
            "special_tokens": {}}  # fmt: skip
"""A template of a token that is not there."""


def nested(levels: int) -> Any:
    """Return so many normalizers inside each other."""
    return json.loads('{"type": "Sequence", "normalizers": [' * levels + '{"type": "Lowercase"}' + "]}" * levels)


def split(pattern: str) -> Any:
    return {"type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False}


def change(folder: Path, name: str, **fields: Any) -> None:
    """Set fields of a JSON file, which may be missing."""
    path = folder / name
    content = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(text_of({**content, **fields}))


def text_of(content: Any) -> str:
    try:
        return json.dumps(content)
    except RecursionError:
        return '{"x": ' * 5000 + "1" + "}" * 5000


def code(folder: Path) -> Any:
    """Put code into the folder that tells when it ran; return the ``auto_map`` that names it."""
    (folder / "evil.py").write_text(
        f"open({str(folder / RAN)!r}, 'w').close()\n"
        "from transformers import LlamaConfig as EvilConfig, LlamaForCausalLM as EvilModel\n"
        "from transformers import PreTrainedTokenizerFast as EvilTokenizer\n"
        "def generate(*given, **more): pass\n"
    )
    models = {"AutoModelForCausalLM": "evil.EvilModel", "AutoModel": "evil.EvilModel"}
    return {"AutoConfig": "evil.EvilConfig", **models, "AutoTokenizer": ["evil.EvilTokenizer", "evil.EvilTokenizer"]}


def own_kind(folder: Path) -> None:
    """A kind of model that only its own code knows."""
    change(folder, "config.json", model_type="evil", architectures=["EvilModel"], auto_map=code(folder))


def own_tokenizer(folder: Path) -> None:
    """A tokenizer that only its own code knows."""
    change(folder, "tokenizer_config.json", tokenizer_class="EvilTokenizer", auto_map=code(folder))


def own_generate(folder: Path) -> None:
    """A way of generating that comes with the model."""
    named = code(folder)
    (folder / "custom_generate").mkdir()
    shutil.copy(folder / "evil.py", folder / "custom_generate" / "generate.py")
    change(folder, "generation_config.json", auto_map=named, custom_generate=str(folder), **TRUSTED)


def own_everything(folder: Path) -> None:
    """Code named wherever possible, with a yes beside it."""
    named, pipelines = code(folder), {"x": {"impl": "evil.EvilModel"}}
    for name in (*JSONS, "adapter_config.json"):
        if name != "tokenizer.json":
            change(folder, name, auto_map=named, custom_pipelines=pipelines, **TRUSTED)


def adapter(folder: Path) -> None:
    """An adapter of PEFT whose base model has its own code."""
    base = folder / "base"
    shutil.copytree(folder, base)
    own_kind(base)
    (folder / "config.json").unlink()
    named = code(folder)
    change(folder, "adapter_config.json", base_model_name_or_path=str(base), peft_type="LORA", auto_mapping=named)


WITH_CODE = (own_kind, own_tokenizer, own_generate, own_everything, adapter)


class Runs:
    """Writes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch '{self.file}'",)
