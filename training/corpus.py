"""Documents of the corpus parts, the held-out split, and endless token streams.

A part is one gzip file of UTF-8: text whose documents are separated by `<|endoftext|>`, or lines of JSON with
the texts `prompt` and `sql`, which together are the document. The split is decided by a hash of the text alone, so it
is the same in every run and order.
"""

import gzip
import hashlib
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

SEPARATOR = "<|endoftext|>"
HELD_OUT_ONE_IN = 100


@dataclass(frozen=True)
class Part:
    """Where a part of the corpus lies in the data folder, and how it is cut into documents."""

    file: str
    section_characters: int | None = None
    """Cut longer documents at paragraph ends into sections of about this many characters, so that 1 % of a whole book
    can be held out."""


STORY_PARTS = {
    "stories": Part("tinystories.txt.gz"),
    "tales": Part("fairytaleqa_stories.txt.gz"),
    "books": Part("children_books.txt.gz", section_characters=8000),
}


def read_part(data: Path, part: Part) -> list[str]:
    """Return the distinct documents of `part` in the folder `data`, in file order."""
    with gzip.open(data / part.file, "rt", encoding="utf-8", newline="") as file:
        if part.file.endswith(".jsonl.gz"):
            documents = [row["prompt"] + " " + row["sql"] for row in map(json.loads, file)]
        else:
            documents = [text.strip() for text in file.read().split(SEPARATOR)]
    if part.section_characters is not None:
        documents = [section for text in documents for section in sections(text, part.section_characters)]
    return list(dict.fromkeys(text for text in documents if text))


def sections(text: str, characters: int) -> list[str]:
    """Cut `text` at blank lines into sections of at least `characters` characters each."""
    found: list[str] = []
    paragraphs: list[str] = []
    length = 0
    for paragraph in text.split("\n\n"):
        paragraphs.append(paragraph)
        length += len(paragraph) + 2
        if length >= characters:
            found.append("\n\n".join(paragraphs).strip())
            paragraphs, length = [], 0
    return [*found, "\n\n".join(paragraphs).strip()]


def is_held_out(text: str) -> bool:
    """Say whether a document is held out: one in a hundred, by a hash that ignores spacing."""
    digest = hashlib.sha256(" ".join(text.split()).encode()).digest()
    return int.from_bytes(digest[:8], "big") % HELD_OUT_ONE_IN == 0


def split(documents: list[str]) -> tuple[list[str], list[str]]:
    """Return (documents to train on, held-out documents)."""
    training = [text for text in documents if not is_held_out(text)]
    return training, [text for text in documents if is_held_out(text)]


@dataclass(frozen=True)
class EncodedDocuments:
    """Documents as token ids, each beginning with BOS.

    `ids`: (tokens,) uint16. `starts`: (documents + 1,) int64, document d is
    `ids[starts[d]:starts[d + 1]]`. `text_bytes`: UTF-8 bytes of all documents together.
    """

    ids: np.ndarray
    starts: np.ndarray
    text_bytes: int

    def __len__(self) -> int:
        return len(self.starts) - 1

    def document(self, index: int) -> np.ndarray:
        """Return the ids of one document, (tokens,)."""
        return self.ids[self.starts[index] : self.starts[index + 1]]


def encode_documents(tokenizer: PreTrainedTokenizerBase, documents: list[str]) -> EncodedDocuments:
    """Encode documents; the tokenizer itself prepends BOS to each."""
    encoded = tokenizer(documents)["input_ids"] if documents else []
    starts = np.cumsum([0, *map(len, encoded)], dtype=np.int64)
    ids = np.array([token for row in encoded for token in row], dtype=np.uint16)
    return EncodedDocuments(ids, starts, sum(len(text.encode()) for text in documents))


def load_encoded(
    data: Path, work: Path, parts: dict[str, Part], tokenizer: PreTrainedTokenizerBase
) -> dict[str, tuple[EncodedDocuments, ...]]:
    """Return {part: (training, held-out)}, encoded once and kept under `work/tokens`."""
    folder = work / "tokens"
    folder.mkdir(parents=True, exist_ok=True)
    found = {}
    for name, part in parts.items():
        file = folder / f"{name}.npz"
        if not file.exists():
            _encode_part(file, read_part(data, part), tokenizer)
        with np.load(file) as arrays:
            found[name] = tuple(
                EncodedDocuments(arrays[f"{side}_ids"], arrays[f"{side}_starts"], int(arrays[f"{side}_bytes"]))
                for side in ("training", "held_out")
            )
    return found


