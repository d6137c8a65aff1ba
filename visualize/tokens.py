"""Token text as a reader sees it.

Token text is untrusted and may be anything: control characters, markup, half of a UTF-8 character. This module only
makes it visible; every drawing escapes it for its format.
"""

import codecs
import unicodedata
from functools import lru_cache
from itertools import accumulate

from dsbd.tracing.records import NodeRecord, Piece

MARKS = {" ": "␣", "\n": "⏎", "\t": "⇥"}
"""Marks that common fonts have. The control pictures, U+2420 for a space, are empty boxes on many machines."""
LABEL_WIDTH = 14  # monospace columns that a label may take in a drawing; the card has the full text


def visible(text: str) -> str:
    """Return text with marks for white space and whatever does not print, right-to-left overrides included."""
    return "".join(map(_visible_character, text))


@lru_cache(maxsize=4096)
def _visible_character(character: str) -> str:
    if character in MARKS:
        return MARKS[character]
    code, category = ord(character), unicodedata.category(character)
    is_joiner = character == "\u200d" or 0xFE00 <= code <= 0xFE0F  # it belongs to the emoji around it
    is_hidden = category in ("Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp") and not is_joiner
    return f"⟨U+{code:04X}⟩" if is_hidden else character


def flowing(text: str) -> str:
    """Return running text: spaces stay, line ends and tabs follow a mark, and the rest is made visible."""
    marked = {" ": " ", "\n": "⏎\n", "\t": "⇥\t"}
    return "".join(marked.get(character) or _visible_character(character) for character in text)


def hex_bytes(raw: bytes) -> str:
    """Write bytes that form no character: ``⟨E4 BD⟩``."""
    return f"⟨{raw.hex(' ').upper()}⟩"


def piece_label(piece: Piece | NodeRecord) -> str:
    """Return the visible text of a token by itself, or its bytes where they are only part of a character."""
    if piece.bytes is None:
        return visible(piece.text) or "∅"
    text, pending = decode_piece(piece, b"")
    return visible(text) + (hex_bytes(pending) if pending else "")


def decode_piece(piece: Piece | NodeRecord, pending: bytes) -> tuple[str, bytes]:
    """Return the text that a token adds to ``pending`` bytes, and the bytes left over.

    Bytes that can never become a character are written as hex.
    """
    if piece.bytes is None and not pending:
        return piece.text, b""
    raw = pending + (piece.text.encode("utf-8", "surrogatepass") if piece.bytes is None else bytes.fromhex(piece.bytes))
    decoder = codecs.getincrementaldecoder("utf-8")("visible-hex")
    text = decoder.decode(raw)
    return text, decoder.getstate()[0]


def _hex_of_undecodable(error: UnicodeError) -> tuple[str, int]:
    assert isinstance(error, UnicodeDecodeError)
    return hex_bytes(error.object[error.start : error.end]), error.end


codecs.register_error("visible-hex", _hex_of_undecodable)


def columns(text: str) -> int:
    """Return the columns of text in a monospace font; wide East Asian characters and emoji take two."""
    return sum(map(_columns_of, text))


@lru_cache(maxsize=4096)
def _columns_of(character: str) -> int:
    if unicodedata.combining(character):
        return 0
    return 2 if unicodedata.east_asian_width(character) in "WF" else 1


def shorten(text: str) -> str:
    """Cut text to the columns of a label, with an ellipsis at the end."""
    if columns(text) <= LABEL_WIDTH:
        return text
    end = sum(width < LABEL_WIDTH for width in accumulate(map(_columns_of, text)))
    return f"{text[:end]}…"
