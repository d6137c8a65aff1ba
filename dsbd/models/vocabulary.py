"""The vocabulary that the models and tokenizers of a pair share."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from transformers import PreTrainedTokenizerBase

from dsbd.errors import PairError
from dsbd.models.language_model import LanguageModel


def shared_vocabulary(tokenizer: Any, draft_tokenizer: Any, models: Mapping[str, LanguageModel]) -> int:
    """Return how many columns of the logits are tokens of the pair: the fewest that a model has.

    Args:
        tokenizer: of both models.
        draft_tokenizer: of the draft model, if there is one of its own.
        models: by role.

    Raises:
        PairError: there is no tokenizer, it has tokens that a model does not have, the vocabularies differ, or there is
            a tokenizer of a draft model and no draft model.
    """
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
    """Check that an argument is one. Raises: PairError."""
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