def _encode_part(file: Path, documents: list[str], tokenizer: PreTrainedTokenizerBase) -> None:
    arrays: dict[str, Any] = {}
    for side, texts in zip(("training", "held_out"), split(documents), strict=True):
        encoded = encode_documents(tokenizer, texts)
        arrays |= {
            f"{side}_ids": encoded.ids,
            f"{side}_starts": encoded.starts,
            f"{side}_bytes": np.int64(encoded.text_bytes),
        }
    partial = file.with_suffix(".partial.npz")
    np.savez(partial, **arrays)
    partial.rename(file)


class DocumentStream:
    """Endless tokens of one part: every epoch all documents once, in a new order.

    The order depends on (seed, epoch) alone, so `state` is two integers. With `whole_documents` every `take` begins
    at the beginning of a document: what is left of the one before is passed over.
    """

    def __init__(self, documents: EncodedDocuments, seed: int, *, whole_documents: bool = False) -> None:
        assert len(documents.ids), "an empty part cannot be streamed"
        self._documents, self._seed, self._whole = documents, seed, whole_documents
        self.restore({"epoch": 0, "cursor": 0})

    @property
    def state(self) -> dict[str, int]:
        """Return the place of the next token: {"epoch", "cursor"}."""
        return {"epoch": self._epoch, "cursor": self._cursor}

    def restore(self, state: dict[str, int]) -> None:
        """Go to a place that `state` returned."""
        self._epoch, self._cursor = state["epoch"], state["cursor"]
        order = np.random.default_rng([self._seed, self._epoch]).permutation(len(self._documents))
        pieces = [self._documents.document(index) for index in order]
        self._ids = np.concatenate(pieces)
        self._starts = np.cumsum([0, *map(len, pieces)])

    def take(self, count: int) -> np.ndarray:
        """Return the next `count` tokens, (count,) int64; they may span documents and epochs."""
        parts = []
        while count > 0:
            piece = self._ids[self._cursor : self._cursor + count]
            parts.append(piece)
            count -= len(piece)
            self._cursor += len(piece)
            if self._cursor == len(self._ids):
                self.restore({"epoch": self._epoch + 1, "cursor": 0})
        if self._whole:
            self._pass_to_next_document()
        return np.concatenate(parts).astype(np.int64)

    def _pass_to_next_document(self) -> None:
        start = int(self._starts[np.searchsorted(self._starts, self._cursor)])
        if start == len(self._ids):
            self.restore({"epoch": self._epoch + 1, "cursor": 0})
        else:
            self._cursor = start


class MixedBatches:
    """Batches whose rows are drawn part by part with the probabilities of `mix`."""

    def __init__(
        self, parts: dict[str, EncodedDocuments], mix: dict[str, float], seed: int, *, whole_documents: bool = False
    ) -> None:
        self._names = [name for name in mix if mix[name] > 0]
        weights = np.array([mix[name] for name in self._names])
        self._probabilities = weights / weights.sum()
        self._streams = {
            name: DocumentStream(parts[name], seed, whole_documents=whole_documents) for name in self._names
        }
        self._random = np.random.default_rng(seed)

    def batch(self, rows: int, length: int) -> np.ndarray:
        """Return (rows, length + 1) int64 token ids: inputs and, shifted by one, targets."""
        names = self._random.choice(self._names, size=rows, p=self._probabilities)
        return np.stack([self._streams[name].take(length + 1) for name in names])

    @property
    def state(self) -> dict:
        """Return everything that decides the next batches."""
        streams = {name: stream.state for name, stream in self._streams.items()}
        return {"streams": streams, "random": self._random.bit_generator.state}

    def restore(self, state: dict) -> None:
        """Go to a place that `state` returned."""
        for name, stream in self._streams.items():
            stream.restore(state["streams"][name])
        self._random.bit_generator.state = state["random"]
