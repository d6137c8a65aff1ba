"""Hostile folders of a model, each a change of a good one. None may run code or hang; a PairError is the only error."""

import json
import os
import pickle
import random
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

RAN = "ran"
"""A file that is written beside the model once any of its code has run."""
JSONS = ("config.json", "tokenizer.json", "tokenizer_config.json", "generation_config.json")
TRUSTED = {"trust_remote_code": 1}
Random = random.Random


def deep(levels: int) -> Any:
    """Return so many objects inside each other."""
    found: Any = {}
    for _ in range(levels):
        found = {"x": found}
    return found


VALUES: list[Any] = [
    None, 0, 1, -1, 3.5, 7, 1000, 2**31, 10**9, 10**18, 10**300, -(10**9), 1e308, float("nan"), float("inf"), True, "",
    "x", "10", [], [1], {}, {"x": 1}, [None], ["x", -1], deep(20), deep(100), deep(900),
]  # fmt: skip
PATTERNS = ["(a+)+$", "(" * 30_000, "a{1,65535}{1,65535}{1,65535}", "[", "(?<=a+)b", r"\p{Nope}", "a" * 10**6]
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


def own_kind(folder: Path, _: Random | None = None, kind: str = "evil") -> None:
    """A kind of model that only its own code knows."""
    change(folder, "config.json", model_type=kind, architectures=["EvilModel"], auto_map=code(folder))


def own_model(folder: Path, _: Random | None = None) -> None:
    """A kind that transformers knows, but not as a causal model."""
    own_kind(folder, kind="clip")


def own_tokenizer(folder: Path, _: Random | None = None) -> None:
    """A tokenizer that only its own code knows."""
    change(folder, "tokenizer_config.json", tokenizer_class="EvilTokenizer", auto_map=code(folder))


def own_tokenizer_old(folder: Path, _: Random | None = None) -> None:
    """The same, as older files write it, of a kind without a tokenizer."""
    own_tokenizer(folder)
    change(folder, "config.json", model_type="persimmon")
    change(folder, "tokenizer_config.json", auto_map=code(folder)["AutoTokenizer"])


def own_generate(folder: Path, _: Random | None = None) -> None:
    """A way of generating that comes with the model."""
    named = code(folder)
    (folder / "custom_generate").mkdir()
    shutil.copy(folder / "evil.py", folder / "custom_generate" / "generate.py")
    change(folder, "generation_config.json", auto_map=named, custom_generate=str(folder), **TRUSTED)


def own_everything(folder: Path, _: Random | None = None) -> None:
    """Code named wherever possible, with a yes beside it."""
    named, pipelines = code(folder), {"x": {"impl": "evil.EvilModel"}}
    for name in (*JSONS, "adapter_config.json"):
        if name != "tokenizer.json":
            change(folder, name, auto_map=named, custom_pipelines=pipelines, **TRUSTED)


def adapter(folder: Path, _: Random | None = None) -> None:
    """An adapter of PEFT whose base model has its own code."""
    base = folder / "base"
    shutil.copytree(folder, base)
    own_kind(base)
    (folder / "config.json").unlink()
    named = code(folder)
    change(folder, "adapter_config.json", base_model_name_or_path=str(base), peft_type="LORA", auto_mapping=named)


WITH_CODE = (own_kind, own_model, own_tokenizer, own_tokenizer_old, own_generate, own_everything, adapter)


def other_kind(folder: Path, chance: Random) -> None:
    """The configuration of another kind of model."""
    kinds = "gpt2 bert t5 mamba clip bloom mixtral gemma2 falcon opt rwkv whisper gpt_neox qwen2_moe jamba mpt xlnet"
    change(folder, "config.json", model_type=chance.choice(kinds.split()))


def anywhere(folder: Path, chance: Random) -> None:
    """One to three values of a JSON file, however deep inside, changed or removed; most often of the configuration."""
    path = folder / chance.choice([JSONS[0], *JSONS])
    content = json.loads(path.read_text())
    for _ in range(chance.choice([1, 1, 3])):
        place = content
        while True:
            key = chance.choice(list(place) if isinstance(place, dict) else list(range(len(place))))
            if not isinstance(place[key], (dict, list)) or not place[key] or chance.random() < 0.3:
                break
            place = place[key]
        if chance.random() < 0.1:
            del place[key]
        else:
            place[key] = chance.choice(VALUES)
    path.write_text(text_of(content))


