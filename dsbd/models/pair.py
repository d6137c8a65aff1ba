"""Loads and checks a target and a draft model that share a vocabulary."""

import logging
import os
import pickle
import re
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from safetensors import SafetensorError
from transformers import AutoConfig, AutoModelForCausalLM, AutoTokenizer
from transformers.utils import logging as transformers_logging

from dsbd.assets import BUNDLED_PAIRS, asset_path
from dsbd.errors import PairError, PromptError
from dsbd.models.attention import pack_groups
from dsbd.models.check import ForestCheck, check_engine, check_forest
from dsbd.models.language_model import LanguageModel
from dsbd.models.memory import is_out_of_memory
from dsbd.models.pieces import TokenBytes
from dsbd.models.threads import limit_threads

DTYPES = {"float64": torch.float64, "float32": torch.float32, "float16": torch.float16, "bfloat16": torch.bfloat16}
BUNDLED = "bundled"
DEVICE_TYPES = ("cpu", "cuda")
ENGINES = ("auto", "eager", "traced", "graph")
FLOAT32_BELOW = 4_000_000
"""A CPU runs models with fewer parameters faster in float32 than in bfloat16: their weights stay in its cache, and
bfloat16 packs them again in each call (bundled draft, 6 tokens: 1.04 against 1.18 ms)."""
_HUB_ID = re.compile(r"[A-Za-z0-9][\w.-]{0,95}(/[A-Za-z0-9][\w.-]{0,95})?")


