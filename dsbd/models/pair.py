"""A target and a draft model that share a vocabulary, the outcomes of their checks at load, and the bytes of tokens."""

import hashlib
import json
import re
import reprlib
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import compress
from typing import Any, NamedTuple, TypeGuard

import numpy as np
import torch
from transformers.convert_slow_tokenizer import bytes_to_unicode

from dsbd.drafts.lookup import PromptLookup
from dsbd.drafts.source import DraftSource
from dsbd.errors import PromptError, first_line, wrap_errors
from dsbd.machine import machine, versions
from dsbd.memory.reading import PromptMemory
from dsbd.methods import needs_draft_model
from dsbd.models.check import ForestCheck
from dsbd.models.language_model import LanguageModel
from dsbd.results import ShortRepr
from dsbd.settings import DecodingSettings
from dsbd.util import CancelCheck, Progress, never_cancel

SAMPLED_WEIGHTS = 64
TAIL = 8
"""How many of a prompt's last tokens are tokenised again together with a text that follows them."""
_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
_WORD_START = "\u2581"
BYTE_OF = {character: byte for byte, character in bytes_to_unicode().items()}
"""The byte of each character in byte-level vocabularies."""
Prompt = str | Sequence[int] | Sequence[Mapping[str, Any]] | Mapping[str, Any] | np.ndarray | torch.Tensor
"""A prompt: a text, the ids of one, the output of a tokenizer, or the messages of a chat."""
_MARKER = "41728{:05}"
"""Stands for a message when a chat template is tried: a template that leaves the message out does not write it."""


class WindowedPrompt(NamedTuple):
    """What the models read of a prompt."""

    ids: list[int]
    memory: PromptMemory | None = None
    """What stands in front of the ids in the target; None if they are the whole prompt."""


class TokenBytes:
    """The exact bytes of single tokens, which Hugging Face tokenizers do not return directly.

    They are exact for byte-level and byte-fallback vocabularies; for others they are those of the decoded text.
    """

    def __init__(self, tokenizer: Any) -> None:
        self._tokenizer = tokenizer
        self._special = {token.content for token in getattr(tokenizer, "added_tokens_decoder", {}).values()}
        self._kind = _decoder_kind(tokenizer)
        self._pieces: dict[int, tuple[str, str | None]] = {}

    def of(self, token_id: int) -> bytes:
        """Return the bytes of one token; empty for ids outside the vocabulary."""
        token = self._tokenizer.convert_ids_to_tokens(token_id)
        if token is None:
            return b""
        if token in self._special:
            return str(token).encode()
        if self._kind == "bytes" and all(character in BYTE_OF for character in token):
            return bytes(BYTE_OF[character] for character in token)
        if self._kind == "fallback":
            match = _BYTE_TOKEN.fullmatch(token)
            return bytes([int(match[1], 16)]) if match else token.replace(_WORD_START, " ").encode()
        return str(self._tokenizer.decode([token_id])).encode()

    def piece(self, token_id: int) -> tuple[str, str | None]:
        """Return the text and None; if the bytes alone are not UTF-8, the text with U+FFFD and the bytes in hex."""
        if token_id not in self._pieces:  # a tokenizer is slow, and a trace names a token many times
            content = self.of(token_id)
            try:
                self._pieces[token_id] = content.decode(), None
            except UnicodeDecodeError:
                self._pieces[token_id] = content.decode(errors="replace"), content.hex()
        return self._pieces[token_id]


def _decoder_kind(tokenizer: Any) -> str:
    backend = getattr(tokenizer, "backend_tokenizer", None)
    if backend is None:
        return "text"
    decoder = json.dumps(json.loads(backend.to_str()).get("decoder"))
    if '"ByteLevel"' in decoder:
        return "bytes"
    return "fallback" if '"ByteFallback"' in decoder else "text"


