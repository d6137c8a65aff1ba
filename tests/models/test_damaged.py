"""Folders that are damaged or of another kind: each is refused in one sentence, and no code of theirs runs."""

import io
import json
import os
import pickle
import re
import shutil
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import httpx
import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration

import dsbd
from dsbd.errors import PairError
from dsbd.models import files
from tests.toy_pair import toy_model

EAGER = {"device": "cpu", "dtype": "float32", "engine": "eager"}
RAN = "ran"
"""A file that is written beside the model once any of its code has run."""
CAREFUL = ("config.json", "tokenizer_config.json", "generation_config.json", "adapter_config.json")
YES = {"trust_remote_code": 1}


@pytest.fixture
def folder(toy_folders, tmp_path) -> Path:
    """Return a copy of a good model."""
    return Path(shutil.copytree(toy_folders["draft"], tmp_path / "model"))


def refusal(target) -> str:
    """Return the sentence that a pair is refused with."""
    with pytest.raises(PairError) as caught:
        dsbd.load_pair(target, **EAGER)
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


def change(folder: Path, name: str, **fields: Any) -> None:
    """Set fields of a JSON file, which may be missing."""
    path = folder / name
    content = json.loads(path.read_text()) if path.is_file() else {}
    path.write_text(json.dumps({**content, **fields}))


def changing(name: str, **fields: Any):
    return lambda folder: change(folder, name, **fields)


def code(folder: Path) -> Any:
    """Put code into the folder that tells when it ran; return the ``auto_map`` that names it."""
    (folder / "evil.py").write_text(
        f"open({str(folder / RAN)!r}, 'w').close()\n"
        "from transformers import LlamaConfig as EvilConfig, LlamaForCausalLM as EvilModel\n"
        "from transformers import PreTrainedTokenizerFast as EvilTokenizer\n"
        "def generate(*inputs, **more): pass\n"
    )
    models = {"AutoModelForCausalLM": "evil.EvilModel", "AutoModel": "evil.EvilModel"}
    return {"AutoConfig": "evil.EvilConfig", **models, "AutoTokenizer": ["evil.EvilTokenizer", "evil.EvilTokenizer"]}


def own_kind(folder: Path) -> None:
    """A kind of model that only its own code knows."""
    change(folder, "config.json", model_type="evil", architectures=["EvilModel"], auto_map=code(folder))


def own_everything(folder: Path) -> None:
    """Code named wherever possible, with a yes beside it."""
    auto_map = code(folder)
    (folder / "custom_generate").mkdir()
    shutil.copy(folder / "evil.py", folder / "custom_generate" / "generate.py")
    change(folder, "generation_config.json", custom_generate=str(folder))
    change(folder, "tokenizer_config.json", tokenizer_class="EvilTokenizer")
    for name in CAREFUL:
        change(folder, name, auto_map=auto_map, custom_pipelines={"x": {"impl": "evil.EvilModel"}}, **YES)


def adapter(folder: Path) -> None:
    """An adapter of PEFT whose base model has its own code."""
    base, name = folder / "base", "adapter_config.json"
    shutil.copytree(folder, base)
    own_kind(base)
    (folder / "config.json").unlink()
    change(folder, name, base_model_name_or_path=str(base), peft_type="LORA", auto_mapping=code(folder))


@pytest.mark.parametrize("kind", [own_kind, own_everything, adapter])
def test_code_of_a_model_is_not_run_and_nobody_is_asked(kind, folder, monkeypatch):
    """Catches the question of transformers whether to run the code: a script that says yes to everything ran it."""
    questions = []
    monkeypatch.setattr("builtins.input", lambda *words: questions.append(words) or "y")
    kind(folder)
    message = ""
    try:
        dsbd.load_pair(folder, **EAGER)
    except PairError as error:
        message = str(error)
    assert "trust_remote_code" not in message
    assert "such code is never run here; use a model whose kind transformers knows" in message or kind != own_kind
    assert questions == list(folder.rglob(RAN)) == []


class Runs:
    """Writes a file when it is unpickled."""

    def __init__(self, file: Path) -> None:
        self.file = file

    def __reduce__(self) -> tuple[Any, ...]:
        return os.system, (f"touch '{self.file}'",)


