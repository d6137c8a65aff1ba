"""Samples texts from the target itself, so that the draft learns on the texts it will be used for."""

from collections.abc import Callable
from typing import Any, cast

import numpy as np
import torch
from transformers import LlamaForCausalLM

from training.corpus import EncodedDocuments

LONGEST_OPENING = 32
SAMPLED_TOP_K = 50
ROWS, NEW_TOKENS = 160, 256


@torch.inference_mode()
def sample_documents(
    target: LlamaForCausalLM,
    openings: EncodedDocuments,
    *,
    tokens: int,
    seed: int,
    report: Callable[[str], None],
) -> np.ndarray:
    """Return about `tokens` ids, (tokens,) uint16: BOS, opening, the target's continuation, …

    Openings are the first 1 to 32 tokens of random training documents; continuations are
    drawn at temperature 1 with top-k 50 and end at EOS or after 256 tokens.
    """
    random = np.random.default_rng(seed)
    pieces: list[np.ndarray] = []
    generate = cast(Any, target).generate
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(seed)
        while sum(map(len, pieces)) < tokens:
            prompts = _openings(openings, ROWS, random)
            written = generate(
                prompts,
                attention_mask=torch.ones_like(prompts),
                do_sample=True,
                top_k=SAMPLED_TOP_K,
                max_new_tokens=NEW_TOKENS,
                pad_token_id=0,
            )
            pieces += [until_end(row) for row in written.numpy()]
            report(f"sampled {sum(map(len, pieces))} tokens")
    return np.concatenate(pieces).astype(np.uint16)


def _openings(documents: EncodedDocuments, rows: int, random: np.random.Generator) -> torch.Tensor:
    """Return (rows, length) int64 first tokens of documents that are longer than that."""
    lengths = np.diff(documents.starts)
    length = int(random.integers(1, min(LONGEST_OPENING + 1, lengths.max())))
    chosen = random.choice(np.flatnonzero(lengths > length), size=rows)
    firsts = np.stack([documents.document(index)[:length] for index in chosen])
    return torch.from_numpy(firsts.astype(np.int64))


def until_end(row: np.ndarray) -> np.ndarray:
    """Cut a generated row (BOS first) before its EOS, which has BOS's id, and the padding."""
    ends = np.flatnonzero(row[1:] == row[0])
    return row[: ends[0] + 1] if len(ends) else row