@dataclass(frozen=True, repr=False, eq=False)
class Pair(ShortRepr):
    """The models, the tokenizer, and the ids that end a text. A pair equals only itself."""

    target: LanguageModel
    draft: LanguageModel | DraftSource | None
    tokenizer: Any
    eos: frozenset[int]
    checks: Mapping[str, ForestCheck] = field(default_factory=dict)
    """The outcome of the forest check, by ``target`` or ``draft``."""
    fallbacks: Sequence[str] = ()
    """Sentences on what is slower or shorter than it could be, and why; empty if every check passed."""

    @property
    def models(self) -> list[LanguageModel]:
        """Return the target, and the draft model if there is one."""
        return [self.target, *([self.draft] if isinstance(self.draft, LanguageModel) else [])]

    @property
    def source(self) -> DraftSource | None:
        """Return what guesses in place of a draft model; None if nothing does."""
        return None if isinstance(self.draft, LanguageModel) else self.draft

    @property
    def copies(self) -> bool:
        """Return whether guesses are copied from the prompt and the text so far."""
        return self.source is not None and self.source.record.copies

    @property
    def device(self) -> torch.device:
        return self.target.device

    @cached_property
    def token_bytes(self) -> TokenBytes:
        return TokenBytes(self.tokenizer)

    @property
    def is_chat(self) -> bool:
        """Return whether the tokenizer has a chat template, in which prompts are sent."""
        return bool(getattr(self.tokenizer, "chat_template", None))

    def encode(self, prompt: Prompt, chat: bool | None = None) -> list[int]:
        """Return the token ids of a prompt, at least one.

        Args:
            prompt: text; empty becomes BOS, and a BOS at its beginning, as in a rendered chat template, is not doubled.
                Or ids: a list, an array or a tensor, [length] or [1, length], fed as they are; or the output of a
                tokenizer, without the ids that its attention mask hides. Or messages: a list of dictionaries with
                ``role`` and ``content``, a text or a list of parts, which the tokenizer's chat template writes.
            chat: apply the chat template to a text, the prompt being the user's turn. None: where there is one.

        Raises:
            PromptError: the prompt is something else, cannot be encoded, or is empty and there is no BOS token; the
                tokenizer has no chat template, or one that leaves out a message; or a model lacks an id.
        """
        if isinstance(prompt, str):
            try:
                prompt.encode()
            except UnicodeEncodeError as error:
                raise PromptError(f"prompt is not valid Unicode at character {error.start}; remove it") from None
            by_template = self.is_chat if chat is None else chat
            ids = self._written([{"role": "user", "content": prompt}]) if by_template else self._tokens(prompt)
        elif _are_messages(prompt):
            ids = self._written(prompt)
        elif (numbers := ids_of(prompt)) is None:
            raise PromptError(
                f"prompt is a {type(prompt).__name__}; give a text, the ids of one (list, array, tensor, or what a "
                f"tokenizer returns of one text), or a list of messages with role and content; decode takes a list of "
                f"texts too"
            )
        elif chat:
            raise PromptError("prompt is ids, and chat=True writes a text as the user's turn; leave chat off")
        else:
            ids = numbers
        self.require_ids(ids)
        return ids

    def _tokens(self, text: str) -> list[int]:
        with wrap_errors(self._cannot_encode):
            ids = list(self.tokenizer(text).input_ids)
        bos, bos_text = self.tokenizer.bos_token_id, getattr(self.tokenizer, "bos_token", None)
        if not ids and bos is None:
            raise PromptError(f"prompt is empty and {self.target.id} has no BOS token; give some text")
        if bos_text and ids[:2] == [bos, bos] and not text.startswith(2 * bos_text):
            ids = ids[1:]
        return ids or [bos]

    def _written(self, messages: Sequence[Mapping[str, Any]]) -> list[int]:
        """Return the ids of messages: of texts, or of lists of parts where the template reads those alone."""
        if not self.is_chat:
            raise PromptError(f"{self.target.id} has no chat template; give a text, and leave chat off")
        try:
            ids = self._templated(messages, lambda text: text)
        except PromptError as error:
            try:
                ids = self._templated(messages, lambda text: [{"type": "text", "text": text}])
            except PromptError:
                raise error from None
        if not ids:
            raise PromptError(f"the chat template of {self.target.id} makes no token of this prompt; give some text")
        return ids

    def _templated(self, messages: Sequence[Mapping[str, Any]], form: Callable[[str], Any]) -> list[int]:
        """Return the ids that the template makes of messages, none of which it leaves out. Raises: PromptError."""
        texts = [_text_of(one) for one in messages]
        markers = [None if text is None else _MARKER.format(index) for index, text in enumerate(texts)]

        def apply(contents: list[str | None], **how: Any) -> Any:
            filled = [
                {**one, "content": None if text is None else form(text)}
                for one, text in zip(messages, contents, strict=True)
            ]
            return self.tokenizer.apply_chat_template(filled, add_generation_prompt=True, return_dict=False, **how)

        with wrap_errors(self._cannot_encode):
            ids, marked = list(apply(texts)), apply(markers, tokenize=False)
        for index, marker in enumerate(markers):
            if marker is not None and (marker not in marked or "'type': 'text'" in marked):
                raise PromptError(
                    f"the chat template of {self.target.id} leaves out message {index + 1} of {len(markers)} (role "
                    f"{messages[index]['role']!r}); leave it out, or write the prompt as a text with chat=False"
                )
        return ids

    def continuation(self, ids: Sequence[int], text: str) -> list[int]:
        """Return the ids of a text that follows a prompt; without the prompt its beginning may be split differently.

        Raises:
            PromptError: the tokenizer cannot read it, or there is none.
        """
        tail = list(ids[-TAIL:])
        before = self.tokenizer.decode(tail, clean_up_tokenization_spaces=False)
        with wrap_errors(self._cannot_encode):
            both, alone = (
                list(self.tokenizer(one, add_special_tokens=False).input_ids) for one in (before + text, text)
            )
        return both[len(tail) :] if both[: len(tail)] == tail else alone

    @cached_property
    def copying(self) -> "Pair":
        """Return the pair with guesses that are copied."""
        return replace(self, draft=PromptLookup())

    def require_ids(self, ids: Sequence[int], vocabulary_size: int | None = None) -> None:
        """Check that both models have all ids, and that none is padding. Raises: PromptError."""
        sizes = [one.model.get_input_embeddings().weight.shape[0] for one in self.models]
        most = min(sizes if vocabulary_size is None else [*sizes, vocabulary_size])
        for index, token in enumerate(ids):
            if not 0 <= token < most:
                raise PromptError(
                    f"id {index} of the prompt is {token}; allowed are 0 to {most - 1}; encode the prompt with the "
                    f"tokenizer of {self.target.id}"
                )

    def _cannot_encode(self, error: BaseException) -> PromptError:
        reason = f"{type(error).__name__}: {first_line(error)}"
        return PromptError(f"the tokenizer of {self.target.id} fails on this prompt ({reason}); change one of them")

    def detokenize(self, token_ids: Sequence[int]) -> str:
        """Return the text of generated tokens, without special tokens."""
        return self.tokenizer.decode(list(token_ids), skip_special_tokens=True, clean_up_tokenization_spaces=False)

    def used_by(self, settings: DecodingSettings) -> "Pair":
        """Return the pair without the draft model if a decode with these settings does not call it."""
        return self if needs_draft_model(settings) else replace(self, draft=None)

    @property
    def _limit(self) -> tuple[int, str]:
        """Return the shortest context and whose it is; a very long one if no model has a limit."""
        limits = [(model.context_size or sys.maxsize, model.id) for model in self.models]
        return min(limits, key=lambda limit: limit[0])

    def room_after(self, prompt_size: int) -> int:
        """Return how many tokens fit after a prompt in both models' contexts; very many if neither has a limit."""
        return self._limit[0] - prompt_size

    def fitting(
        self, ids: Sequence[int], max_new_tokens: int, check: CancelCheck = never_cancel
    ) -> Generator[Progress, None, WindowedPrompt]:
        """Return what the models read of a prompt: all of it, or its last segment behind a memory of the rest.

        Only a prompt that does not fit the models' contexts is read; it yields after each segment. ``check`` is called
        before each segment, and may raise.

        Raises:
            PromptError: prompt and new tokens exceed a model's context, and there is no memory, or no room behind it.
        """
        self.require_fitting(len(ids), max_new_tokens)
        memory = self.target.memory
        if memory is None or not self.reads(len(ids), max_new_tokens):
            return WindowedPrompt(list(ids))
        prompt_memory = yield from memory.reading(self.target, ids, check)
        return WindowedPrompt(prompt_memory.ids, prompt_memory)

    def reads(self, prompt_size: int, max_new_tokens: int) -> bool:
        """Return True if a prompt of this size is read into the memory: it does not fit, and has two segments."""
        memory = self.target.memory
        has_two = memory is not None and prompt_size > memory.settings.segment_tokens
        return has_two and self.room_after(prompt_size) < max_new_tokens

    def window_of(self, prompt_size: int, max_new_tokens: int) -> int:
        """Return the slots that a prompt takes: one for each token, or fewer if it is read into the memory."""
        memory = self.target.memory
        if memory is None or not self.reads(prompt_size, max_new_tokens):
            return prompt_size
        return memory.window_of(prompt_size)

    def require_fitting(self, prompt_size: int, max_new_tokens: int) -> None:
        """Check the length of a prompt, or of its window if it is read. Raises: PromptError."""
        window, (limit, name) = self.window_of(prompt_size, max_new_tokens), self._limit
        if window + max_new_tokens <= limit:
            return
        if window == prompt_size:
            turns = limit in [model.turning_point for model in self.models]
            why = ", beyond which its rotations are others (longrope)" if turns else ""
            raise PromptError(
                f"prompt of {prompt_size} tokens plus max_new_tokens {max_new_tokens} exceeds the context of "
                f"{limit} tokens of {name}{why}; shorten the prompt or lower max_new_tokens"
            )
        room = limit - window
        remedy = f"lower max_new_tokens to {room} or less" if room > 0 else "take a memory with shorter segments"
        raise PromptError(
            f"prompt of {prompt_size} tokens is read into the memory; its last segment stays, {window} tokens with "
            f"what stands before it, and with max_new_tokens {max_new_tokens} exceeds the context of {limit} tokens of "
            f"{name}; {remedy}"
        )


