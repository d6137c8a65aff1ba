"""Held-out figures of an exported pair: loss per byte, overlap."""

import math
from collections.abc import Iterator

import numpy as np
import torch
from transformers import LlamaForCausalLM

from training.corpus import EncodedDocuments
from training.losses import in_answers

WINDOW_TOKENS = 1024


def scored(
    documents: EncodedDocuments, answer: int | None, *models: LlamaForCausalLM
) -> Iterator[tuple[torch.Tensor, list[torch.Tensor]]]:
    """Yield the next tokens in answers (`in_answers`), (tokens,), and each model's log-probabilities there.

    Every document is read in windows: each begins with the last token of the one before it, the only context it keeps.
    BOS is given, and EOS is not scored.
    """
    for index in range(len(documents)):
        ids = torch.from_numpy(documents.document(index).astype(np.int64))
        for start in range(0, len(ids) - 1, WINDOW_TOKENS):
            window = ids[None, start : start + WINDOW_TOKENS + 1]
            places = in_answers(window[:, :-1], answer)
            laws = [model(window[:, :-1]).logits.float().log_softmax(-1)[places] for model in models]
            yield window[:, 1:][places], laws


@torch.inference_mode()
def text_loss(model: LlamaForCausalLM, documents: EncodedDocuments, answer: int | None = None) -> dict[str, float]:
    """Return the loss of a model over the answers in documents; bytes are those of whole documents."""
    nats, tokens = 0.0, 0
    for targets, (log_probs,) in scored(documents, answer, model):
        nats -= log_probs.gather(-1, targets[:, None]).sum().item()
        tokens += len(targets)
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
    target: LlamaForCausalLM, draft: LlamaForCausalLM, documents: EncodedDocuments, answer: int | None = None
) -> float:
    """Return the mean over tokens in answers of sum min(target, draft), temperature 1, no warp."""
    overlap, tokens = 0.0, 0
    for targets, laws in scored(documents, answer, target, draft):
        overlap += torch.minimum(*(law.exp() for law in laws)).sum().item()
        tokens += len(targets)
    return overlap / tokens