def tokenizer(folder: Path, chance: Random) -> None:
    """A tokenizer that breaks what reads it."""
    content = json.loads((folder / "tokenizer.json").read_text())
    model, pattern = content["model"], chance.choice(PATTERNS)
    words = {**model["vocab"], chance.choice(sorted(model["vocab"])): chance.choice([-1, 2**31, 2**40, 1.5, None, "1"])}
    merges = chance.choice([[["a", "b"]] * 100_000, [["a"]], ["a b c"], None, [[0, 1]]])
    added = [{**token, "id": chance.choice([-1, 0, 2**32, 10**9])} for token in content["added_tokens"]]
    models = [None, {}, {"type": "BPE"}, {"type": "Unigram", "vocab": []}, {"type": "WordLevel", "vocab": {}}]
    fields = [
        {"normalizer": nested(chance.choice([10, 25, 60, 120]))},
        {"normalizer": {"type": "Replace", "pattern": {"Regex": pattern}, "content": "x" * 10**5}},
        {"pre_tokenizer": split(pattern)},
        {"model": {**model, "vocab": words}},
        {"model": {**model, "merges": merges}},
        {"model": chance.choice(models)},
        {"added_tokens": added},
        {"post_processor": {**TEMPLATE, "single": TEMPLATE["single"] * 1000}},
    ]
    change(folder, "tokenizer.json", **chance.choice(fields))


def broken_text(folder: Path, chance: Random) -> None:
    """A JSON file that was cut, emptied or overwritten."""
    path = folder / chance.choice(JSONS)
    content = path.read_bytes()
    half, opened = content[: len(content) // 2], b'{"type": "Sequence", "normalizers": [' * 200_000
    texts = [b"", half, b"\0" * 1000, b"\xff\xfe" + content, content * 2, b"[" * 10**6, b"null", opened]
    path.write_bytes(chance.choice(texts))


class Runs:
    """Writes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch '{self.file}'",)


def weights(folder: Path, chance: Random) -> None:
    """Weights that were cut, of other shapes or dtypes, or no weights at all."""
    path = folder / "model.safetensors"
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    name = chance.choice(sorted(name for name in header if name != "__metadata__"))
    shape = header[name]["shape"]
    shapes, dtypes = [shape[::-1], [-1, 1], [2**62, 2**62], ["x"], None], ["I32", "F8_E4M3", "BOOL", "C64", "X", 3]
    kind = chance.randrange(8)
    if kind == 0:
        path.write_bytes(content[: chance.randrange(len(content))])
    elif kind == 1:
        path.write_bytes(chance.choice([2**63, 2**40, 0, 5]).to_bytes(8, "little") + content[8:])
    elif kind == 2:
        path.write_bytes(pickle.dumps(Runs(folder / RAN)))
    elif kind == 3:
        path.unlink()
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Runs(folder / RAN), protocol=2))
    elif kind == 4:
        places = ["model-1.safetensors", "../../model.safetensors", "/dev/zero"]
        files = {name: chance.choice(places) for name in header}
        change(folder, "model.safetensors.index.json", weight_map=files, metadata={})
    else:
        change_of = [{"shape": chance.choice(shapes)}, {"dtype": chance.choice(dtypes)}, {}][kind - 5]
        header[name if change_of else f"x{name}"] = header.pop(name) | change_of
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


def strange_file(folder: Path, chance: Random) -> None:
    """Something that is not a file, has no end, or is enormous."""
    names = [*JSONS, "model.safetensors", "chat_template.jinja", "added_tokens.json", "vocab.json"]
    path = folder / chance.choice(names)
    path.unlink(missing_ok=True)
    kind = chance.randrange(4)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.symlink_to(chance.choice(["/dev/zero", "/dev/stdin", "/dev/full", "/proc/self/mem", path.name]))
    elif kind == 2:
        path.mkdir()
    else:
        with path.open("wb") as stream:
            stream.truncate(20 * 1024**3)


KINDS: tuple[Callable[[Path, Random], None], ...] = (
    *WITH_CODE, *(other_kind,) * 2, *(anywhere,) * 14, *(tokenizer,) * 5, *(broken_text,) * 3,
    *(weights,) * 4, *(strange_file,) * 3,
)  # fmt: skip


def hostile_folder(good: Path, folder: Path, number: int) -> str:
    """Make the folder of this number from a good one. Returns: the name of what was changed."""
    shutil.copytree(good, folder)
    kind = KINDS[number % len(KINDS)]
    kind(folder, Random(number))
    return kind.__name__
