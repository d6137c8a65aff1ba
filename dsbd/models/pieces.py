"""The exact bytes of each token, which Hugging Face tokenizers do not return directly."""

import json
import re
from functools import lru_cache
from typing import Any

_BYTE_TOKEN = re.compile(r"<0x([0-9A-F]{2})>")
_WORD_START = "\u2581"


class TokenBytes:
    """The bytes of single tokens for byte-level and byte-fallback vocabularies; decoded text for other ones."""

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
        if self._kind == "bytes":
            table = _byte_of_character()
            if all(character in table for character in token):
                return bytes(table[character] for character in token)
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


@lru_cache(maxsize=1)
def _byte_of_character() -> dict[str, int]:
    """Return the byte of each character in byte-level vocabularies: a printable Latin-1 character stands for its code,
    and the characters from U+0100 on stand for the other bytes."""
    printable = [*range(0x21, 0x7F), *range(0xA1, 0xAD), *range(0xAE, 0x100)]
    others = [byte for byte in range(256) if byte not in printable]
    table = {chr(byte): byte for byte in printable}
    return table | {chr(0x100 + place): byte for place, byte in enumerate(others)}
