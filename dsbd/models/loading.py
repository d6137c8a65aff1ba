"""Loads a pair by name: bundled, from folders, or by hub ids. Code that comes with a model is never run."""

import os
import pickle
import re
import sys
from collections.abc import Callable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any

import torch
from transformers import AutoModelForCausalLM

from dsbd.drafts import NAMED
from dsbd.drafts.lookup import LOOKUP
from dsbd.drafts.source import DraftSource
from dsbd.errors import PairError, first_line
from dsbd.machine import SMALL, computes_bfloat16, free_bytes, limit_threads, without_progress
from dsbd.memory.files import load_memory, require_folder
from dsbd.models import files
from dsbd.models.cache import pack_groups
from dsbd.models.engines.choice import resolve_engine, resolve_weights
from dsbd.models.engines.onnx import why_no_graph
from dsbd.models.language_model import LanguageModel
from dsbd.models.making import make_pair
from dsbd.models.pair import Pair
from dsbd.models.smollm2 import fetched, require_fetched
from dsbd.util import BUNDLED_PAIRS, SMOLLM2, asset_path

BUNDLED = "bundled"
WITH_MEMORY = f"{BUNDLED}:memory"
"""The bundled story pair with its memory."""
NAMES = {
    "target": (BUNDLED, *(f"{BUNDLED}:{pair}" for pair in BUNDLED_PAIRS), WITH_MEMORY, SMOLLM2),
    "draft": tuple(NAMED),
}
"""What a role may be besides a folder and a hub id."""
ELSEWHERE = {"ngram": LOOKUP, "n-gram": LOOKUP}
"""Other libraries' words for a name."""
DTYPES = {"float64": torch.float64, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
DEVICE_TYPES = ("cpu", "cuda")
DEVICE_MAPS = ("auto", "balanced", "balanced_low_0", "sequential")
NOT_PASSED_ON = ("dtype", "torch_dtype", "device_map", "attn_implementation", "config", "tp_plan")
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")
DeviceMap = str | Mapping[str, Any]


def load_pair(
    target: str | Path | None = None,
    draft: str | Path | DraftSource | None = None,
    device: str = "auto",
    dtype: str | torch.dtype = "auto",
    engine: str = "auto",
    device_map: DeviceMap | None = None,
    load_kwargs: Mapping[str, Any] | None = None,
    memory: str | Path | None = None,
    weights: str = "auto",
    show: Callable[[str], object] = lambda _: None,
) -> Pair:
    """Load a pair and check that each model can see a forest in one KV cache.

    Args:
        target: folder or hub id of a causal language model, or ``bundled:stories`` or ``bundled:sql`` without a
            ``draft``. None is ``bundled:stories``, and ``bundled:memory`` is the same pair with its memory. Where no
            folder has their name, ``stories``, ``sql`` and ``memory`` do.
            ``smollm2`` is a chat model, once ``python -m dsbd fetch smollm2`` has run.
        draft: a smaller model with the same vocabulary. Or what guesses without one: ``lookup``, which copies from
            prompt and text, or a :class:`dsbd.DraftSource` of your own. With None only methods without drafts work.
        device: ``auto`` (CUDA if there is one; the GPU of ``LOCAL_RANK`` if a launcher sets that), ``cpu``, ``cuda``,
            ``cuda:1``, ...
        dtype: a name of :data:`DTYPES`, or ``auto``: bfloat16 if the processor computes it natively, else float32;
            float32 on a CPU where ONNX Runtime runs the model and both its copies fit the memory.
        engine: how forwards run: ``eager`` (by the model's Python), ``traced``, ``onnx``, ``graph``
            (docs/methods.md), or ``auto``, the rule of ``engine_for``. If an engine fails its check at load,
            onnx becomes traced, and the others eager. A model that is spread runs eagerly.
        device_map: spreads each model over devices, CPU memory and disk, as ``from_pretrained`` does: ``auto``,
            ``balanced``, ``sequential``, or a device for each part. Leave ``device`` at ``auto`` then.
        load_kwargs: further arguments of ``from_pretrained`` for both models, such as ``quantization_config`` or
            ``offload_folder``. If the models need different arguments, load them and call :func:`dsbd.make_pair`.
        memory: folder of a memory that was trained for the target. It adds small matrices to the target's weights, so
            the target's distribution is that of the model with memory; a prompt beyond the context is then read into
            the memory instead of being refused (docs/memory.md).
        weights: ``float``, or ``int8``: both models are rounded to eight bits, and ONNX Runtime runs them on a CPU.
            They are models of their own. A node's distribution depends a little on how many others stand in its pass,
            so with other guesses the same seed may give another text; ``pair.fallbacks`` says how near they are to the
            float models, and how far a node moves. ``auto`` is int8 for ``smollm2`` on a CPU with AVX2, else float.
        show: called with a line about each next step.

    Raises:
        PairError: a model cannot be found or loaded, is not a causal language model, or does not fit the free memory;
            the vocabularies differ; device, device map, dtype, engine or weights are unknown, or do not work here; or
            the memory is missing, damaged, or made for another model.
    """
    target = _whole_name(target)
    if target == WITH_MEMORY:
        if memory is not None:
            raise PairError(f"{WITH_MEMORY!r} brings its own memory; leave memory {str(memory)[:100]!r} out")
        memory = asset_path("models/stories/memory")
    source = draft if isinstance(draft, DraftSource) else None
    is_bundled, named = target == WITH_MEMORY, LOOKUP if isinstance(draft, DraftSource) else draft
    target, name = sources_of(target, named)
    where = resolve_device(device)
    resolve_dtype(dtype, where)
    is_suited = target == fetched() and not (load_kwargs or device_map)
    weights, engine, dtype = resolve_weights(weights, engine, dtype, where, is_suited)
    resolve_engine(engine, where)
    if device_map is not None and device != "auto":
        raise PairError(f"device {device!r} and device_map {str(device_map)[:100]!r} both place the models; give one")
    options = _options(load_kwargs, device_map)
    if memory is not None:
        require_folder(memory)
    limit_threads()
    loaded = list[tuple[LanguageModel, Any]]()
    for one in (target, None if name in NAMED else name):
        if one is not None:
            show(f"loading {display_name(one)}")
            with without_progress():
                loaded.append(_load(one, where, dtype, engine, weights, options))
    model, tokenizer = loaded[0]
    if memory is not None:
        model = remembering(model, memory, f"{WITH_MEMORY}/target" if is_bundled else model.id)
        tokenizer.model_max_length = sys.maxsize  # it would warn of long prompts, and these are read
    show("checking")
    own, its = loaded[1] if len(loaded) > 1 else (source or (None if name is None else str(name)), None)
    return make_pair(model, own, tokenizer, engine, its)


def remembering(model: LanguageModel, memory: str | Path, name: str) -> LanguageModel:
    """Return the model with a memory, whose matrices are added to its weights, under this name. Raises: PairError."""
    if not model.takes_embeddings:
        raise PairError(f"{model.id} takes no input embeddings, so a memory cannot stand in front of its prompt")
    if model.is_hooked:
        raise PairError(f"{model.id} is spread, and a memory needs it whole on one device; leave device_map out")
    return replace(model, id=name, memory=load_memory(memory, model.model, model.id))


def _whole_name(target: Any) -> Any:
    """Return the whole name of a bundled pair for its last part, where no folder has that name; else what it is."""
    whole = f"{BUNDLED}:{target}"
    return whole if isinstance(target, str) and whole in NAMES["target"] and not os.path.isdir(target) else target


def sources_of(target: str | Path | None, draft: str | Path | None) -> tuple[str | Path, str | Path | None]:
    """Return the folders or hub ids of both models. Without a target they are those of the default bundled pair.

    Raises:
        PairError: one is not a name, or nearly one of ``NAMES``, a draft comes without a target or with a bundled pair,
            the bundled pair is unknown, or ``smollm2`` was not fetched.
    """
    for role, source in {"target": target, "draft": draft}.items():
        if source is not None and (source == "" or not isinstance(source, (str, Path))):
            value = repr(source) if isinstance(source, (str, int)) else f"of type {type(source).__name__}"
            raise PairError(f"{role} is {value}; give a folder or a hub id, and loaded models to make_pair")
        word = str(source).lower()
        word = ELSEWHERE.get(word, word)
        near = [name for name in NAMES[role] if word == name.partition(":")[2]] or get_close_matches(word, NAMES[role])
        if near and source not in near and not {":", "/"} & set(word) and not os.path.isdir(str(source)):
            raise PairError(f"{role} is {str(source)!r}; did you mean {near[0]!r}?")
    if target is None and draft not in (None, *NAMED):
        raise PairError(f"draft {str(draft)!r} is given without a target; give both, or neither for the bundled pair")
    name = BUNDLED if target is None else target
    if name == SMOLLM2:
        return require_fetched(), draft or LOOKUP
    if not isinstance(name, str) or name.partition(":")[0] != BUNDLED:
        return name, draft
    pair = BUNDLED_PAIRS[0] if name == WITH_MEMORY else name.partition(":")[2] or BUNDLED_PAIRS[0]
    if pair not in BUNDLED_PAIRS:
        raise PairError(f"there is no bundled pair {name[:100]!r}; choose one of {', '.join(NAMES['target'][1:-1])}")
    if draft not in (None, *NAMED):
        names = " or ".join(map(repr, NAMED))
        raise PairError(f"{name!r} brings its own draft model; leave draft {str(draft)!r} out, or give {names}")
    folder = asset_path(f"models/{pair}")
    return folder / "target", draft or folder / "draft"


def resolve_device(device: str) -> torch.device:
    """Return the device of this name. Raises: PairError if it is unknown or does not exist here."""
    if device == "auto":
        rank, has_cuda = os.environ.get("LOCAL_RANK", ""), torch.cuda.is_available()
        if has_cuda and rank.isdecimal():  # a launcher numbers the processes of a machine: each has a GPU of its own
            torch.cuda.set_device(int(rank) % torch.cuda.device_count())
        return torch.device("cuda" if has_cuda else "cpu")
    try:
        resolved = torch.device(device)
        if resolved.type not in DEVICE_TYPES:
            raise RuntimeError(f"device type {resolved.type} is not supported")
        torch.empty(0, device=resolved)
    except (RuntimeError, AssertionError) as error:
        raise PairError(f"device {device!r} cannot be used ({first_line(error)}); use auto, cpu or cuda") from None
    return resolved


def resolve_dtype(dtype: str | torch.dtype, device: torch.device) -> torch.dtype:
    """Return the dtype of this name. Raises: PairError if it is unknown."""
    if dtype == "auto":
        return torch.bfloat16 if device.type == "cuda" or computes_bfloat16() else torch.float32
    name = str(dtype).removeprefix("torch.")
    if name not in DTYPES:
        raise PairError(f"dtype is {dtype!r}; choose auto, {', '.join(DTYPES)}, or weights='int8'")
    return DTYPES[name]


def _options(load_kwargs: Mapping[str, Any] | None, device_map: DeviceMap | None) -> dict[str, Any]:
    """Return the arguments for ``from_pretrained``. Raises: PairError: one is not allowed."""
    options = dict(load_kwargs or {})
    for name in options:
        if name in NOT_PASSED_ON or "remote_code" in name:
            raise PairError(
                f"load_kwargs has {name!r}, which is not allowed; dtype and device_map are arguments of load_pair, "
                f"code of a model is never run, and make_pair takes a model that you load yourself"
            )
    if isinstance(device_map, str) and device_map not in DEVICE_MAPS:
        try:
            torch.device(device_map)
        except RuntimeError:
            raise PairError(
                f"device_map is {device_map[:100]!r}; choose one of {', '.join(DEVICE_MAPS)}, or name a device, such "
                f"as cuda:0"
            ) from None
    return options if device_map is None else {**options, "device_map": device_map}


def _load(
    name: str | Path, device: torch.device, dtype: str | torch.dtype, engine: str, weights: str, options: dict[str, Any]
) -> tuple[LanguageModel, Any]:
    """Return a model and its tokenizer. Raises: PairError."""
    source = files.source_of(require_name(name))
    config, number = files.config_of(source), resolve_dtype(dtype, device)
    if not options:
        if files.is_packed(source.folder):  # quantised weights stay as they are stored
            size = sum(file.stat().st_size for file in files.weight_files(source.folder) if file.is_file())
        else:
            outline = files.without_weights(source.name, config, number)
            if dtype == "auto" and device.type == "cpu" and _is_faster_in_float32(outline, engine, device):
                number = torch.float32
            size = outline.num_parameters() * number.itemsize
        if size > (free := free_bytes(device)):
            raise PairError(
                f"{source.name!r} needs {size / 1e9:,.2f} GB of memory for its weights in "
                f"{str(number).removeprefix('torch.')}, and {free / 1e9:,.2f} GB are free on {device}; choose a "
                f"smaller model, a dtype of fewer bytes, another device, or a device_map"
            )
    tokenizer = files.tokenizer_of(source)
    attention = "eager" if getattr(config.get_text_config(), "attn_logit_softcapping", None) else "sdpa"
    with files.loading_errors(repr(source.name)):
        model = _with_weights(source, number, attention, options)
        if "device_map" not in options and not getattr(model, "is_quantized", False):
            model = model.to(device)
        pack_groups(model)
    return LanguageModel(model, display_name(name), weights=weights), tokenizer


def _is_faster_in_float32(outline: Any, engine: str, device: torch.device) -> bool:
    """Return True for a very small model, and for one that ONNX Runtime will run: it fits, and packed a second time."""
    count = int(outline.num_parameters())
    onnx = engine in ("auto", "onnx") and why_no_graph(LanguageModel(outline, "")) is None
    return count < SMALL or (onnx and 2 * count * torch.float32.itemsize < free_bytes(device))


def require_name(source: str | Path) -> str:
    """Return the name of an existing folder or a possible hub id, without network. Raises: PairError: it is neither."""
    name = str(source)
    if name.endswith(files.GGUF) and os.path.isfile(name):
        raise files.packed_error(name)
    if not os.path.isdir(name) and (not _HUB_ID.fullmatch(name) or ".." in name or "--" in name):
        raise PairError(f"model {name[:100]!r} is neither a folder that exists nor a hub id like owner/name")
    return name


def _with_weights(source: files.Source, dtype: torch.dtype, attention: str, options: dict[str, Any]) -> Any:
    """Return a model with its weights. Raises: PairError: some are missing, or a pickle holds more than tensors."""
    how = {
        "ignore_mismatched_sizes": True,
        "local_files_only": source.local_only,
        **options,
        "output_loading_info": True,
    }
    try:
        loaded: Any = AutoModelForCausalLM.from_pretrained(
            source.name, dtype=dtype, attn_implementation=attention, trust_remote_code=False, **how
        )
    except (pickle.UnpicklingError, EOFError, IndexError):
        if not files.has_only_pickles(source.folder):
            raise
        raise PairError(
            f"cannot load {source.name!r}: its weights are a pickle that holds more than tensors or is damaged; a "
            f"pickle can run code, so it is not read further; save the weights as safetensors"
        ) from None
    except ValueError:
        if attention == "eager":
            raise
        return _with_weights(source, dtype, "eager", options)
    model, report = loaded
    if wrong := [*report["missing_keys"], *(name for name, *_ in report["mismatched_keys"])]:
        raise PairError(
            f"cannot load {source.name!r}: {len(wrong)} of the weights that its config.json asks for are missing or of "
            f"another shape, such as {min(wrong)}; download it again, or save the model again"
        )
    return model


def display_name(source: str | Path) -> str:
    """Return the name to show for a model: the name of its folder, its hub id, or the bundled pair's name."""
    path = Path(source)
    if not os.path.isdir(path):  # False for names that cannot be paths, too
        return str(source)
    if path == fetched():
        return SMOLLM2
    pair = path.parent.name
    if path.parent.parent != asset_path("models"):
        return path.name
    return f"{BUNDLED}/{path.name}" if pair == BUNDLED_PAIRS[0] else f"{BUNDLED}:{pair}/{path.name}"
