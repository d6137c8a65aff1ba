"""Hostile folders of a model, each a change of a good one. None may run code, hang, or end outside of a sentence."""

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
VALUES: list[Any] = [
    None, 0, 1, -1, 3.5, 10**9, 10**18, 10**300, -(10**9), 1e308, float("nan"), float("inf"), True, "", "x", "10",
    [], [1], {}, {"x": 1}, [None], ["x", -1],
]  # fmt: skip
Random = random.Random


def deep(levels: int, key: str = "x") -> Any:
    """Return so many objects inside each other."""
    found: Any = {}
    for _ in range(levels):
        found = {key: found}
    return found


def text_of(content: Any) -> str:
    """Return JSON of any depth."""
    try:
        return json.dumps(content)
    except RecursionError:
        return '{"x": ' * 5000 + "1" + "}" * 5000


def change(folder: Path, name: str, **fields: Any) -> None:
    """Set fields of a JSON file, which need not be there yet."""
    path = folder / name
    content = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(text_of({**content, **fields}))


def code(folder: Path) -> None:
    """Put code into the folder that says when it ran."""
    (folder / "evil.py").write_text(
        f"open({str(folder / RAN)!r}, 'w').close()\n"
        "from transformers import LlamaConfig as EvilConfig, LlamaForCausalLM as EvilModel\n"
        "from transformers import PreTrainedTokenizerFast as EvilTokenizer\n"
        "def generate(*given, **more): pass\n"
    )


MAP = {
    "AutoConfig": "evil.EvilConfig",
    "AutoModelForCausalLM": "evil.EvilModel",
    "AutoModel": "evil.EvilModel",
    "AutoTokenizer": ["evil.EvilTokenizer", "evil.EvilTokenizer"],
}


TRUSTED = {"trust_remote_code": 1}


def own_kind(folder: Path, _: Random | None = None) -> None:
    """A kind of model that only its own code knows."""
    code(folder)
    change(folder, "config.json", model_type="evil", architectures=["EvilModel"], auto_map=MAP)


def own_model(folder: Path, _: Random | None = None) -> None:
    """A kind that transformers knows, but not as a causal model."""
    code(folder)
    change(folder, "config.json", model_type="clip", architectures=["EvilModel"], auto_map=MAP)


def own_tokenizer(folder: Path, _: Random | None = None) -> None:
    """A tokenizer that only its own code knows."""
    code(folder)
    change(folder, "tokenizer_config.json", tokenizer_class="EvilTokenizer", auto_map=MAP)


def own_tokenizer_old(folder: Path, _: Random | None = None) -> None:
    """The same, as older files write it, of a kind without a tokenizer."""
    code(folder)
    change(folder, "config.json", model_type="persimmon")
    change(folder, "tokenizer_config.json", tokenizer_class="EvilTokenizer", auto_map=MAP["AutoTokenizer"])


def own_generate(folder: Path, _: Random | None = None) -> None:
    """A way of generating that comes with the model."""
    code(folder)
    (folder / "custom_generate").mkdir()
    shutil.copy(folder / "evil.py", folder / "custom_generate" / "generate.py")
    change(folder, "generation_config.json", custom_generate=str(folder), auto_map=MAP, **TRUSTED)


def own_everything(folder: Path, _: Random | None = None) -> None:
    """Code named wherever it can be, with a yes beside it."""
    code(folder)
    for name in ("config.json", "tokenizer_config.json", "generation_config.json", "adapter_config.json"):
        change(folder, name, auto_map=MAP, **TRUSTED, custom_pipelines={"x": {"impl": "evil.EvilModel"}})


def adapter(folder: Path, _: Random | None = None) -> None:
    """An adapter of PEFT whose base model has code of its own."""
    base = folder / "base"
    shutil.copytree(folder, base)
    own_kind(base)
    (folder / "config.json").unlink()
    change(folder, "adapter_config.json", base_model_name_or_path=str(base), peft_type="LORA", auto_mapping=MAP)