@dataclass(frozen=True, eq=False)
class Pair:
    """The models, the tokenizer, and the ids that end a text. A pair is equal to itself only."""

    target: LanguageModel
    draft: LanguageModel | None
    tokenizer: Any
    eos: frozenset[int]
    checks: dict[str, ForestCheck] = field(default_factory=dict)
    """The outcome of the forest check for each role."""

    @property
    def device(self) -> torch.device:
        """Return the device of the target's inputs."""
        return self.target.device

    @property
    def fallbacks(self) -> list[str]:
        """Return what runs slower than it could, and why; empty if every check passed."""
        eagerly = "runs eagerly"
        ways = {"graph": eagerly, "traced": eagerly, "": "falls back to one row per path"}
        failed = [(role.partition(" "), check.reason) for role, check in self.checks.items() if not check.passed]
        return [f"{model} model {ways[engine]}: {reason}" for (model, _, engine), reason in failed]

    @cached_property
    def token_bytes(self) -> TokenBytes:
        """Return the exact bytes of each token."""
        return TokenBytes(self.tokenizer)

    def encode(self, prompt: str, chat: bool = False) -> list[int]:
        """Return the token ids of a prompt, at least one.

        Args:
            prompt: text; empty becomes BOS.
            chat: apply the tokenizer's chat template, the prompt being the user's turn.

        Raises:
            PromptError: the prompt is no text, cannot be encoded, or is empty and there is no BOS token; or the
                tokenizer has no chat template.
        """
        if not isinstance(prompt, str):
            raise PromptError(f"prompt is a {type(prompt).__name__}; give a text")
        try:
            prompt.encode()
        except UnicodeEncodeError as error:
            raise PromptError(f"prompt is not valid Unicode at character {error.start}; remove it") from None
        if chat:
            if not getattr(self.tokenizer, "chat_template", None):
                raise PromptError(f"{self.target.id} has no chat template; leave chat off")
            turns = [{"role": "user", "content": prompt}]
            return list(self.tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=False))
        ids = list(self.tokenizer(prompt).input_ids)
        if not ids and self.tokenizer.bos_token_id is None:
            raise PromptError(f"prompt is empty and {self.target.id} has no BOS token; give some text")
        return ids or [self.tokenizer.bos_token_id]

    def decode(self, token_ids: Sequence[int]) -> str:
        """Return the text of generated tokens, without special tokens."""
        text: str = self.tokenizer.decode(list(token_ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)
        return text

    def room_after(self, prompt_size: int) -> int:
        """Return how many tokens fit behind a prompt in both models' contexts; very many if neither has a limit."""
        limits = [model.context_size for model in (self.target, self.draft) if model is not None]
        return min((limit for limit in limits if limit is not None), default=sys.maxsize) - prompt_size

    def require_room(self, prompt_size: int, max_new_tokens: int) -> None:
        """Check the length. Raises: PromptError if prompt and new tokens exceed a model's context."""
        for model in (self.target, self.draft):
            limit = model.context_size if model is not None else None
            if limit is not None and model is not None and prompt_size + max_new_tokens > limit:
                raise PromptError(
                    f"prompt of {prompt_size} tokens plus max_new_tokens {max_new_tokens} exceeds the context of "
                    f"{limit} tokens of {model.id}; shorten the prompt or lower max_new_tokens"
                )


def load_pair(
    target: str | Path | None = None,
    draft: str | Path | None = None,
    device: str = "auto",
    dtype: str = "auto",
    engine: str = "auto",
) -> Pair:
    """Load a pair and check that each model can see a forest in one cache row.

    Args:
        target: folder or hub id of a causal language model; ``bundled:stories`` or ``bundled:sql``, with ``draft``
            None, is a bundled pair, and None its default, the stories.
        draft: a smaller one with the same vocabulary; a target with None here leaves only methods
            that draft nothing.
        device: ``auto`` (CUDA if there is one), ``cpu``, ``cuda``, ``cuda:1``, ...
        dtype: ``auto`` (bfloat16 if the processor computes it natively, else float32; float32 for a tiny
            model on a CPU) or a name of :data:`DTYPES`.
        engine: ``eager``; ``traced``: forwards without the model's Python, on any device; ``graph``: forwards of
            fixed shape, captured as CUDA graphs; ``auto``: graph on a GPU (eager on ZeroGPU), traced on a CPU. A
            model that an engine fails on at load runs eagerly.

    Raises:
        PairError: a model cannot be found or loaded, is no causal language model, the vocabularies
            differ, device, dtype or engine is unknown, or the engine cannot work here.
    """
    if target is None and draft is not None:
        raise PairError(f"draft {str(draft)!r} is given without a target; give both, or neither for the bundled pair")
    if target is None:
        target = f"{BUNDLED}:{BUNDLED_PAIRS[0]}"
    if isinstance(target, str) and target.partition(":")[0] == BUNDLED:
        target, draft = _bundled_pair(target, draft)
    place = resolve_device(device)
    resolve_dtype(dtype, place)
    resolve_engine(engine, place)
    limit_threads()
    target_model, tokenizer = _load(target, place, dtype), _load_tokenizer(target)
    draft_model = None
    if draft is not None:
        draft_model = _load(draft, place, dtype)
        _require_same_vocabulary(tokenizer, _load_tokenizer(draft), target_model, draft_model)
        limit = min(target_model.vocabulary_size, draft_model.vocabulary_size)
        target_model, draft_model = _limited(target_model, limit), _limited(draft_model, limit)
    return make_pair(target_model, draft_model, tokenizer, resolve_engine(engine, place))


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


def make_pair(target: LanguageModel, draft: LanguageModel | None, tokenizer: Any, engine: str = "eager") -> Pair:
    """Make a pair of loaded models; a model on which the forest check fails falls back to one row per path."""
    checks, models = dict[str, ForestCheck](), dict[str, LanguageModel]()
    for role, model in (("target", target), ("draft", draft)):
        if model is not None:
            checks[role] = check_forest(model)
            attention = "forest" if checks[role].passed else "paths"
            models[role] = replace(model, attention=attention, engine=engine)
            if engine != "eager" and attention == "forest":
                checks[f"{role} {engine}"] = check_engine(models[role])
                if not checks[f"{role} {engine}"].passed:
                    models[role] = replace(models[role], engine="eager")
    return Pair(models["target"], models.get("draft"), tokenizer, _eos_ids(target, tokenizer), checks)


def resolve_device(device: str) -> torch.device:
    """Return the device of this name. Raises: PairError if it is unknown or does not exist here."""
    if device == "auto":
        return torch.device("cuda" if torch.cuda.is_available() else "cpu")
    try:
        place = torch.device(device)
        if place.type not in DEVICE_TYPES:
            raise RuntimeError(f"device type {place.type} is not supported")
        torch.empty(0, device=place)
    except (RuntimeError, AssertionError) as error:
        raise PairError(f"device {device!r} cannot be used ({_first_line(error)}); use auto, cpu or cuda") from None
    return place


def resolve_dtype(dtype: str, device: torch.device) -> torch.dtype:
    """Return the dtype of this name. Raises: PairError if it is unknown."""
    if dtype == "auto":
        return torch.bfloat16 if device.type == "cuda" or computes_bfloat16() else torch.float32
    if dtype not in DTYPES:
        raise PairError(f"dtype is {dtype!r}; choose auto, {', '.join(DTYPES)}")
    return DTYPES[dtype]


def resolve_engine(engine: str, device: torch.device) -> str:
    """Return the engine, with ``auto`` resolved. Raises: PairError: it is unknown, or ``graph`` without a GPU."""
    if engine not in ENGINES:
        raise PairError(f"engine is {engine!r}; choose one of {', '.join(ENGINES)}")
    if engine == "auto":
        if device.type == "cpu":
            return "traced"
        return "eager" if os.environ.get("SPACES_ZERO_GPU") else "graph"
    if engine == "graph" and device.type == "cpu":
        raise PairError("engine 'graph' captures CUDA graphs, and the device is a CPU; use traced, or auto")
    return engine


def computes_bfloat16() -> bool:
    """Return True if this processor multiplies bfloat16 natively (AMX or AVX512-BF16)."""
    probes = ("_is_amx_tile_supported", "_is_avx512_bf16_supported")
    return any(getattr(torch.cpu, probe, lambda: False)() for probe in probes)


def _load(source: str | Path, device: torch.device, dtype: str) -> LanguageModel:
    name = _require_name(source)
    transformers_logging.disable_progress_bar()
    logging.getLogger("huggingface_hub").setLevel(logging.ERROR)  # a user need not see its retries
    try:
        config = AutoConfig.from_pretrained(name)
        if getattr(config, "is_encoder_decoder", False):
            raise PairError(f"{name} is an encoder-decoder model; use a decoder-only (causal) one")
        attention = "eager" if getattr(config.get_text_config(), "attn_logit_softcapping", None) else "sdpa"
        model = _from_pretrained(name, resolve_dtype(dtype, device), attention)
        if dtype == "auto" and device.type == "cpu" and model.num_parameters() < FLOAT32_BELOW:
            model = _from_pretrained(name, torch.float32, attention)
        pack_groups(model)
        model = model.to(device).eval()
    except (pickle.UnpicklingError, EOFError, IndexError):
        raise PairError(
            f"cannot load {name!r}: its weights are a pickle that holds more than tensors or is damaged; a pickle can "
            f"run code, so it is not read further; save the weights as safetensors"
        ) from None
    except (OSError, ValueError, KeyError, ImportError, RuntimeError, SafetensorError, MemoryError) as error:
        remedy = "give a folder or hub id of a causal language model"
        if is_out_of_memory(error):
            remedy = "memory ran out: choose a smaller model, a dtype of fewer bytes, or another device"
        raise PairError(f"cannot load {name!r}: {_first_line(error)}; {remedy}") from None
    return LanguageModel(model, _display_name(source), _revision(model))


def _require_name(source: str | Path) -> str:
    """Return the name of a folder that exists, or of a possible hub id; checked before any network access."""
    name = str(source)
    if Path(name).is_dir():
        if not (Path(name) / "config.json").is_file():
            raise PairError(f"folder {name!r} has no config.json; give the folder that save_pretrained wrote")
    elif not _HUB_ID.fullmatch(name) or ".." in name or "--" in name:
        raise PairError(f"model {name[:100]!r} is neither a folder that exists nor a hub id like owner/name")
    return name


def _first_line(error: Exception) -> str:
    text = str(error).strip()
    return text.splitlines()[0][:200] if text else type(error).__name__


def _from_pretrained(name: str, dtype: torch.dtype, attention: str) -> Any:
    try:
        return AutoModelForCausalLM.from_pretrained(name, dtype=dtype, attn_implementation=attention)
    except ValueError:
        if attention == "eager":
            raise
        return AutoModelForCausalLM.from_pretrained(name, dtype=dtype, attn_implementation="eager")


def _load_tokenizer(source: str | Path) -> Any:
    try:
        return AutoTokenizer.from_pretrained(str(source))
    except (OSError, ValueError, KeyError, ImportError) as error:
        raise PairError(
            f"cannot load the tokenizer of {str(source)!r}: {_first_line(error)}; save it beside the model"
        ) from None


def _require_same_vocabulary(tokenizer: Any, other: Any, target: LanguageModel, draft: LanguageModel) -> None:
    ours, theirs = tokenizer.get_vocab(), other.get_vocab()
    if ours != theirs:
        shared = sum(theirs.get(token) == place for token, place in ours.items())
        raise PairError(
            f"vocabularies differ: {target.id} has {len(ours)} entries, {draft.id} has {len(theirs)}, {shared} agree; "
            f"use a draft model of the same family"
        )


def _limited(model: LanguageModel, limit: int) -> LanguageModel:
    return model if model.vocabulary_size == limit else replace(model, vocabulary_limit=limit)


def _display_name(source: str | Path) -> str:
    path = Path(source)
    if path.is_dir() and path.parent.parent == asset_path("models"):
        pair = path.parent.name
        return f"{BUNDLED}/{path.name}" if pair == BUNDLED_PAIRS[0] else f"{BUNDLED}:{pair}/{path.name}"
    return path.name if path.is_dir() else str(source)


def _revision(model: Any) -> str | None:
    commit: str | None = getattr(model.config, "_commit_hash", None)
    return commit


def _eos_ids(model: LanguageModel, tokenizer: Any) -> frozenset[int]:
    """Return every EOS id in the generation config; the tokenizer's EOS id if there is none."""
    named = model.model.generation_config.eos_token_id if model.model.generation_config is not None else None
    if named is None:
        named = tokenizer.eos_token_id
    return frozenset(named if isinstance(named, (list, tuple)) else [] if named is None else [named])
