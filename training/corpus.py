"""Text as documents of tokens, what is held out of it, and endless rows.

A file is text whose documents are separated by `<|endoftext|>`, or, named `.jsonl`, one JSON object a line with `text`;
either may be packed (`.gz`). What is held out is decided by the text alone: the same in every run and order.
"""

import gzip
import hashlib
import json
from pathlib import Path
from typing import Any

import numpy as np
from transformers import PreTrainedTokenizerBase

SEPARATOR = "<|endoftext|>"
HELD_OUT_ONE_IN = 100


def read_documents(files: list[Path]) -> list[str]:
    """Return the distinct documents of the files, in their order.

    Raises:
        ValueError: a file cannot be read, or holds no documents; the message says which.
    """
    documents = list[str]()
    for file in files:
        try:
            content = file.read_bytes()
            text = (gzip.decompress(content) if file.suffix == ".gz" else content).decode("utf-8")
            if file.name.removesuffix(".gz").endswith(".jsonl"):
                texts = [json.loads(line)["text"].strip() for line in text.split("\n") if line]
            else:
                texts = [part.strip() for part in text.split(SEPARATOR)]
        except (OSError, EOFError, ValueError, LookupError, TypeError, AttributeError) as error:
            raise ValueError(
                f"--text {file}: {error}; give text, or .jsonl with an object with `text` a line"
            ) from None
        if not any(texts):
            raise ValueError(f"--text {file} holds no text")
        documents += texts
    return list(dict.fromkeys(text for text in documents if text))


def is_held_out(text: str) -> bool:
    """Say whether a document is held out: one in a hundred, by a hash that ignores spacing."""
    digest = hashlib.sha256(" ".join(text.split()).encode()).digest()
    return int.from_bytes(digest[:8], "big") % HELD_OUT_ONE_IN == 0


def split_documents(documents: list[str]) -> tuple[list[str], list[str]]:
    """Return (documents to train on, held-out documents)."""
    training = [text for text in documents if not is_held_out(text)]
    return training, [text for text in documents if is_held_out(text)]


def encode_documents(tokenizer: PreTrainedTokenizerBase, documents: list[str]) -> list[np.ndarray]:
    """Return each document's ids, (tokens,) int32; one begins and ends with what the tokenizer has for that."""
    ends = [] if tokenizer.eos_token_id in (None, tokenizer.bos_token_id) else [tokenizer.eos_token_id]
    return [np.array([*ids, *ends], dtype=np.int32) for ids in (tokenizer(documents)["input_ids"] if documents else [])]


class Rows:
    """Endless rows of tokens: every epoch has all documents once, in a new order.

    The order depends on (seed, epoch) alone, so two numbers say where the next token is.
    """

    def __init__(self, documents: list[np.ndarray], seed: int) -> None:
        self._documents, self._seed = documents, seed
        self.load_state_dict({"epoch": 0, "cursor": 0})

    def state_dict(self) -> dict[str, int]:
        """Return where the next token is."""
        return {"epoch": self._epoch, "cursor": self._cursor}

    def load_state_dict(self, state: dict[str, Any]) -> None:
        """Go on from what `state_dict` returned."""
        self._epoch, self._cursor = state["epoch"], state["cursor"]
        order = np.random.default_rng([self._seed, self._epoch]).permutation(len(self._documents))
        self._ids = np.concatenate([self._documents[index] for index in order])

    def take(self, rows: int, length: int) -> np.ndarray:
        """Return the next tokens, (rows, length) int64; a row may span documents and epochs."""
        pieces, missing = [], rows * length
        while missing > 0:
            pieces.append(self._ids[self._cursor : self._cursor + missing])
            missing -= len(pieces[-1])
            self._cursor += len(pieces[-1])
            if self._cursor == len(self._ids):
                self.load_state_dict({"epoch": self._epoch + 1, "cursor": 0})
        return np.concatenate(pieces).reshape(rows, length).astype(np.int64)
