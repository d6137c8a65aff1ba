"""Makes a pair of loaded models: each is checked, and runs in the fastest way that passes."""

import math
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from dsbd.errors import PairError
from dsbd.models.attention import pack_groups
from dsbd.models.check import ForestCheck, check_causal, check_engine, check_forest, check_states, eager_forests
from dsbd.models.choosing import fastest
from dsbd.models.engines.fused import why_not_fused
from dsbd.models.engines.onnx import why_not_onnx
from dsbd.models.free_memory import free_bytes
from dsbd.models.language_model import LanguageModel
from dsbd.models.load_options import resolve_engine
from dsbd.models.outline import loading_errors
from dsbd.models.pair import Pair
from dsbd.models.ranks import ranks_of


def make_pair(
    target: PreTrainedModel | LanguageModel,
    draft: PreTrainedModel | LanguageModel | None = None,
    tokenizer: Any = None,
    engine: str | None = None,
    draft_tokenizer: Any = None,
) -> Pair:
    """Make a pair of loaded models. A model that fails the forest check falls back to one row per path.

    The models stay where they are, with their values and dtypes: on one device or several, offloaded or quantised. Three
    things change in them. They are set to evaluation mode. Grouped queries on ``sdpa`` get an attention implementation
    of this package. The engine ``fused`` joins weights, and the model's weights become views of them. If weights change
    later, make a new pair.

    A model runs eagerly if hooks move its layers between devices, or if transformers spread it over the processes of
    ``torchrun``. All these processes make the pair and decode together.

    Args:
        target: a causal language model.
        draft: a smaller model with the same vocabulary; with None only methods without drafts work.
        tokenizer: of both models.
        engine: as for :func:`dsbd.load_pair`. None is ``auto`` for a model of transformers, and leaves the engine of a
            :class:`LanguageModel`.
        draft_tokenizer: the draft model's tokenizer, to compare its vocabulary with the target's.

    Raises:
        PairError: a model is not a loaded causal language model, or sees later tokens; the tokenizer is missing or has
            tokens that a model lacks; the vocabularies differ; or the engine is unknown or does not work here.
    """
    given = {"target": target} if draft is None else {"target": target, "draft": draft}
    models = {role: _wrapped(model, role, engine) for role, model in given.items()}
    vocabulary = _shared_vocabulary(tokenizer, draft_tokenizer, models)
    ranks = ranks_of(models.values())
    checks = dict[str, ForestCheck]()
    models = {role: _fitted(model, role, vocabulary, checks) for role, model in models.items()}
    return Pair(models["target"], models.get("draft"), tokenizer, _eos_ids(models["target"], tokenizer), checks, ranks)


def _wrapped(model: PreTrainedModel | LanguageModel, role: str, engine: str | None) -> LanguageModel:
    """Return the model as a :class:`LanguageModel` with the engine that is asked for. Raises: PairError."""
    if isinstance(model, LanguageModel):
        return model if engine is None else replace(model, engine=engine)
    if not isinstance(model, PreTrainedModel):
        raise PairError(
            f"{role} is a {type(model).__name__}; give a loaded model of transformers, such as "
            f"AutoModelForCausalLM.from_pretrained(...), or give names to load_pair"
        )
    name = str(model.config.name_or_path or type(model).__name__)
    if getattr(model.config, "is_encoder_decoder", False):
        raise PairError(f"{name} is an encoder-decoder model; use a decoder-only (causal) one")
    if model.get_output_embeddings() is None:
        raise PairError(f"{name} ({type(model).__name__}) returns no logits; load it with AutoModelForCausalLM")
    pack_groups(model)
    wrapped = LanguageModel(model.eval(), name, revision_of(model))
    if engine is not None:
        resolve_engine(engine, wrapped.device)
    return replace(wrapped, engine=engine or "auto")


def _shared_vocabulary(tokenizer: Any, draft_tokenizer: Any, models: Mapping[str, LanguageModel]) -> int:
    """Return the number of logit columns that both models have. Raises: PairError: the vocabularies do not match."""
    _require_tokenizer(tokenizer, "tokenizer")
    if draft_tokenizer is not None:
        if "draft" not in models:
            raise PairError("draft_tokenizer is given without a draft model; give that too, or leave it out")
        _require_tokenizer(draft_tokenizer, "draft_tokenizer")
        _require_same_tokens(tokenizer, draft_tokenizer, models)
    vocabulary = min(model.vocabulary_size for model in models.values())
    if isinstance(tokenizer, PreTrainedTokenizerBase):
        _require_ids(tokenizer, models)
    return vocabulary


