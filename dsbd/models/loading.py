"""Loads a pair by name: bundled, from folders, or by hub ids. Code that comes with a model is never run."""

import os
import pickle
import re
from collections.abc import Generator, Mapping
from pathlib import Path
from typing import Any

import torch
from huggingface_hub import snapshot_download
from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.distributed import DistributedConfig

from dsbd.assets import BUNDLED_PAIRS, asset_path
from dsbd.errors import PairError, first_line
from dsbd.models.attention import pack_groups
from dsbd.models.choices import require_device_map, resolve_device, resolve_dtype, resolve_engine
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair, revision_of
from dsbd.models.memory import free_bytes, in_gigabytes, is_out_of_memory
from dsbd.models.pair import Pair
from dsbd.models.quiet import without_progress
from dsbd.models.threads import limit_threads
from dsbd.models.weights import is_packed, weights_of
from dsbd.steps import value_of

BUNDLED = "bundled"
FLOAT32_BELOW = 4_000_000
"""A CPU runs models with fewer parameters faster in float32 than in bfloat16: their weights stay in its cache, and
bfloat16 packs them again in each call (bundled draft, 6 tokens: 1.04 against 1.18 ms)."""
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
DeviceMap = str | Mapping[str, Any]


def load_pair(
    target: str | Path | None = None,
    draft: str | Path | None = None,
    device: str = "auto",
    dtype: str = "auto",
    engine: str = "auto",
    device_map: DeviceMap | None = None,
    load_kwargs: Mapping[str, Any] | None = None,
) -> Pair:
    """Load a pair and check that each model can see a forest in one cache row.

    Args:
        target: folder or hub id of a causal language model; ``bundled:stories`` or ``bundled:sql``, with ``draft``
            None, is a bundled pair, and None its default, the stories.
        draft: a smaller one with the same vocabulary; a target with None here leaves only methods
            that draft nothing.
        device: ``auto`` (CUDA if there is one), ``cpu``, ``cuda``, ``cuda:1``, ...
        dtype: ``auto`` (bfloat16 if the processor computes it natively, else float32; float32 for a tiny
            model on a CPU) or a name of :data:`dsbd.models.choices.DTYPES`.
        engine: ``eager``; ``traced``: forwards without the model's Python, on any device; ``fused``: the same with
            fewer operations, for Llama models; ``graph``: forwards of fixed shape, captured as CUDA graphs; ``auto``:
            graph on a GPU (eager on ZeroGPU), on a CPU fused for Llama models in bfloat16, for Llama draft models in
            float32 too, and traced for all others. A model that fused fails on at load is traced; one that another
            engine fails on, or that is spread over devices, runs eagerly.
        device_map: spreads each model over devices, CPU memory and disk, as ``from_pretrained`` does: ``auto``,
            ``balanced``, ``sequential``, or a device for each part. Leave ``device`` at ``auto`` then.
        load_kwargs: further arguments of ``from_pretrained`` for both models, such as ``quantization_config`` or
            ``offload_folder``. ``{"tp_plan": "auto"}`` in each process that ``torchrun`` starts spreads the models
            over the processes. For different ones, load the models and call :func:`dsbd.make_pair`.

    Raises:
        PairError: a model cannot be found or loaded, is no causal language model, or would not fit the free memory, the
            vocabularies differ, device, device map, dtype or engine is unknown, or the engine cannot work here.
    """
    return value_of(loading(target, draft, device, dtype, engine, device_map, load_kwargs))


