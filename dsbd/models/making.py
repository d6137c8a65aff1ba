"""Makes a pair of loaded models: each is checked, and runs in the fastest way that passes."""

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from torch.nn import Module
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from dsbd.drafts import NAMED
from dsbd.drafts.source import CheckedSource, DraftSource
from dsbd.errors import PairError
from dsbd.models.cache import pack_groups
from dsbd.models.check import ForestCheck, check_causal, check_engine, check_forest, check_int8, check_states, eager_of
from dsbd.models.engines.choice import ENGINES, engine_for, resolve_engine
from dsbd.models.files import loading_errors
from dsbd.models.language_model import LanguageModel
from dsbd.models.pair import Pair

KEPT = {
    "states": "each with a separate cache",
    "steps": "each with a separate cache, fed token by token",
    "paths": "each computed from its first token in every iteration",
}
"""How a model's paths are computed if one KV cache cannot hold them all, by :attr:`LanguageModel.attention`."""
FALLS_BACK = {"eager": "runs eagerly", "traced": "runs on torch"}
"""What a model does that falls back to an engine."""


def make_pair(
    target: PreTrainedModel | LanguageModel,
    draft: PreTrainedModel | LanguageModel | DraftSource | str | None = None,
    tokenizer: Any = None,
    engine: str | None = None,
    draft_tokenizer: Any = None,
) -> Pair:
    """Make a pair of loaded models. A model that fails the forest check falls back to a cache for each path.

    The models stay where they are, with their values and dtypes: on one device or several, offloaded or quantised.
    Three things change in them. They are set to evaluation mode. Grouped queries on ``sdpa`` get an attention
    implementation of this package. The engine ``onnx`` joins weights, and the model's weights become views of them. If
    weights change later, make a new pair.

    A model runs eagerly if hooks move its layers between devices.

    Args:
        target: a causal language model.
        draft: a smaller model with the same vocabulary, ``lookup``, or a :class:`dsbd.DraftSource`; with None only
            methods without drafts work.
        tokenizer: of both models.
        engine: as for :func:`dsbd.load_pair`. None is ``auto`` for a model of transformers, and leaves the engine of a
            :class:`LanguageModel`.
        draft_tokenizer: the draft model's tokenizer, to compare its vocabulary with the target's.

    Raises:
        PairError: a model is not a loaded causal language model, or sees later tokens; the tokenizer is missing or has
            tokens that a model lacks; the vocabularies differ; or the engine is unknown or does not work here.
    """
    named = NAMED.get(draft) if isinstance(draft, str) else None
    source = named() if named is not None else draft if isinstance(draft, DraftSource) else None
    loaded: dict[str, Any] = {"target": target}
    if draft is not None and source is None:
        loaded["draft"] = draft
    models = {role: _wrapped(model, role, engine) for role, model in loaded.items()}
    vocabulary = _shared_vocabulary(tokenizer, draft_tokenizer, models)
    checks, fallbacks = dict[str, ForestCheck](), list[str]()
    models = {role: _fitted(model, role, vocabulary, checks, fallbacks) for role, model in models.items()}
    eos = _eos_ids(models["target"], tokenizer)
    if source is not None and named is None:
        source = CheckedSource(source, models["target"].vocabulary_size)
    return Pair(models["target"], models.get("draft", source), tokenizer, eos, checks, fallbacks)


def _wrapped(model: PreTrainedModel | LanguageModel, role: str, engine: str | None) -> LanguageModel:
    """Return the model as a :class:`LanguageModel` with the engine that is asked for. Raises: PairError."""
    if isinstance(model, LanguageModel):
        return model if engine is None else replace(model, engine=engine)
    if not isinstance(model, PreTrainedModel):
        raise PairError(
            f"{role} is a {type(model).__name__}; give a loaded model of transformers, such as "
            f"AutoModelForCausalLM.from_pretrained(...), names to load_pair, or {' or '.join(map(repr, NAMED))} or a "
            f"dsbd.DraftSource as the draft"
        )
    name = str(model.config.name_or_path or type(model).__name__)
    if getattr(model.config, "is_encoder_decoder", False):
        raise PairError(f"{name} is an encoder-decoder model; use a decoder-only (causal) one")
    if model.get_output_embeddings() is None:
        raise PairError(f"{name} ({type(model).__name__}) returns no logits; load it with AutoModelForCausalLM")
    pack_groups(model)
    wrapped = LanguageModel(model.eval(), name)
    if engine is not None:
        resolve_engine(engine, wrapped.device)
    return replace(wrapped, engine=engine or "auto")


