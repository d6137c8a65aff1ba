"""The exact bytes of tokens, for the three kinds of vocabulary."""

from tokenizers import Tokenizer, decoders, models
from transformers import PreTrainedTokenizerFast

from dsbd.models.pieces import TokenBytes
from tests.toy_pair import EOS, toy_tokenizer

TEXTS = ["Once upon a time", "é🙂漢字", "\x00\x01\x7f", "a\n\tb  c", "\u202ertl", "½ ÿ"]


def test_bytes_are_those_of_the_text() -> None:
    """Catches a stand-in character that is taken for the byte it looks like, and two tokens with the same bytes."""
    tokenizer = toy_tokenizer()
    of = TokenBytes(tokenizer).of
    for text in TEXTS:
        assert b"".join(of(token) for token in tokenizer(text).input_ids) == text.encode()
    assert sorted(of(token) for token in range(256)) == [bytes([byte]) for byte in range(256)]


def test_a_piece_shows_what_it_is() -> None:
    """Catches half a character that is shown as text or lost, an end of text that is an empty piece, and an id that is
    no token."""
    tokenizer = toy_tokenizer()
    pieces = TokenBytes(tokenizer)
    assert [pieces.piece(token) for token in tokenizer("é").input_ids] == [("\ufffd", "c3"), ("\ufffd", "a9")]
    assert pieces.piece(tokenizer("a").input_ids[0]) == ("a", None)
    assert pieces.piece(EOS) == ("<end>", None)
    assert pieces.piece(100_000) == ("", None)


def test_byte_fallback() -> None:
    """Catches <0xC3> that is shown as six characters, and the mark of a space that stays one."""
    words = ["<unk>", "<s>", "▁a", "▁fox", "x", *(f"<0x{byte:02X}>" for byte in range(256))]
    ids = {word: place for place, word in enumerate(words)}
    backend = Tokenizer(models.BPE(ids, [], byte_fallback=True))
    backend.decoder = decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])
    pieces = TokenBytes(PreTrainedTokenizerFast(tokenizer_object=backend, bos_token="<s>", unk_token="<unk>"))
    assert pieces.of(ids["<0xC3>"]) == b"\xc3"
    shown = {"<0x41>": ("A", None), "<0xC3>": ("\ufffd", "c3"), "▁fox": (" fox", None), "<s>": ("<s>", None)}
    assert {word: pieces.piece(ids[word]) for word in shown} == shown


def test_other_vocabularies_are_decoded() -> None:
    """Catches a vocabulary of plain words that is read as bytes."""
    backend = Tokenizer(models.WordLevel({"<unk>": 0, "fox": 1, "é": 2}, unk_token="<unk>"))
    pieces = TokenBytes(PreTrainedTokenizerFast(tokenizer_object=backend, unk_token="<unk>"))
    assert (pieces.of(1), pieces.piece(2)) == (b"fox", ("é", None))
