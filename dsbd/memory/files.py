"""A memory's folder: ``config.json`` and ``memory.safetensors``. Reading it runs no code of the folder.

Beside the network it holds adapters, low-rank additions to the model's own matrices (LoRA, arXiv 2106.09685), with
which it was trained. They are added to the weights when the memory is loaded, so the model that decodes has no extra
operation.
"""

import json
from collections.abc import Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any, Literal, NamedTuple

import torch
from safetensors import SafetensorError
from safetensors.torch import load, save

from dsbd.errors import PairError
from dsbd.memory.reading import Memory, MemoryNetwork, MemorySettings
from dsbd.util import read_file, write_file

FORMAT: Literal["dsbd-memory/1"] = "dsbd-memory/1"
CONFIG, WEIGHTS = "config.json", "memory.safetensors"
ADAPTERS, UP, DOWN = "adapters.", ".up", ".down"
SAMPLED = (slice(0, 8), slice(0, 8))
"""The numbers of the token embeddings by which a model is known again."""
NEAR = 1e-2
"""Roundings of other dtypes stay below this share of the largest sampled number."""


class LowRank(NamedTuple):
    """What is added to a matrix [outputs, inputs]: ``up @ down``."""

    up: torch.Tensor
    """[outputs, rank]."""
    down: torch.Tensor
    """[rank, inputs]."""


def save_memory(folder: Path, network: MemoryNetwork, adapters: Mapping[str, LowRank], model: Any, name: str) -> None:
    """Write a memory into a folder, for a model of transformers without the adapters, which is called ``name``."""
    folder.mkdir(parents=True, exist_ok=True)
    tensors = {name: weight.detach().bfloat16().contiguous() for name, weight in network.state_dict().items()}
    for layer, added in adapters.items():
        tensors[f"{ADAPTERS}{layer}{UP}"] = added.up.detach().bfloat16().contiguous()
        tensors[f"{ADAPTERS}{layer}{DOWN}"] = added.down.detach().bfloat16().contiguous()
    write_file(folder / WEIGHTS, save(tensors, metadata={"format": "pt"}))
    config = {"format": FORMAT, "model": {"name": name, **_facts(model)}, "memory": asdict(network.settings)}
    write_file(folder / CONFIG, f"{json.dumps(config)}\n")


def load_memory(source: str | Path, model: Any, name: str) -> Memory:
    """Read a memory from a folder, and add its adapters to the weights of a model of transformers, in place.

    Raises:
        PairError: the folder is missing or damaged, or the memory was made for another model.
    """
    folder = require_folder(source)
    try:
        config = json.loads(read_file(folder / CONFIG).decode("utf-8-sig"))
    except (OSError, ValueError):
        raise _damaged(folder, f"{CONFIG} is not JSON") from None
    kind = config.get("format") if isinstance(config, dict) else type(config).__name__
    if kind != FORMAT:
        raise PairError(
            f"{CONFIG} in {str(folder)[:200]!r} has the format {kind!r:.60}, expected {FORMAT!r}; a memory is made by "
            f"python -m training memory"
        )
    try:
        network = MemoryNetwork(MemorySettings(**config["memory"]))
    except (KeyError, TypeError):
        raise _damaged(folder, f"the sizes in {CONFIG} are missing or unknown") from None
    _require_same_model(config.get("model"), model, name, folder)
    try:
        tensors = load(read_file(folder / WEIGHTS, 2**34))
    except (OSError, SafetensorError, ValueError) as error:
        raise _damaged(folder, f"{WEIGHTS} cannot be read ({type(error).__name__})") from None
    for weight, parameter in network.named_parameters():
        if weight not in tensors or tensors[weight].shape != parameter.shape:
            raise _damaged(folder, f"{weight} in {WEIGHTS} is missing or of another shape")
        parameter.data.copy_(tensors[weight])
    add_adapters(model, _adapters_of(tensors, folder))
    device = model.get_input_embeddings().weight.device
    return Memory(folder.name, network.to(device).eval().requires_grad_(False))


