"""A target and a draft model that share a vocabulary, and the checks that they can work together."""

import math
import sys
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import torch
from transformers import PreTrainedModel, PreTrainedTokenizerBase

from dsbd.errors import PairError, PromptError
from dsbd.models.alibi import bias_by_depth
from dsbd.models.attention import pack_groups
from dsbd.models.check import EagerForests, ForestCheck, check_causal, check_engine, check_forest, check_states
from dsbd.models.choices import resolve_engine
from dsbd.models.engines.fused import why_not_fused
from dsbd.models.language_model import LanguageModel
from dsbd.models.pieces import TokenBytes
from dsbd.models.ranks import Ranks, ranks_of

KEPT = {
    "states": "each with a cache of its own",
    "steps": "each with a cache of its own, fed token by token",
    "paths": "each computed from its first token in every pass",
}
"""What becomes of a model's paths where one row cannot hold them all, by :attr:`LanguageModel.attention`."""


@dataclass(frozen=True, eq=False)
class Pair:
    """The models, the tokenizer, and the ids that end a text. A pair is equal to itself only."""

    target: LanguageModel
    draft: LanguageModel | None
    tokenizer: Any
    eos: frozenset[int]
    checks: dict[str, ForestCheck] = field(default_factory=dict)
    """The outcome of the forest check for each role."""
    ranks: Ranks | None = None
    """The processes that a model is spread over (tensor parallelism); None where both models are whole in this one."""

    @property
    def reports(self) -> bool:
        """Return True in the process that reports: of several that decode together, the first."""
        return self.ranks is None or self.ranks.number == 0

    @property
    def device(self) -> torch.device:
        """Return the device of the target's inputs."""
        return self.target.device

    @property
    def fallbacks(self) -> list[str]:
        """Return what runs slower than it could, and why; empty if every check passed."""
        eagerly = "runs eagerly"
        roles = {"target": self.target, "draft": self.draft}
        kept = {role: KEPT.get(model.attention, "") for role, model in roles.items() if model is not None}
        ways = {"graph": eagerly, "traced": eagerly, "fused": "is traced"}
        failed = [(role.partition(" "), check.reason) for role, check in self.checks.items() if not check.passed]
        return [
            f"{role} model {ways.get(engine) or f'falls back to one row per path, {kept[role]}'}: {reason}"
            for (role, _, engine), reason in failed
        ]

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

    def require_whole(self, doing: str) -> None:
        """Check that both models are whole in this process. Raises: PairError: one is spread over several."""
        if self.ranks is not None:
            raise PairError(
                f"a model is spread over {self.ranks.count} processes, and {doing} runs in one; load the models "
                f"without tp_plan, with a device_map where one device is too small"
            )

    def require_room(self, prompt_size: int, max_new_tokens: int) -> None:
        """Check the length. Raises: PromptError if prompt and new tokens exceed a model's context."""
        for model in (self.target, self.draft):
            limit = model.context_size if model is not None else None
            if limit is not None and model is not None and prompt_size + max_new_tokens > limit:
                raise PromptError(
                    f"prompt of {prompt_size} tokens plus max_new_tokens {max_new_tokens} exceeds the context of "
                    f"{limit} tokens of {model.id}; shorten the prompt or lower max_new_tokens"
                )


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
    if tokenizer is None:
        raise PairError("there is no tokenizer; give the one that was saved beside the target model")
    if isinstance(tokenizer, (str, Path)):
        raise PairError(
            f"tokenizer is the name {str(tokenizer)[:100]!r}; give a loaded one, AutoTokenizer.from_pretrained(...)"
        )
    if draft_tokenizer is not None:
        _require_same_vocabulary(tokenizer, draft_tokenizer, models)
    limit = min(model.vocabulary_size for model in models.values())
    if isinstance(tokenizer, PreTrainedTokenizerBase) and max(tokenizer.get_vocab().values(), default=0) >= limit:
        raise PairError(
            f"the tokenizer has {len(tokenizer)} tokens and {' or '.join(model.id for model in models.values())} has "
            f"{limit}; give the tokenizer that was saved beside the target model"
        )
    ranks = ranks_of(models.values())
    checks = dict[str, ForestCheck]()
    for role, given in models.items():
        model = given if given.vocabulary_size == limit else replace(given, vocabulary_limit=limit)
        _require_causal(model)
        bias_by_depth(model.model)
        eager = EagerForests(model)
        checks[role] = check_forest(model, eager)
        models[role] = replace(model, attention="forest" if checks[role].passed else _best_fallback(model))
        while checks[role].passed and models[role].engine != "eager":
            tried = models[role].engine
            checks[f"{role} {tried}"] = check_engine(models[role], eager)
            if checks[f"{role} {tried}"].passed:
                break
            models[role] = replace(models[role], engine="traced" if tried == "fused" else "eager")
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


def _require_causal(model: LanguageModel) -> None:
    """Check that no token changes the law before it. Raises: PairError."""
    check = check_causal(model)
    if not check.passed and math.isfinite(check.error):
        raise PairError(
            f"{model.id} is not causal: a later token changes the law of an earlier one; load a causal language model "
            f"(a BERT-like one has to be loaded with is_decoder=True)"
        )


def _best_fallback(model: LanguageModel) -> str:
    """Return the fastest kind of row for each path that is right for this model."""
    return next((way for way in ("states", "steps") if check_states(model, way).passed), "paths")


def _require_same_vocabulary(tokenizer: Any, other: Any, models: dict[str, LanguageModel]) -> None:
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


def revision_of(model: Any) -> str | None:
    """Return the commit of the hub's files that a model was loaded from; None if it is not known."""
    commit: str | None = getattr(model.config, "_commit_hash", None)
    return commit


def _eos_ids(model: LanguageModel, tokenizer: Any) -> frozenset[int]:
    """Return every EOS id in the generation config; the tokenizer's EOS id if there is none."""
    named = model.model.generation_config.eos_token_id if model.model.generation_config is not None else None
    if named is None:
        named = tokenizer.eos_token_id
    return frozenset(named if isinstance(named, (list, tuple)) else [] if named is None else [named])