def _require_ids(tokenizer: PreTrainedTokenizerBase, models: Mapping[str, LanguageModel]) -> None:
    """Check that every model has every id of the tokenizer. Raises: PairError."""
    ids = tokenizer.get_vocab().values()
    least, most = min(ids, default=0), max(ids, default=0)
    if least < 0:
        raise PairError(f"the tokenizer has a token with the id {least}; ids begin at 0, so download it again")
    for role, model in models.items():
        if most >= model.vocabulary_size:
            remedy = "give the tokenizer that was saved beside the target model"
            if role == "draft":
                remedy = "give a draft model of the same family that has them all, or none"
            raise PairError(
                f"the {role} model {model.id} has {model.vocabulary_size:,} ids, and the tokenizer has ids up to "
                f"{most:,}; {remedy}"
            )


def _require_tokenizer(given: Any, name: str) -> None:
    """Raise a PairError if the argument is missing or only a name."""
    if given is None:
        raise PairError("there is no tokenizer; give the one that was saved beside the target model")
    if isinstance(given, (str, Path)):
        raise PairError(
            f"{name} is the name {str(given)[:100]!r}; give a loaded one, AutoTokenizer.from_pretrained(...)"
        )


def _require_same_tokens(tokenizer: Any, other: Any, models: Mapping[str, LanguageModel]) -> None:
    """Check that the ids of both tokenizers mean the same tokens. Raises: PairError."""
    ours, theirs = tokenizer.get_vocab(), other.get_vocab()
    if ours != theirs:
        shared = sum(theirs.get(token) == place for token, place in ours.items())
        raise PairError(
            f"vocabularies differ: {models['target'].id} has {len(ours)} entries, {models['draft'].id} has "
            f"{len(theirs)}, {shared} agree; use a draft model of the same family (generate of transformers drafts "
            f"across vocabularies with assistant_model, tokenizer and assistant_tokenizer, by text or by the tokens in "
            f"common; that gives no law over the same pairs of beam and token, so it is not exact here)"
        )


def _engines(model: LanguageModel, role: str) -> tuple[str, ...]:
    """Return the engine that is asked for; for ``auto``, those that may be the fastest.

    Fused forwards are clearly faster than traced ones in bfloat16; in float32 only with few tokens, as when drafting
    (decision 0006). ONNX Runtime keeps the weights a second time, packed (decision 0009).
    """
    found = resolve_engine("auto", model.device) if model.engine == "auto" else model.engine
    if model.engine != "auto" or found != "traced":
        return (found,)
    pays = model.dtype == torch.bfloat16 or (role == "draft" and model.dtype == torch.float32)
    torch_engine = "fused" if pays and why_not_fused(model) is None else found
    fits = why_not_onnx(model) is None and model.model.get_memory_footprint() < free_bytes(model.device)
    return ("onnx", torch_engine) if fits else (torch_engine,)


def _fitted(model: LanguageModel, role: str, vocabulary: int, checks: dict[str, ForestCheck]) -> LanguageModel:
    """Return the model with the fastest way to run that passes, and add its checks. Raises: PairError: not causal."""
    if model.vocabulary_size != vocabulary:
        model = replace(model, vocabulary_limit=vocabulary)
    _require_causal(model)
    eager = eager_forests(model)
    checks[role] = check_forest(model, eager)
    if not checks[role].passed:
        ways = (way for way in ("states", "steps") if check_states(model, way).passed)
        return replace(model, attention=next(ways, "paths"), engine="eager")

    def checked(engine: str) -> LanguageModel | None:
        tried = replace(model, attention="forest", engine=engine)
        if engine == "eager":
            return tried
        check = checks[f"{role} {engine}"] = check_engine(tried, eager)
        return tried if check.passed else None

    engines = _engines(model, role)
    found = fastest(model, role, engines, checked)
    if found is None and engines[-1] in ("fused", "onnx"):
        found = checked("traced")
    return found or replace(model, attention="forest", engine="eager")


def _require_causal(model: LanguageModel) -> None:
    """Check that the model runs, and that no token changes an earlier law. Raises: PairError."""
    with loading_errors(model.id):
        check = check_causal(model)
    if not check.passed and math.isfinite(check.error):
        raise PairError(
            f"{model.id} is not causal: a later token changes the law of an earlier one; load a causal language model "
            f"(a BERT-like one has to be loaded with is_decoder=True)"
        )


def revision_of(model: Any) -> str | None:
    """Return the hub's commit that a model was loaded from; None if it is unknown."""
    commit: str | None = getattr(model.config, "_commit_hash", None)
    return commit


def _eos_ids(model: LanguageModel, tokenizer: Any) -> frozenset[int]:
    """Return the EOS ids of the generation config; without any, the tokenizer's. Raises: PairError."""
    named = model.model.generation_config.eos_token_id if model.model.generation_config is not None else None
    if named is None:
        named = tokenizer.eos_token_id
    ids = named if isinstance(named, (list, tuple)) else [] if named is None else [named]
    if not all(isinstance(token, int) for token in ids):
        raise PairError(f"the EOS ids of {model.id} are {str(named)[:100]}; give numbers in its generation_config.json")
    return frozenset(token for token in ids if token >= 0)  # old files write -1 for no EOS