def _shared_vocabulary(tokenizer: Any, draft_tokenizer: Any, models: Mapping[str, LanguageModel]) -> int:
    """Return the number of logit columns that both models have. Raises: PairError: the vocabularies do not match."""
    if tokenizer is None:
        raise PairError("there is no tokenizer; give the one that was saved beside the target model")
    for name, value in (("tokenizer", tokenizer), ("draft_tokenizer", draft_tokenizer)):
        if isinstance(value, (str, Path)):
            raise PairError(
                f"{name} is the name {str(value)[:100]!r}; give a loaded one, AutoTokenizer.from_pretrained(...)"
            )
    if draft_tokenizer is not None and "draft" not in models:
        raise PairError("draft_tokenizer is given without a draft model; give that too, or leave it out")
    if draft_tokenizer is not None and (ours := tokenizer.get_vocab()) != (theirs := draft_tokenizer.get_vocab()):
        shared = sum(theirs.get(token) == index for token, index in ours.items())
        raise PairError(
            f"vocabularies differ: {models['target'].id} has {len(ours)} entries, {models['draft'].id} has "
            f"{len(theirs)}, {shared} agree; use a draft model of the same family (generate of transformers drafts "
            f"across vocabularies with assistant_model, tokenizer and assistant_tokenizer, by text or by the tokens in "
            f"common; that gives no distribution over the same pairs of beam and token, so it is not exact here)"
        )
    if isinstance(tokenizer, PreTrainedTokenizerBase):
        _require_ids(tokenizer, models)
    return min(model.vocabulary_size for model in models.values())


def _require_ids(tokenizer: PreTrainedTokenizerBase, models: Mapping[str, LanguageModel]) -> None:
    """Check that every model has every id of the tokenizer. Raises: PairError."""
    ids = tokenizer.get_vocab().values()
    least, most = min(ids, default=0), max(ids, default=0)
    if least < 0:
        raise PairError(f"the tokenizer has a token with the id {least}; ids begin at 0, so download it again")
    remedies = {
        "target": "give the tokenizer that was saved beside the target model",
        "draft": "give a draft model of the same family that has them all, or none",
    }
    for role, model in models.items():
        if most >= model.vocabulary_size:
            raise PairError(
                f"the {role} model {model.id} has {model.vocabulary_size:,} ids, and the tokenizer has ids up to "
                f"{most:,}; {remedies[role]}"
            )


def _fitted(
    model: LanguageModel, role: str, vocabulary: int, checks: dict[str, ForestCheck], fallbacks: list[str]
) -> LanguageModel:
    """Return the model with the fastest way to run that passes; add its check and what is slower. Raises: PairError."""
    if model.vocabulary_size != vocabulary:
        model = replace(model, vocabulary_limit=vocabulary)
    _require_causal(model)
    if model.turning_point is not None:
        fallbacks.append(f"{role} model is used up to {model.turning_point} tokens: beyond, its rotations are others")
    eager = eager_of(model)
    if model.weights == "int8":
        checks[role], overlap, moved = check_int8(model, eager)
        if not checks[role].passed:
            raise PairError(f"{model.id} does not run in int8: {checks[role].reason}; leave weights at float")
        fallbacks.append(
            f"{role} model is rounded to int8: its distribution overlaps the float model's by {overlap:.1%} in the "
            f"check, and moves with the forest by {moved:.1%} at most, so guesses may change the text of a seed"
        )
        return model
    checks[role] = check_forest(model, eager)
    if not checks[role].passed:
        way = next((way for way in ("states", "steps") if check_states(model, way).passed), "paths")
        fallbacks.append(f"{role} model falls back to one row per path, {KEPT[way]}: {checks[role].reason}")
        return replace(model, attention=way, engine="eager")
    fast = replace(model, attention="forest", engine=engine_for(model) if model.engine == "auto" else model.engine)
    while fast.engine != "eager" and not (check := check_engine(fast, eager)).passed:
        fast = replace(fast, engine=ENGINES[fast.engine].fallback)
        fallbacks.append(f"{role} model {FALLS_BACK[fast.engine]}: {check.reason}")
    return fast