def loading(
    target: str | Path | None = None,
    draft: str | Path | None = None,
    device: str = "auto",
    dtype: str = "auto",
    engine: str = "auto",
    device_map: DeviceMap | None = None,
    load_kwargs: Mapping[str, Any] | None = None,
) -> Generator[str, None, Pair]:
    """Load a pair as :func:`load_pair` does; yield what is done next, in words. Closing the generator cancels."""
    target, draft = sources_of(target, draft)
    place = resolve_device(device)
    resolve_dtype(dtype, place)
    resolve_engine(engine, place)
    if device_map is not None and device != "auto":
        raise PairError(f"device {device!r} and device_map {str(device_map)[:100]!r} both place the models; give one")
    if isinstance(device_map, str):
        require_device_map(device_map)
    more = _checked_arguments(load_kwargs)
    limit_threads()
    yield f"loading {display_name(target)}"
    with without_progress:
        target_model, tokenizer = _load(target, place, dtype, device_map, more), _load_tokenizer(target)
    draft_model, draft_tokenizer = None, None
    if draft is not None:
        yield f"loading {display_name(draft)}"
        with without_progress:
            draft_model, draft_tokenizer = _load(draft, place, dtype, device_map, more), _load_tokenizer(draft)
    yield "checking"
    return make_pair(target_model, draft_model, tokenizer, engine, draft_tokenizer)


def sources_of(target: str | Path | None, draft: str | Path | None) -> tuple[str | Path, str | Path | None]:
    """Return the folders or hub ids of both models; those of a bundled pair where one is named, or nothing is.

    Raises:
        PairError: one is no name; a draft is given without a target or beside a bundled pair; or there is no such
            bundled pair.
    """
    for role, source in {"target": target, "draft": draft}.items():
        if source is not None and (source == "" or not isinstance(source, (str, Path))):
            given = repr(source) if isinstance(source, (str, int)) else f"of type {type(source).__name__}"
            raise PairError(f"{role} is {given}; give a folder or a hub id, and loaded models to make_pair")
    if target is None and draft is not None:
        raise PairError(f"draft {str(draft)!r} is given without a target; give both, or neither for the bundled pair")
    if target is None:
        target = f"{BUNDLED}:{BUNDLED_PAIRS[0]}"
    if isinstance(target, str) and target.partition(":")[0] == BUNDLED:
        return _bundled_pair(target, draft)
    return target, draft


def _checked_arguments(given: Mapping[str, Any] | None) -> dict[str, Any]:
    """Return further arguments of ``from_pretrained``. Raises: PairError: one is load_pair's own, or would run code."""
    arguments = dict(given or {})
    for name in arguments:
        if name in ("dtype", "torch_dtype", "device_map", "attn_implementation", "config") or "remote_code" in name:
            raise PairError(
                f"load_kwargs has {name!r}, which is not taken; dtype and device_map are arguments of load_pair, "
                f"code of a model is never run, and a model loaded in another way is for make_pair"
            )
    if "tp_plan" in arguments:
        if "WORLD_SIZE" not in os.environ:
            raise PairError(
                "load_kwargs has 'tp_plan', which spreads a model over processes, and there is only this one; start "
                "the program with torchrun --nproc-per-node N"
            )
        arguments["distributed_config"] = DistributedConfig(tp_plan=arguments.pop("tp_plan"))
    return arguments


def _bundled_pair(name: str, draft: str | Path | None) -> tuple[Path, Path]:
    """Return the folders of the bundled pair of this name, ``bundled:PAIR``."""
    pair = name.partition(":")[2] or BUNDLED_PAIRS[0]
    if pair not in BUNDLED_PAIRS:
        known = ", ".join(f"{BUNDLED}:{each}" for each in BUNDLED_PAIRS)
        raise PairError(f"there is no bundled pair {name[:100]!r}; choose one of {known}")
    if draft is not None:
        raise PairError(f"{name!r} brings its own draft model; leave draft {str(draft)!r} out")
    folder = asset_path(f"models/{pair}")
    return folder / "target", folder / "draft"