def is_list(value: Any, kind: Any) -> bool:
    """Return True for a list that holds values of one kind, and is not empty."""
    return isinstance(value, (list, tuple)) and bool(value) and all(isinstance(one, kind) for one in value)


def _are_messages(value: Any) -> TypeGuard[Sequence[Mapping[str, Any]]]:
    return is_list(value, Mapping) and all({"role", "content"} <= one.keys() for one in value)


def _text_of(message: Mapping[str, Any]) -> str | None:
    """Return the text of a message, whose content may be a list of parts; None of a call of tools without one."""
    content = message["content"]
    if is_list(content, Mapping) and all(isinstance(part.get("text"), str) for part in content):
        return "".join(part["text"] for part in content)
    if isinstance(content, str) or (content is None and message.get("tool_calls")):
        return content
    raise PromptError(
        f"content of a message is {reprlib.repr(content)}; give a text, or a list of parts with a text each"
    )


def ids_of(prompt: Any) -> list[int] | None:
    """Return the ids of a list, an array or a tensor, [length] or [1, length], or of the output of a tokenizer.

    None of anything else.
    """
    if isinstance(prompt, Mapping):
        ids, mask = ids_of(prompt.get("input_ids")), ids_of(prompt.get("attention_mask"))
        return ids if ids is None or mask is None else [*compress(ids, mask)]
    plain = prompt.tolist() if hasattr(prompt, "tolist") else prompt
    (numbers,) = plain if is_list(plain, list) and len(plain) == 1 else (plain,)
    is_ids = is_list(numbers, (int, np.integer)) and not any(isinstance(one, bool) for one in numbers)
    return [int(one) for one in numbers] if is_ids else None