def field(folder: Path, chance: Random) -> None:
    """A field of the configuration with another value, or none."""
    content = json.loads((folder / "config.json").read_text())
    name = chance.choice(sorted(content))
    if chance.random() < 0.1:
        del content[name]
    else:
        content[name] = chance.choice([*VALUES, deep(20), deep(100), deep(900)])
    (folder / "config.json").write_text(text_of(content))


def numbers(folder: Path, chance: Random) -> None:
    """Several numbers of the configuration that do not go together."""
    content = json.loads((folder / "config.json").read_text())
    names = [name for name, value in content.items() if type(value) is int]
    for name in chance.sample(names, 3):
        content[name] = chance.choice([0, 1, 3, 7, 64, 1000, 2**20, 2**31, -5])
    (folder / "config.json").write_text(text_of(content))


def other_kind(folder: Path, chance: Random) -> None:
    """The configuration of another kind of model."""
    kinds = "gpt2 bert t5 mamba clip bloom mixtral gemma2 falcon opt rwkv whisper gpt_neox qwen2_moe jamba mpt xlnet"
    change(folder, "config.json", model_type=chance.choice(kinds.split()))


def anywhere(folder: Path, chance: Random) -> None:
    """Any value of any JSON file, however deep inside, with another."""
    path = folder / chance.choice(JSONS[1:])
    content = json.loads(path.read_text())
    place = content
    while True:
        keys = list(place) if isinstance(place, dict) else list(range(len(place)))
        key = chance.choice(keys)
        if not isinstance(place[key], (dict, list)) or not place[key] or chance.random() < 0.3:
            break
        place = place[key]
    if chance.random() < 0.1:
        del place[key]
    else:
        place[key] = chance.choice([*VALUES, deep(20), deep(100), deep(900)])
    path.write_text(text_of(content))


def tokenizer(folder: Path, chance: Random) -> None:
    """A tokenizer that breaks what reads it."""
    path = folder / "tokenizer.json"
    content = json.loads(path.read_text())
    vocabulary = content["model"]["vocab"]
    pattern = chance.choice(
        ["(a+)+$", "(" * 30_000, "a{1,65535}{1,65535}{1,65535}", "[", "(?<=a+)b", "\\p{Nope}", "a" * 10**6]
    )
    inner: Any = {"type": "Lowercase"}
    for _ in range(chance.choice([10, 25, 60, 120, 5000])):
        inner = {"type": "Sequence", "normalizers": [inner]}
    nested = '{"type": "Sequence", "normalizers": [' * 200_000
    kind = chance.randrange(9)
    if kind == 0:
        content["normalizer"] = inner
    elif kind == 1:
        content["pre_tokenizer"] = {
            "type": "Split", "pattern": {"Regex": pattern}, "behavior": "Isolated", "invert": False
        }  # fmt: skip
    elif kind == 2:
        content["normalizer"] = {"type": "Replace", "pattern": {"Regex": pattern}, "content": "x" * 10**5}
    elif kind == 3:
        vocabulary[chance.choice(sorted(vocabulary))] = chance.choice([-1, 2**31, 2**32, 2**40, 1.5, None, "1"])
    elif kind == 4:
        content["added_tokens"] = [
            {**token, "id": chance.choice([-1, 0, 2**32, 10**9])} for token in content["added_tokens"]
        ]
    elif kind == 5:
        content["model"] = chance.choice(
            [
                None,
                {},
                {"type": "BPE"},
                {"type": "Unigram", "vocab": []},
                {"type": "WordLevel", "vocab": {}, "unk_token": "x"},
            ]
        )
    elif kind == 6:
        content["model"]["merges"] = chance.choice([[["a", "b"]] * 100_000, [["a"]], ["a b c"], None, [[0, 1]]])
    elif kind == 7:
        content["post_processor"] = {
            "type": "TemplateProcessing",
            "single": [{"SpecialToken": {"id": "<no>", "type_id": 0}}] * 1000,
            "pair": [],
            "special_tokens": {},
        }
    path.write_text(nested if kind == 8 else text_of(content))