def zipped(file: Path) -> bytes:
    stream = io.BytesIO()
    torch.save({"lm_head.weight": Runs(file)}, stream)
    return stream.getvalue()


@pytest.mark.parametrize("content", [zipped, lambda file: pickle.dumps(Runs(file), protocol=2), lambda file: b""])
def test_pickled_weights_are_not_run(content, folder):
    """Catches weights that run code, an unpickling error that escapes, and torch's advice to run them all the same."""
    (folder / "model.safetensors").unlink()
    (folder / "pytorch_model.bin").write_bytes(content(folder / RAN))
    message = refusal(folder)
    assert "save the weights as safetensors" in message
    assert "weights_only" not in message
    assert not (folder / RAN).exists()


def removed(pattern: str):
    return lambda folder: [file.unlink() for file in folder.glob(pattern)]


def encoder_decoder(folder: Path) -> None:
    config = T5Config(vocab_size=23, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    T5ForConditionalGeneration(config).save_pretrained(folder)


def shards(folder: Path) -> None:
    toy_model(1, 2).float().save_pretrained(folder, max_shard_size="20KB")
    (folder / "model.safetensors").unlink()
    sorted(folder.glob("model-*.safetensors"))[1].unlink()


def gguf(folder: Path) -> None:
    (folder / "config.json").unlink()
    (folder / "$(reboot).gguf").write_bytes(b"GGUF")


TEMPLATE = {"type": "TemplateProcessing", "single": [{"SpecialToken": {"id": "<no>", "type_id": 0}}], "pair": [],
            "special_tokens": {}}  # fmt: skip
REFUSED = {
    "wide": (changing("config.json", hidden_size=8 * 10**7), "GB of memory for its weights in float32"),
    "more layers": (changing("config.json", num_hidden_layers=3), "are missing or of another shape, such as model.lay"),
    "template": (changing("tokenizer.json", post_processor=TEMPLATE), "PanicException.*download it again"),
    "too large": (lambda folder: os.truncate(folder / "tokenizer.json", 2**29), "has 536,870,912 bytes; at most"),
    "no folder": (shutil.rmtree, "hub id"),
    "no files": (removed("*"), "has no config.json"),
    "no tokenizer": (removed("*token*"), "has no tokenizer; .* or save it here with AutoTokenizer"),
    "no JSON": (
        lambda folder: (folder / "config.json").write_text("{ no"),
        "JSON.* give a folder or hub id",
    ),
    "cut": (lambda folder: os.truncate(folder / "model.safetensors", 200), "model.safetensors is damaged .* download"),
    "a shard": (shards, r"its weights are not all there, model-00002-of-\d+.safetensors is missing; download it again"),
    "encoder-decoder": (encoder_decoder, "encoder-decoder model; use a decoder-only"),
    "adapter": (adapter, "is an adapter of PEFT .*merge_and_unload, save the tokenizer of the base model"),
    "GGUF": (gguf, r"holds a model as GGUF, .*from_pretrained\(FOLDER, gguf_file=FILE\)"),
    "EOS": (changing("generation_config.json", eos_token_id="x"), "give numbers in its generation_config.json"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_a_damaged_folder_is_refused_with_the_remedy(name, folder):
    """Catches an error or a panic of a library that escapes, weights that were made up, and a sentence without its
    remedy."""
    damage, expected = REFUSED[name]
    damage(folder)
    message = refusal(folder)
    assert re.search(expected, message), message
    assert "reboot" not in message


def test_no_eos_is_no_token(folder):
    """Catches -1 for no EOS taken for the last token."""
    change(folder, "generation_config.json", eos_token_id=[-1, 5])
    assert dsbd.load_pair(folder, **EAGER).eos == {5}


def test_a_hub_out_of_reach_is_an_error_at_once(monkeypatch):
    """Catches half a minute of silence: transformers asks again and again, for each file."""
    api = Mock(**{"return_value.model_info.side_effect": httpx.ConnectError("no route")})
    monkeypatch.setattr(files, "HfApi", api)
    message = refusal("owner/name")
    assert "'owner/name' is not on this machine, and the hub cannot be reached (no route); check the network" in message
    assert [call.kwargs["timeout"] for call in api().model_info.call_args_list] == [files.PATIENCE_SECONDS]
