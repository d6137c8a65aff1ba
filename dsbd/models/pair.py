"""A target and a draft model that share a vocabulary, and what was found when they were loaded."""

import sys
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

import torch

from dsbd.errors import PairError, PromptError, first_line, told_as
from dsbd.models.check import ForestCheck
from dsbd.models.language_model import LanguageModel
from dsbd.models.pieces import TokenBytes
from dsbd.models.ranks import Ranks

KEPT = {
    "states": "each with a cache of its own",
    "steps": "each with a cache of its own, fed token by token",
    "paths": "each computed from its first token in every pass",
}
"""What becomes of a model's paths where one row cannot hold them all, by :attr:`LanguageModel.attention`."""
INSTEAD_OF = {"graph": "runs eagerly", "traced": "runs eagerly", "fused": "is traced"}
"""What becomes of a model that an engine fails on."""


@dataclass(frozen=True)
class ModelCheck:
    """A check at load of one of the two models."""

    role: str
    """``target`` or ``draft``."""
    engine: str | None
    """The engine whose forwards were compared with the model's own; None where it is the forest in one cache row."""
    outcome: ForestCheck

    @property
    def name(self) -> str:
        """Return the role, with the engine if it is the check of one."""
        return self.role if self.engine is None else f"{self.role} {self.engine}"


@dataclass(frozen=True, eq=False)
class Pair:
    """The models, the tokenizer, and the ids that end a text. A pair is equal to itself only."""

    target: LanguageModel
    draft: LanguageModel | None
    tokenizer: Any
    eos: frozenset[int]
    model_checks: tuple[ModelCheck, ...] = ()
    """The checks at load, in their order."""
    ranks: Ranks | None = None
    """The processes that a model is spread over (tensor parallelism); None where both models are whole in this one."""

    def __repr__(self) -> str:
        models = {"target": self.target, "draft": self.draft}
        return f"Pair({', '.join(f'{role}={_shown(model)}' for role, model in models.items())})"

    @property
    def checks(self) -> dict[str, ForestCheck]:
        """Return the outcomes of the checks: of the forest check by role, of an engine's by role and engine."""
        return {check.name: check.outcome for check in self.model_checks}

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
        failed = [check for check in self.model_checks if not check.outcome.passed]
        return [f"{check.role} model {self._instead(check)}: {check.outcome.reason}" for check in failed]

    def _instead(self, check: ModelCheck) -> str:
        """Return what becomes of a model because of a check that failed."""
        if check.engine is not None:
            return INSTEAD_OF[check.engine]
        model = self.target if check.role == "target" else self.draft
        assert model is not None, "it was checked"
        return f"falls back to one row per path, {KEPT[model.attention]}"

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
            one = prompt[0] if isinstance(prompt, (list, tuple)) and prompt else prompt
            messages = "; of messages give the text of the user's turn, and chat=True, which applies the chat template"
            kind = type(prompt).__name__
            raise PromptError(f"prompt is of type {kind}; give a text{messages if isinstance(one, Mapping) else ''}")
        try:
            prompt.encode()
        except UnicodeEncodeError as error:
            raise PromptError(f"prompt is not valid Unicode at character {error.start}; remove it") from None
        if chat:
            if not getattr(self.tokenizer, "chat_template", None):
                raise PromptError(f"{self.target.id} has no chat template; leave chat off")
            turns = [{"role": "user", "content": prompt}]
            with told_as(self._cannot_encode):
                return list(self.tokenizer.apply_chat_template(turns, add_generation_prompt=True, return_dict=False))
        with told_as(self._cannot_encode):
            ids = list(self.tokenizer(prompt).input_ids)
        if not ids and self.tokenizer.bos_token_id is None:
            raise PromptError(f"prompt is empty and {self.target.id} has no BOS token; give some text")
        return ids or [self.tokenizer.bos_token_id]

    def _cannot_encode(self, error: BaseException) -> PromptError:
        """Return the error of a prompt that a tokenizer's rules or chat template fail on."""
        said = f"{type(error).__name__}: {first_line(error)}"
        return PromptError(f"the tokenizer of {self.target.id} fails on this prompt ({said}); change one of them")

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


def _shown(model: LanguageModel | None) -> str:
    """Return a model's name and how it runs."""
    if model is None:
        return "None"
    return f"<{model.id}, engine {model.engine}, attention {model.attention}, on {model.device}>"