def conditions(pair: Pair) -> dict[str, Any]:
    """Return plain data: what a measurement depends on."""
    draft = pair.draft
    return {
        "machine": machine(pair.device),
        "versions": versions(),
        "models": {
            "target": model_identity(pair.target),
            "draft": model_identity(draft) if isinstance(draft, LanguageModel) else draft and {"id": draft.record.id},
        },
    }


def model_identity(model: LanguageModel) -> dict[str, Any]:
    """Return name, size, type, and a digest of the configuration and of a part of every weight."""
    identity: dict[str, Any] = {
        "id": model.id,
        "revision": model.revision,
        "dtype": model.numbers,
        "attention": model.attention,
        "engine": model.engine,
        "parameters": sum(weight.numel() for weight in model.model.parameters()),
        "digest": _digest(model.model.config.to_json_string(use_diff=False), model.model)[:16],
    }
    if model.memory is not None:
        digest = _digest(repr(model.memory.settings), model.memory.network)[:16]
        identity["memory"] = {"name": model.memory.name, "digest": digest}
    return identity


def _digest(settings: str, module: torch.nn.Module) -> str:
    """Return a digest of settings and of name, shape and first numbers of every weight, where they can be read."""
    digest = hashlib.sha256(settings.encode())
    for name, weight in module.named_parameters():
        digest.update(f"{name} {tuple(weight.shape)}".encode())
        with suppress(RuntimeError, TypeError):  # on disk, or packed by a quantisation
            digest.update(weight.detach().flatten()[:SAMPLED_WEIGHTS].double().cpu().numpy().tobytes())
    return digest.hexdigest()
