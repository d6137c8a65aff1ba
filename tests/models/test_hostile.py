"""Folders that are hostile, damaged or of another kind: each is refused in one sentence, and no code of theirs runs."""

import io
import os
import pickle
import re
import shutil
from pathlib import Path

import httpx
import pytest
import torch
from transformers import T5Config, T5ForConditionalGeneration

import dsbd
from dsbd.errors import PairError
from dsbd.models import hub
from tests.models import hostile
from tests.models.hostile import RAN, Runs, change

EAGER = {"device": "cpu", "dtype": "float32", "engine": "eager"}


@pytest.fixture
def folder(toy_folders, tmp_path) -> Path:
    """Return a copy of a good model."""
    return Path(shutil.copytree(toy_folders["draft"], tmp_path / "model"))


def refusal(target, draft=None) -> str:
    """Return the sentence that a pair is refused with."""
    with pytest.raises(PairError) as caught:
        dsbd.load_pair(target, draft, **EAGER)
    assert "\n" not in str(caught.value)
    assert caught.value.__suppress_context__ or caught.value.__context__ is None
    return str(caught.value)


@pytest.mark.parametrize("kind", hostile.WITH_CODE, ids=lambda kind: kind.__name__)
def test_code_of_a_model_is_not_run_and_nobody_is_asked(kind, folder, monkeypatch):
    """Catches the question of transformers whether to run the code: a script that says yes to everything ran it."""
    asked = []
    monkeypatch.setattr("builtins.input", lambda *words: asked.append(words) or "y")
    kind(folder)
    said = ""
    try:
        dsbd.load_pair(folder, **EAGER)
    except PairError as error:
        said = str(error)
    assert "trust_remote_code" not in said
    assert "such code is never run here; use a model whose kind transformers knows" in said or kind != hostile.own_kind
    assert asked == []
    assert list(folder.rglob(RAN)) == []


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"num_hidden_layers": 10**9}, "says num_hidden_layers 1000000000; allowed are 0 to 1,000"),
        ({"text_config": {"n_layer": 10**9}}, "says n_layer 1000000000"),
        ({"vocab_size": -5}, "says vocab_size -5; allowed are 1 to"),
        ({"hidden_size": 8 * 10**7}, "GB of memory for its weights in float32"),
        ({"num_key_value_heads": 0}, "ZeroDivisionError"),
        ({"num_hidden_layers": 3}, "are missing or of another shape, such as model.layers.1"),
        ({"hidden_size": "x"}, "expected int, got str"),
        ({"deep": hostile.deep(900)}, "config.json of .* has 902 lists and objects inside each other; at most 32"),
    ],
    ids=lambda value: None if isinstance(value, str) else next(iter(value)),
)
def test_a_hostile_configuration_is_refused_in_a_sentence(fields, said, folder):
    """Catches a wait without end, an error of Python that escapes, and weights that were made up."""
    change(folder, "config.json", **fields)
    assert re.search(said, refusal(folder))


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"normalizer": hostile.nested(60)}, "tokenizer.json of '.*' has 122 lists and objects inside each other"),
        ({"pre_tokenizer": hostile.split(r"\p{Nope}")}, "Oniguruma error"),
        ({"post_processor": hostile.TEMPLATE}, "PanicException"),
        ({"model": {"type": "BPE", "vocab": {"a": -1}, "merges": []}}, "invalid value: integer `-1`"),
    ],
    ids=["nested", "property", "template", "negative"],
)
def test_a_hostile_tokenizer_is_refused_in_a_sentence(fields, said, folder):
    """Catches a panic of the tokenizers' Rust, which is no Exception, and a process that it ends."""
    change(folder, "tokenizer.json", **fields)
    message = refusal(folder)
    assert re.search(said, message)
    assert "download it again" in message


def test_a_prompt_that_breaks_a_tokenizer_is_refused(folder):
    """Catches a tokenizer that loads, and panics at the first prompt of a visitor who knows which."""
    change(folder, "tokenizer.json", pre_tokenizer=hostile.split("(a+)+$"))
    pair = dsbd.load_pair(folder, **EAGER)
    with pytest.raises(dsbd.PromptError, match=r"fails on this prompt \(PanicException: .*; change one of them"):
        pair.encode("a" * 40 + "c")


@pytest.mark.parametrize("name", ["config.json", "tokenizer.json", "model.safetensors"])
def test_a_file_that_is_a_pipe_is_refused(name, folder):
    """Catches a load that waits forever for a writer."""
    (folder / name).unlink()
    os.mkfifo(folder / name)
    assert f"has {name}, which is not a plain file but a pipe or a device; remove it" in refusal(folder)


def removed(pattern: str):
    return lambda folder: [file.unlink() for file in folder.glob(pattern)]


def cut(folder: Path, kept: int) -> None:
    weights = folder / "model.safetensors"
    weights.write_bytes(weights.read_bytes()[:kept])


def encoder_decoder(folder: Path) -> None:
    config = T5Config(vocab_size=23, d_model=8, d_kv=4, d_ff=8, num_layers=1, num_heads=2)
    T5ForConditionalGeneration(config).save_pretrained(folder)


@pytest.mark.parametrize(
    ("damage", "said"),
    [
        (shutil.rmtree, "hub id"),
        (removed("*"), "has no config.json"),
        (removed("*token*"), "has no tokenizer; .* or save it here with AutoTokenizer"),
        (lambda folder: (folder / "config.json").write_text("{ not json"), "not JSON .* give a folder or hub id"),
        (lambda folder: cut(folder, 200), "model.safetensors is damaged .* download it again"),
        (encoder_decoder, "encoder-decoder model; use a decoder-only"),
        (hostile.adapter, "is an adapter of PEFT .*merge_and_unload.*save the tokenizer of the base model"),
    ],
    ids=["folder", "files", "tokenizer", "config", "cut", "encoder-decoder", "adapter"],
)
def test_a_damaged_folder_is_refused_with_the_remedy(damage, said, folder):
    """Catches an error of a library that escapes, or a sentence without its remedy."""
    damage(folder)
    message = refusal(folder)
    assert re.search(said, message)
    assert folder.name in message


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


def test_a_gguf_file_is_refused_with_the_way_to_convert_it(tmp_path):
    """Catches a stranger's file name in a command that is copied into a shell."""
    file = tmp_path / "$(reboot).gguf"
    file.write_bytes(b"GGUF")
    for given in (tmp_path, file):
        assert re.search("holds a model as GGUF, .*, gguf_file='FILE'.*dequantize.* give the folder", refusal(given))
        assert "reboot" not in refusal(given).partition("pip install")[2]


def test_eos_ids_that_cannot_be(folder):
    """Catches a text for an id, and -1 taken for the last token of the vocabulary."""
    change(folder, "generation_config.json", eos_token_id="x")
    assert "give numbers in its generation_config.json" in refusal(folder)
    change(folder, "generation_config.json", eos_token_id=[-1, 5])
    assert dsbd.load_pair(folder, **EAGER).eos == {5}


def test_a_hub_out_of_reach_is_told_at_once(monkeypatch):
    """Catches half a minute of silence: transformers asks again and again, for each file."""
    asked = []

    class Api:
        def model_info(self, name, **how):
            asked.append(how["timeout"])
            raise httpx.ConnectError("no route")

    monkeypatch.setattr(hub, "HfApi", Api)
    said = refusal("owner/name")
    assert "'owner/name' is not on this machine, and the hub cannot be reached (no route); check the network" in said
    assert asked == [hub.PATIENCE_SECONDS]
