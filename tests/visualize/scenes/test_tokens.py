"""Token text as a reader sees it."""

import itertools

import pytest

from dsbd.tracing.records import Piece
from visualize.scenes.tokens import columns, decode_piece, flowing, hex_bytes, piece_label, shorten, visible


@pytest.mark.parametrize(
    ("text", "seen"),
    [(" cat", "␣cat"), ("a\nb\t", "a⏎b⇥"), ("\x00", "⟨U+0000⟩"), ("\r", "⟨U+000D⟩"), ("\u202e", "⟨U+202E⟩"),
     ("\u200b", "⟨U+200B⟩"), ("שלום", "שלום"), ("👨\u200d👩", "👨\u200d👩"), ("\ufffd", "\ufffd"),
     ("</script>", "</script>"), ("\ud800", "⟨U+D800⟩")],
)  # fmt: skip
def test_what_would_not_print_is_marked(text, seen):
    assert visible(text) == seen
    assert flowing("a b\n\tc\x07") == "a b⏎\n⇥\tc⟨U+0007⟩"  # running text keeps spaces and marks line ends


def split(text, *cuts):
    raw = text.encode()
    bounds = [0, *cuts, len(raw)]
    parts = [raw[start:end] for start, end in itertools.pairwise(bounds)]
    return [Piece(index, "\ufffd", part.hex()) for index, part in enumerate(parts)]


def read(pieces):
    """The text that each piece completes, and the bytes that wait after it."""
    texts, waiting = [], [b""]
    for piece in pieces:
        text, pending = decode_piece(piece, waiting[-1])
        texts.append(text)
        waiting.append(pending)
    return texts, waiting[1:]


def joined(pieces):
    texts, waiting = read(pieces)
    return "".join(texts) + (hex_bytes(waiting[-1]) if waiting[-1] else "")


def test_a_character_split_over_tokens_stands_at_its_last_token():
    texts, waiting = read([Piece(9, "a", None), *split("你", 1, 2), Piece(9, "b", None)])
    assert texts == ["a", "", "", "你", "b"]
    assert waiting == [b"", b"\xe4", b"\xe4\xbd", b"", b""]
    assert joined(split("🦊", 2)) == "🦊"


def test_bytes_without_their_character_stay_visible():
    assert [piece_label(piece) for piece in split("你", 2)] == ["⟨E4 BD⟩", "⟨A0⟩"]
    assert joined(split("a你", 3)[:1]) == "a⟨E4 BD⟩"
    assert joined([split("你", 2)[0], Piece(9, "x", None)]) == "⟨E4 BD⟩x"


def test_labels_are_cut_by_columns_not_characters():
    assert shorten("abcdefghijklmnopqrst", 6) == "abcde…"
    assert shorten("漢字漢字漢字", 6) == "漢字…"
    assert columns("漢字a") == 5