def _require_causal(model: LanguageModel) -> None:
    """Check that the model runs, and that no token changes an earlier distribution. Raises: PairError."""
    with loading_errors(model.id):
        check = check_causal(model)
    if not check.passed and math.isfinite(check.error):
        raise PairError(
            f"{model.id} is not causal: a later token changes what an earlier one predicts; load a causal model "
            f"(a BERT-like one has to be loaded with is_decoder=True)"
        )


def _eos_ids(model: LanguageModel, tokenizer: Any) -> frozenset[int]:
    """Return the EOS ids of the generation config; without any, the tokenizer's. Raises: PairError."""
    named = model.model.generation_config.eos_token_id if model.model.generation_config is not None else None
    if named is None:
        named = tokenizer.eos_token_id
    ids = named if isinstance(named, (list, tuple)) else [] if named is None else [named]
    if not all(isinstance(token, int) for token in ids):
        raise PairError(f"the EOS ids of {model.id} are {str(named)[:100]}; give numbers in its generation_config.json")
    return frozenset(token for token in ids if token >= 0)  # old files write -1 for no EOS


ON_MODEL = "_dsbd_pairs"
"""The attribute of a target that holds its pairs, so that target and drafts are freed together."""


class _CachedPairs(dict[Any, tuple[list[Any], Pair]]):
    """Pairs by the identity of the draft, each with the fingerprint of its models. A copy of the target has none."""

    def __reduce__(self) -> Any:
        return dict, ()


class Ids:
    """A tokenizer for ids without text."""

    eos_token_id = None

    def decode(self, ids: Sequence[int], **options: Any) -> str:
        return ""


def cached_pair(target: Any, draft: Any) -> Pair:
    """Return the pair of two loaded models; it is checked at the first call, and again after a model changed.

    Engines copy and join weights, so a pair from before a change would follow the old distribution. A change is noticed
    if a weight was replaced, moved, cast or changed in place, or if a module has other numbers, texts, lists or
    methods: an adapter that was switched, another scaling, the mode. A change through ``parameter.data`` is not
    noticed, because torch does not count it. Models with hooks or with methods of their own run eagerly: what these
    read is not seen.

    Raises:
        PairError: as :func:`make_pair` does.
    """
    pairs = vars(target).get(ON_MODEL)
    if not isinstance(pairs, _CachedPairs):
        pairs = vars(target)[ON_MODEL] = _CachedPairs()
    key = draft if isinstance(draft, str) else id(draft)
    modules = [module for model in (target, draft) if isinstance(model, Module) for module in model.modules()]
    if key not in pairs or pairs[key][0] != _fingerprint(modules):
        own = any("forward" in vars(one) or one._forward_hooks or one._forward_pre_hooks for one in modules)
        pair = make_pair(target, draft, Ids(), "eager" if own else None)
        pairs[key] = _fingerprint(modules), pair
    return pairs[key][1]


def _fingerprint(modules: Sequence[Module]) -> list[Any]:
    """Return a value that changes with all that modules hold: weights, hooks, methods, numbers, texts."""
    return [(id(type(module).forward), *map(_print_of, vars(module).items())) for module in modules]


def _print_of(value: Any) -> Any:
    """Return where a tensor is and how often it was written, if torch can tell; what is in a list; or what it is."""
    if isinstance(value, torch.Tensor):
        address, version = 0, None if value.is_inference() else value._version
        with suppress(RuntimeError):  # a packed tensor has no single address
            address = value.data_ptr()
        return address, version, value.dtype, value.device, value.shape
    if isinstance(value, _CachedPairs):
        return None
    if isinstance(value, dict):
        return tuple(map(_print_of, value.items()))
    if isinstance(value, (list, tuple, set)):
        return tuple(map(_print_of, value))
    return value if isinstance(value, (bool, int, float, str)) else id(value)
