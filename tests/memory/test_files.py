"""A memory's folder: what is saved comes back, and everything else is one sentence."""

import json
import shutil
from copy import deepcopy

import pytest
import torch
from safetensors.torch import load_file, save_file

from dsbd.errors import PairError
from dsbd.memory.files import CONFIG, WEIGHTS, LowRank, load_memory, save_memory
from tests.memory.toys import random_network
from tests.toy_pair import toy_model

LAYER = "model.layers.1.mlp.up_proj"


def low_rank(outputs: int = 48) -> LowRank:
    made = torch.Generator().manual_seed(3)
    return LowRank(torch.randn(outputs, 2, generator=made), torch.randn(2, 32, generator=made))


@pytest.fixture(scope="module")
def saved(tmp_path_factory):
    folder = tmp_path_factory.mktemp("memories") / "toy"
    save_memory(folder, random_network(32), {LAYER: low_rank()}, toy_model(1, 2), "toy/target")
    return folder


def test_what_is_saved_comes_back(saved) -> None:
    """Catches weights that are lost, and adapters that are added wrongly or to another layer."""
    model, before = toy_model(1, 2), toy_model(1, 2)
    memory = load_memory(saved, model, "toy/target")
    assert (memory.name, memory.settings) == ("toy", random_network(32).settings)
    for name, weight in random_network(32).named_parameters():
        assert torch.equal(memory.network.get_parameter(name), weight.bfloat16().float())
    changed = [name for name, weight in before.named_parameters() if not torch.equal(weight, model.get_parameter(name))]
    assert changed == [f"{LAYER}.weight"]
    up, down = (half.bfloat16().float() for half in low_rank())
    expected = before.get_parameter(f"{LAYER}.weight") + (up @ down)
    torch.testing.assert_close(model.get_parameter(f"{LAYER}.weight"), expected, rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16, torch.float16])
def test_a_model_is_known_again_in_another_dtype(saved, dtype) -> None:
    assert load_memory(saved, toy_model(1, 2).to(dtype), "toy/target").name == "toy"


def test_a_memory_of_another_model_is_refused(saved) -> None:
    """Catches a memory that is added to a model of other weights or another size; nothing is changed."""
    other = toy_model(2, 2)
    before = deepcopy(other.state_dict())
    with pytest.raises(PairError, match=r"was made for 'toy/target', and mine is another model \(weights: others\)"):
        load_memory(saved, other, "mine")
    assert all(torch.equal(weight, before[name]) for name, weight in other.state_dict().items())
    with pytest.raises(PairError, match=r"is another model \(layers: 2, not 3\); load it with the model"):
        load_memory(saved, toy_model(1, 3), "mine")


def _config(change):
    def spoil(folder) -> None:
        config = json.loads((folder / CONFIG).read_text())
        change(config)
        (folder / CONFIG).write_text(json.dumps(config))

    return spoil


def _tensors(change):
    def spoil(folder) -> None:
        tensors = load_file(folder / WEIGHTS)
        change(tensors)
        save_file(tensors, folder / WEIGHTS)

    return spoil


SPOILED = {
    "no config": (lambda folder: (folder / CONFIG).unlink(), "is not a folder with a config.json"),
    "no json": (lambda folder: (folder / CONFIG).write_text("{"), "is damaged: config.json is not JSON"),
    "deep json": (lambda folder: (folder / CONFIG).write_text("[" * 100_000), "is damaged: config.json is not JSON"),
    "a list": (lambda folder: (folder / CONFIG).write_text("[]"), "has the format 'list', expected 'dsbd-memory/1'"),
    "another format": (_config(lambda config: config.update(format="x")), "has the format 'x'"),
    "no sizes": (_config(lambda config: config.pop("memory")), "the sizes in config.json are missing or unknown"),
    "unknown size": (_config(lambda config: config["memory"].update(more=1)), "the sizes in config.json are missing"),
    "no model": (_config(lambda config: config.pop("model")), "does not say which model it was made for"),
    "odd sample": (_config(lambda config: config["model"].update(sample="x")), "the sample in config.json is not"),
    "no weights": (lambda folder: (folder / WEIGHTS).unlink(), "memory.safetensors cannot be read"),
    "half a file": (
        lambda folder: (folder / WEIGHTS).write_bytes((folder / WEIGHTS).read_bytes()[:200]),
        "memory.safetensors cannot be read",
    ),
    "a pickle": (lambda folder: (folder / WEIGHTS).write_bytes(b"\x80\x04."), "memory.safetensors cannot be read"),
    "no query": (_tensors(lambda tensors: tensors.pop("query")), "query in memory.safetensors is missing"),
    "small key": (_tensors(lambda tensors: tensors.update(key=torch.eye(3))), "key in memory.safetensors is missing"),
    "not a number": (_tensors(lambda tensors: tensors["first"].fill_(torch.nan)), "first in memory.safetensors"),
    "half an adapter": (
        _tensors(lambda tensors: tensors.pop(f"adapters.{LAYER}.down")),
        "does not fit its other half",
    ),
    "an adapter of another shape": (
        _tensors(lambda tensors: tensors.update({f"adapters.{LAYER}.up": torch.zeros(9, 2)})),
        "of another shape; it was made for another model",
    ),
    "an adapter of no layer": (
        _tensors(
            lambda tensors: tensors.update({"adapters.x.up": torch.zeros(9, 2), "adapters.x.down": torch.zeros(2, 9)})
        ),
        "adds to a layer 'x', which the model does not have",
    ),
}


@pytest.mark.parametrize("name", SPOILED)
def test_a_damaged_memory_is_one_sentence(saved, tmp_path, name) -> None:
    """Catches a traceback, code that runs, and a model that is half changed."""
    spoil, said = SPOILED[name]
    folder = tmp_path / "toy"
    shutil.copytree(saved, folder)
    spoil(folder)
    model = toy_model(1, 2)
    with pytest.raises(PairError, match=said) as caught:
        load_memory(folder, model, "toy/target")
    assert "\n" not in str(caught.value)
    before = toy_model(1, 2).state_dict()
    assert all(torch.equal(weight, before[key]) for key, weight in model.state_dict().items())


@pytest.mark.parametrize("given", ["", "nowhere", 5, None])
def test_a_name_that_is_no_folder_is_named(given) -> None:
    with pytest.raises(PairError, match="give the folder of a memory, or"):
        load_memory(given, toy_model(1, 2), "toy/target")