def require_folder(source: str | Path) -> Path:
    """Return the folder of a memory. Raises: PairError: it does not exist."""
    if not isinstance(source, (str, Path)) or not str(source) or not (Path(source) / CONFIG).is_file():
        raise PairError(
            f"memory {source!r:.200} is not a folder with a {CONFIG}; give the folder of a memory, or take the pair "
            f"bundled:memory"
        )
    return Path(source)


def _facts(model: Any) -> dict[str, Any]:
    """Return what tells a model from others."""
    config, table = model.config.get_text_config(decoder=True), model.get_input_embeddings().weight
    return {
        "model_type": config.model_type,
        "hidden_size": config.hidden_size,
        "layers": config.num_hidden_layers,
        "vocabulary_size": config.vocab_size,
        "sample": [round(number, 6) for number in table[SAMPLED].float().flatten().tolist()],
    }


def _require_same_model(made_for: Any, model: Any, name: str, folder: Path) -> None:
    """Raise a PairError if the memory was made for another model."""
    here = _facts(model)
    if not isinstance(made_for, dict) or set(made_for) != {"name", *here}:
        raise _damaged(folder, f"{CONFIG} does not say which model it was made for")
    for fact, value in here.items():
        if fact == "sample":
            theirs, ours = torch.tensor(made_for[fact]), torch.tensor(value)
            same = theirs.shape == ours.shape and bool((theirs - ours).abs().max() <= NEAR * theirs.abs().max())
            difference = "weights: others"
        else:
            same, difference = made_for[fact] == value, f"{fact}: {made_for[fact]!r:.60}, not {value!r:.60}"
        if not same:
            raise PairError(
                f"the memory in {str(folder)[:200]!r} was made for {made_for['name']!r:.100}, and {name} is another "
                f"model ({difference}); load it with the model that it was made for"
            )


def _adapters_of(tensors: Mapping[str, torch.Tensor], folder: Path) -> dict[str, LowRank]:
    adapters = dict[str, LowRank]()
    for name, up in tensors.items():
        if name.startswith(ADAPTERS) and name.endswith(UP):
            layer = name.removeprefix(ADAPTERS).removesuffix(UP)
            down = tensors.get(f"{ADAPTERS}{layer}{DOWN}")
            if down is None or up.shape[1:] != down.shape[:1]:
                raise _damaged(folder, f"{name} in {WEIGHTS} does not fit its other half")
            adapters[layer] = LowRank(up, down)
    return adapters


def _damaged(folder: Path, what: str) -> PairError:
    return PairError(f"the memory in {str(folder)[:200]!r} is damaged: {what}; save or download it again")


@torch.no_grad()
def add_adapters(model: Any, adapters: Mapping[str, LowRank]) -> None:
    """Add low-rank products to the weights of a model's linear layers, by their names, in place.

    Raises:
        PairError: the model has no such layer, or it is of another shape, or quantised. Then nothing is changed.
    """
    weights = [_weight_of(model, name, added) for name, added in adapters.items()]
    for weight, added in zip(weights, adapters.values(), strict=True):
        product = added.up.to(weight.device).float() @ added.down.to(weight.device).float()
        weight.copy_((weight.float() + product).to(weight.dtype))


def _weight_of(model: Any, name: str, added: LowRank) -> torch.Tensor:
    try:
        weight = model.get_submodule(name).weight
    except AttributeError:
        raise PairError(f"the memory adds to a layer {name[:100]!r}, which the model does not have") from None
    if not isinstance(weight, torch.Tensor) or not weight.is_floating_point() or type(weight.data) is not torch.Tensor:
        raise PairError(f"the memory adds to the layer {name[:100]!r}, which is quantised; load the model without that")
    if weight.shape != (added.up.shape[0], added.down.shape[1]):
        raise PairError(f"the memory adds to a layer {name[:100]!r} of another shape; it was made for another model")
    return weight
