"""Makes a pair of loaded models: each is checked, and gets the fastest way to run that is right for it."""

import math
from dataclasses import replace
from typing import Any

import torch
from transformers import PreTrainedModel

from dsbd.errors import PairError
from dsbd.models.alibi import bias_by_depth
from dsbd.models.attention import pack_groups
from dsbd.models.check import EagerForests, check_causal, check_engine, check_forest, check_states
from dsbd.models.choices import resolve_engine
from dsbd.models.engines.fused import why_not_fused
from dsbd.models.language_model import LanguageModel
from dsbd.models.outline import loading_errors
from dsbd.models.pair import ModelCheck, Pair
from dsbd.models.ranks import ranks_of
from dsbd.models.vocabulary import shared_vocabulary


def make_pair(
    target: PreTrainedModel | LanguageModel,
    draft: PreTrainedModel | LanguageModel | None = None,
    tokenizer: Any = None,
    engine: str | None = None,
    draft_tokenizer: Any = None,
) -> Pair:
    """Make a pair of loaded models; a model on which the forest check fails falls back to one row per path.

    Such a row has a cache of its own, if the model's caches can be copied; else it is computed from its first token.

    The models stay where they were loaded, with their values: on one device or several, offloaded, quantised, each with
    its own dtype and device. What changes in them: they are set to evaluation mode; grouped queries on ``sdpa`` get an
    attention implementation of this package; methods that build ALiBi biases are wrapped; and the engine ``fused``
    joins weights, of which the model's own become views. Weights that change later need a new pair.

    A model whose layers hooks move between devices runs eagerly. So does one that transformers spread over the
    processes of ``torchrun``; all of them make the pair and decode together.

    Args:
        target: a causal language model.
        draft: a smaller one with the same vocabulary; None leaves only methods that draft nothing.
        tokenizer: of both.
        engine: as for :func:`dsbd.load_pair`; None is ``auto`` for models of transformers, and what a
            :class:`LanguageModel` names.
        draft_tokenizer: of the draft model, if there is one of its own; its vocabulary is compared with the target's.

    Raises:
        PairError: a model is no loaded causal language model, or sees tokens that come later; there is no tokenizer, or
            it has tokens that the models do not have; the vocabularies differ; or the engine is unknown or cannot
            work here.
    """
    models = {"target": _wrapped(target, "target", engine)}
    if draft is not None:
        models["draft"] = _wrapped(draft, "draft", engine)
    vocabulary = shared_vocabulary(tokenizer, draft_tokenizer, models)
    ranks = ranks_of(models.values())
    fitted = {role: _fitted(model, role, vocabulary) for role, model in models.items()}
    models = {role: model for role, (model, _) in fitted.items()}
    checks = tuple(check for _, found in fitted.values() for check in found)
    return Pair(models["target"], models.get("draft"), tokenizer, _eos_ids(models["target"], tokenizer), checks, ranks)


def _wrapped(model: PreTrainedModel | LanguageModel, role: str, engine: str | None) -> LanguageModel:
    """Return the model behind the decoder's one call, with its engine."""
    if isinstance(model, LanguageModel):
        found = _auto_engine(model, role) if engine == "auto" else engine
        return model if found is None else replace(model, engine=found)
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
    asked = engine or "auto"
    found = _auto_engine(wrapped, role) if asked == "auto" else resolve_engine(asked, wrapped.device)
    return replace(wrapped, engine=found)


def _auto_engine(model: LanguageModel, role: str) -> str:
    """Return what ``auto`` is for a model; docs/decisions/0006 has the times of fused forwards.

    They are clearly faster in bfloat16, and in float32 with few tokens only, as the draft model's forwards have.
    """
    found = resolve_engine("auto", model.device)
    pays = model.dtype == torch.bfloat16 or (role == "draft" and model.dtype == torch.float32)
    return "fused" if found == "traced" and pays and why_not_fused(model) is None else found


def _fitted(model: LanguageModel, role: str, vocabulary: int) -> tuple[LanguageModel, list[ModelCheck]]:
    """Return the model in the fastest way that is right for it, and what was checked.

    Args:
        model: with the engine that is asked for.
        role: ``target`` or ``draft``.
        vocabulary: columns of the logits that are tokens of the pair.

    Raises:
        PairError: it sees tokens that come later.
    """
    if model.vocabulary_size != vocabulary:
        model = replace(model, vocabulary_limit=vocabulary)
    _require_causal(model)
    bias_by_depth(model.model)
    eager = EagerForests(model)
    in_one_row = ModelCheck(role, None, check_forest(model, eager))
    if not in_one_row.outcome.passed:
        return replace(model, attention=_best_fallback(model)), [in_one_row]
    running, checks = _with_engine(replace(model, attention="forest"), role, eager)
    return running, [in_one_row, *checks]


def _with_engine(model: LanguageModel, role: str, eager: EagerForests) -> tuple[LanguageModel, list[ModelCheck]]:
    """Return the model with the first engine that computes what its own Python does, and the engines' checks."""
    checks = list[ModelCheck]()
    while model.engine != "eager":
        checks.append(ModelCheck(role, model.engine, check_engine(model, eager)))
        if checks[-1].outcome.passed:
            break
        model = replace(model, engine="traced" if model.engine == "fused" else "eager")
    return model, checks


def _require_causal(model: LanguageModel) -> None:
    """Check that the model runs, and that no token changes the law before it. Raises: PairError."""
    with loading_errors(model.id):
        check = check_causal(model)
    if not check.passed and math.isfinite(check.error):
        raise PairError(
            f"{model.id} is not causal: a later token changes the law of an earlier one; load a causal language model "
            f"(a BERT-like one has to be loaded with is_decoder=True)"
        )


def _best_fallback(model: LanguageModel) -> str:
    """Return the fastest kind of row for each path that is right for this model."""
    return next((way for way in ("states", "steps") if check_states(model, way).passed), "paths")


def revision_of(model: Any) -> str | None:
    """Return the commit of the hub's files that a model was loaded from; None if it is not known."""
    commit: str | None = getattr(model.config, "_commit_hash", None)
    return commit


def _eos_ids(model: LanguageModel, tokenizer: Any) -> frozenset[int]:
    """Return every EOS id in the generation config; the tokenizer's EOS id if there is none."""
    named = model.model.generation_config.eos_token_id if model.model.generation_config is not None else None
    if named is None:
        named = tokenizer.eos_token_id
    ids = named if isinstance(named, (list, tuple)) else [] if named is None else [named]
    if not all(isinstance(token, int) for token in ids):
        raise PairError(f"the EOS ids of {model.id} are {str(named)[:100]}; give numbers in its generation_config.json")
    return frozenset(token for token in ids if token >= 0)  # in old files -1 stands for none