def broken_text(folder: Path, chance: Random) -> None:
    """A JSON file that was cut, emptied or overwritten."""
    path = folder / chance.choice(JSONS)
    content = path.read_bytes()
    path.write_bytes(
        chance.choice(
            [b"", content[: len(content) // 2], b"\0" * 1000, b"\xff\xfe" + content, content * 2, b"[" * 10**6, b"null"]
        )
    )


def weights(folder: Path, chance: Random) -> None:
    """Weights that were cut, of other shapes or dtypes, or no weights at all."""
    path = folder / "model.safetensors"
    content = path.read_bytes()
    length = int.from_bytes(content[:8], "little")
    header = json.loads(content[8 : 8 + length])
    name = chance.choice(sorted(name for name in header if name != "__metadata__"))
    kind = chance.randrange(9)
    if kind == 0:
        path.write_bytes(content[: chance.randrange(len(content))])
    elif kind == 1:
        path.write_bytes(chance.choice([2**63, 2**40, 0, 5]).to_bytes(8, "little") + content[8:])
    elif kind == 2:
        path.write_bytes(pickle.dumps(Runs(folder)))
    elif kind == 3:
        path.replace(folder / "pytorch_model.bin")
    elif kind == 4:
        path.unlink()
        (folder / "pytorch_model.bin").write_bytes(pickle.dumps(Runs(folder), protocol=2))
    elif kind == 5:
        files = {
            name: chance.choice(["model-1.safetensors", "../../model.safetensors", "/dev/zero"]) for name in header
        }
        change(folder, "model.safetensors.index.json", weight_map=files, metadata={})
    else:
        entry = header[name]
        if kind == 6:
            entry["shape"] = chance.choice(
                [entry["shape"][::-1], [math_of(entry)], [-1, 1], [2**62, 2**62], ["x"], None]
            )
        elif kind == 7:
            entry["dtype"] = chance.choice(["I32", "U32", "F8_E4M3", "BOOL", "C64", "X", 3])
        else:
            header[f"x{name}"] = header.pop(name)
        text = json.dumps(header).encode()
        path.write_bytes(len(text).to_bytes(8, "little") + text + content[8 + length :])


def math_of(entry: dict[str, Any]) -> int:
    """Return the numbers of a tensor of float32."""
    start, end = entry["data_offsets"]
    return (end - start) // 4


class Runs:
    """Says that it ran when it is unpickled."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch '{self.folder / RAN}'",)


def strange_file(folder: Path, chance: Random) -> None:
    """A file that is no file, has no end, or is enormous."""
    path = folder / chance.choice(
        [*JSONS, "model.safetensors", "chat_template.jinja", "added_tokens.json", "vocab.json"]
    )
    path.unlink(missing_ok=True)
    kind = chance.randrange(6)
    if kind == 0:
        os.mkfifo(path)
    elif kind == 1:
        path.symlink_to(chance.choice(["/dev/zero", "/dev/stdin", "/dev/full"]))
    elif kind == 2:
        path.symlink_to(path.name)
    elif kind == 3:
        path.mkdir()
    elif kind == 4:
        path.symlink_to("/proc/self/mem")
    else:
        with path.open("wb") as stream:
            stream.truncate(20 * 1024**3)


KINDS: tuple[Callable[[Path, Random], None], ...] = (
    own_kind, own_model, own_tokenizer, own_tokenizer_old, own_generate, own_everything, adapter,
    *(field,) * 6, *(numbers,) * 3, *(other_kind,) * 2, *(anywhere,) * 5, *(tokenizer,) * 5, *(broken_text,) * 2,
    *(weights,) * 4, *(strange_file,) * 3,
)  # fmt: skip


def hostile_folder(good: Path, folder: Path, number: int) -> str:
    """Make the folder of this number from a good one. Returns: the name of what was changed."""
    shutil.copytree(good, folder)
    kind = KINDS[number % len(KINDS)]
    kind(folder, Random(number))
    return kind.__name__