def _load(
    source: str | Path, device: torch.device, dtype: str, device_map: DeviceMap | None, more: dict[str, Any]
) -> LanguageModel:
    name = require_name(source)
    number = resolve_dtype(dtype, device)
    if device_map is not None:
        more = {**more, "device_map": device_map}
    elif not more:
        _require_memory(name, device, number)
    try:
        config = AutoConfig.from_pretrained(name)
        if getattr(config, "is_encoder_decoder", False):
            raise PairError(f"{name} is an encoder-decoder model; use a decoder-only (causal) one")
        attention = "eager" if getattr(config.get_text_config(), "attn_logit_softcapping", None) else "sdpa"
        model = _from_pretrained(name, number, attention, more)
        if dtype == "auto" and device.type == "cpu" and not more and model.num_parameters() < FLOAT32_BELOW:
            model = _from_pretrained(name, torch.float32, attention, more)
        placed = device_map is not None or "distributed_config" in more or getattr(model, "is_quantized", False)
        if not placed:
            model = model.to(device)
    except (pickle.UnpicklingError, EOFError, IndexError):
        raise PairError(
            f"cannot load {name!r}: its weights are a pickle that holds more than tensors or is damaged; a pickle can "
            f"run code, so it is not read further; save the weights as safetensors"
        ) from None
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, TypeError, SafetensorError, MemoryError) as error:
        remedy = "give a folder or hub id of a causal language model"
        if is_out_of_memory(error):
            remedy = "memory ran out: choose a smaller model, a dtype of fewer bytes, or another device"
        raise PairError(f"cannot load {name!r}: {first_line(error)}; {remedy}") from None
    pack_groups(model)
    return LanguageModel(model, display_name(source), revision_of(model))


def _require_memory(name: str, device: torch.device, dtype: torch.dtype) -> None:
    """Refuse weights that are larger than the free memory, before any of them is read.

    Raises:
        PairError: the message says how much is needed and free.
    """
    folder = local_folder(name)
    weights = None if folder is None else weights_of(folder)
    free = free_bytes(device)
    if folder is None or weights is None or free is None:
        return
    needed = weights.loaded_bytes(dtype.itemsize, is_packed(folder))
    if needed > free:
        kind = str(dtype).removeprefix("torch.")
        raise PairError(
            f"{name!r} needs {in_gigabytes(needed)} of memory for its weights in {kind}, and {in_gigabytes(free)} are "
            f"free on {device}; choose a smaller model, a dtype of fewer bytes, another device, or a device_map"
        )


def local_folder(name: str) -> Path | None:
    """Return the folder of a model whose files are on this machine, fetched before or not from a hub; else None."""
    if Path(name).is_dir():
        return Path(name)
    try:
        return Path(snapshot_download(name, local_files_only=True))
    except (LocalEntryNotFoundError, HfHubHTTPError, OSError, ValueError):
        return None


def require_name(source: str | Path) -> str:
    """Return the name of a folder that exists, or of a possible hub id; checked before any network access.

    Raises:
        PairError: it is neither.
    """
    name = str(source)
    if Path(name).is_dir():
        if not (Path(name) / "config.json").is_file():
            raise PairError(f"folder {name!r} has no config.json; give the folder that save_pretrained wrote")
    elif not _HUB_ID.fullmatch(name) or ".." in name or "--" in name:
        raise PairError(f"model {name[:100]!r} is neither a folder that exists nor a hub id like owner/name")
    return name


def _from_pretrained(name: str, dtype: torch.dtype, attention: str, more: dict[str, Any]) -> Any:
    try:
        return AutoModelForCausalLM.from_pretrained(name, dtype=dtype, attn_implementation=attention, **more)
    except ValueError:
        if attention == "eager":
            raise
        return AutoModelForCausalLM.from_pretrained(name, dtype=dtype, attn_implementation="eager", **more)


def _load_tokenizer(source: str | Path) -> Any:
    try:
        return AutoTokenizer.from_pretrained(str(source))
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise PairError(
            f"cannot load the tokenizer of {str(source)!r}: {first_line(error)}; save it beside the model"
        ) from None


def display_name(source: str | Path) -> str:
    """Return the name that a model is shown by: its folder's, its hub id, or the bundled pair's."""
    path = Path(source)
    if path.is_dir() and path.parent.parent == asset_path("models"):
        pair = path.parent.name
        return f"{BUNDLED}/{path.name}" if pair == BUNDLED_PAIRS[0] else f"{BUNDLED}:{pair}/{path.name}"
    return path.name if path.is_dir() else str(source)
