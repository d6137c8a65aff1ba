"""Held-out figures of an exported pair: loss per byte, overlap."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from transformers import LlamaForCausalLM

from training.corpus import EncodedDocuments
from training.losses import in_answers

WINDOW_TOKENS = 1024


def document_windows(documents: EncodedDocuments, length: int) -> Iterator[torch.Tensor]:
    """Yield (1, at most length + 1) windows that score every token but BOS exactly once.

    A window begins with the last token of the one before it, the only context it keeps.
    """
    for index in range(len(documents)):
        ids = torch.from_numpy(documents.document(index).astype(np.int64))
        for start in range(0, len(ids) - 1, length):
            yield ids[None, start : start + length + 1]


@torch.inference_mode()
def text_loss(
    model: LlamaForCausalLM, documents: EncodedDocuments, answer: int | None = None, length: int = WINDOW_TOKENS
) -> dict[str, float]:
    """Return the loss of `model` over the answers in `documents` (`in_answers`), in windows of `length` tokens.

    BOS is given, and EOS is not scored. Tokens and nats count the positions that are scored, bytes whole documents.
    """
    nats, tokens = 0.0, 0
    for window in document_windows(documents, length):
        log_probs = model(window[:, :-1]).logits.float().log_softmax(-1)
        scored = in_answers(window[:, :-1], answer)
        nats -= log_probs.gather(-1, window[:, 1:, None])[..., 0][scored].sum().item()
        tokens += int(scored.sum())
    return {
        "documents": len(documents),
        "tokens": tokens,
        "text_bytes": documents.text_bytes,
        "nats_per_token": nats / tokens,
        "nats_per_byte": nats / documents.text_bytes,
        "bits_per_byte": nats / documents.text_bytes / math.log(2),
    }


@torch.inference_mode()
def mean_overlap(
    target: LlamaForCausalLM,
    draft: LlamaForCausalLM,
    documents: EncodedDocuments,
    answer: int | None = None,
    length: int = WINDOW_TOKENS,
) -> float:
    """Return the mean over positions in answers of sum min(target, draft), temperature 1, no warp."""
    overlap, positions = 0.0, 0
    for window in document_windows(documents, length):
        laws = [model(window[:, :-1]).logits.float().softmax(-1) for model in (target, draft)]
        scored = in_answers(window[:, :-1], answer)
        overlap += torch.minimum(*laws).sum(-1)[scored].sum().item()
        positions += int(scored.sum())
    return overlap / positions
