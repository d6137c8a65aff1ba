"""Train a target, a draft for it, or a memory for it: `python -m training {target,draft,memory}`.

Stopped runs go on from their checkpoints in `--work` when the same command is given again.
"""

import argparse
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import torch
from transformers import AutoTokenizer

from dsbd.memory.files import save_memory
from dsbd.memory.reading import MemorySettings
from training.corpus import Rows, encode_documents, read_documents, split_documents
from training.memory import LENGTHS, MOST_SEGMENTS, RANK, MemoryModel, MemoryRows, memory_trainer
from training.models import load_model, new_draft, new_target, save_model, train_tokenizer
from training.trainer import Trainer, distillation_loss, next_token_loss, optimizers_of, overlap, train, variation_share

HELD_OUT_ROWS = 32
"""So many held-out rows at most make a figure."""


def at_least_one(text: str) -> int:
    """Read a whole number from 1."""
    if not text.isdecimal() or not int(text):
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number from 1")
    return int(text)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of the three commands."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    for name, run in COMMANDS.items():
        add = commands.add_parser(name, help=(run.__doc__ or "").splitlines()[0]).add_argument
        add("--text", type=Path, nargs="+", required=True, help="files of text (.txt, .jsonl, also .gz)")
        add("--work", type=Path, required=True, help="folder of the checkpoints")
        add("--output", type=Path, required=True, help=f"folder of the {name}")
        if name == "target":
            add("--vocabulary", type=at_least_one, default=4096, help="entries of the tokenizer (4096)")
            add("--layers", type=at_least_one, default=16, help="of the target (16)")
            add("--hidden", type=at_least_one, default=256, help="size of its hidden states (256)")
        else:
            add("--target", required=True, help="folder or hub id of the target")
        if name == "draft":
            add("--layers", type=at_least_one, default=1, help="so many of the target's first layers (1)")
        if name == "memory":
            add("--name", help="what to call the target in the memory's folder (as --target)")
        else:
            add("--rows", type=at_least_one, default=32, help="of a step (32)")
            add("--length", type=at_least_one, default=256, help="tokens of a row (256)")
        add("--steps", type=at_least_one, default=1500, help="of the run; of each stage of a memory (1500)")
        add("--dtype", choices=("float32", "bfloat16"), default="float32", help="of the arithmetic")
        add("--device", default="cuda" if torch.cuda.is_available() else "cpu")
        add("--seed", type=int, default=0)
    return parser


def train_target(asked: argparse.Namespace) -> Iterator[str]:
    """Train a tokenizer and a small Llama on your text."""
    texts = _texts_of(asked)
    kept = asked.work / "tokenizer"
    if not kept.exists():
        train_tokenizer(texts[0], asked.vocabulary).save_pretrained(kept)
    tokenizer = AutoTokenizer.from_pretrained(kept, trust_remote_code=False)
    model = new_target(len(tokenizer), asked.layers, asked.hidden, asked.seed).to(asked.device)
    rows, held_out = _rows_of(asked, texts, tokenizer)

    def loss(progress: float) -> tuple[torch.Tensor, dict[str, float]]:
        ids = rows.next()
        with rows.autocast():
            value = next_token_loss(model(ids, use_cache=False).logits, ids).mean()
        return value, {"loss": value.item()}

    yield from train(Trainer(loss, optimizers_of(model), {"model": model, "rows": rows}, asked.steps), _file(asked))
    with torch.inference_mode(), rows.autocast():
        losses = [next_token_loss(model(ids).logits, ids).mean().item() for ids in held_out]
    yield f"{model.num_parameters():,} parameters; {_mean(losses)} nats a token on held-out text"
    save_model(model, tokenizer, asked.output)


def train_draft(asked: argparse.Namespace) -> Iterator[str]:
    """Distil a draft from a target: it learns the target's whole next-token distribution."""
    target, tokenizer = load_model(asked.target)
    target = target.to(asked.device).eval().requires_grad_(False)
    if asked.layers >= target.config.num_hidden_layers:
        raise ValueError(f"--layers {asked.layers}: give fewer than the target's {target.config.num_hidden_layers}")
    draft = new_draft(target, asked.layers, asked.seed)
    rows, held_out = _rows_of(asked, _texts_of(asked), tokenizer)

    def loss(progress: float) -> tuple[torch.Tensor, dict[str, float]]:
        ids = rows.next()
        with rows.autocast():
            theirs, ours = target(ids, use_cache=False).logits, draft(ids, use_cache=False).logits
        value = distillation_loss(theirs, ours, variation_share(progress))
        return value, {"loss": value.item(), "overlap": overlap(theirs, ours.detach()).mean().item()}

    yield from train(Trainer(loss, optimizers_of(draft), {"model": draft, "rows": rows}, asked.steps), _file(asked))
    with torch.inference_mode(), rows.autocast():
        overlaps = [overlap(target(ids).logits, draft(ids).logits).mean().item() for ids in held_out]
    yield f"{draft.num_parameters():,} parameters; overlap with the target on held-out text {_mean(overlaps)}"
    save_model(draft, tokenizer, asked.output)


def train_memory(asked: argparse.Namespace) -> Iterator[str]:
    """Train a memory for a target in two stages: first to remember, then to recall."""
    documents, earlier = _texts_of(asked)[0], dict[str, Any]()
    for most_segments in (2, MOST_SEGMENTS):
        recall = most_segments > 2
        target, tokenizer = load_model(asked.target, getattr(torch, asked.dtype))
        settings = MemorySettings(target.config.hidden_size, LENGTHS[-1], recall=recall)
        model = MemoryModel(target.to(asked.device).eval(), settings, RANK, asked.seed)
        if recall:
            model.begin_from(earlier)
        rows = MemoryRows(encode_documents(tokenizer, documents), tokenizer, asked.seed)
        if not len(rows.words):
            raise ValueError(f"--target {asked.target}: its tokenizer has no word of the needles as one token")
        trainer = memory_trainer(model, rows, asked.steps, most_segments=most_segments)
        yield from train(trainer, asked.work / f"memory-{'recall' if recall else 'first'}.pt")
        earlier = model.state_dict()
    save_memory(asked.output, model.network, model.low_ranks(), target, asked.name or asked.target)


COMMANDS = {"target": train_target, "draft": train_draft, "memory": train_memory}


class _Batches(Rows):
    """Rows of one shape as tensors on the device."""

    def __init__(self, asked: argparse.Namespace, documents: list[np.ndarray]) -> None:
        super().__init__(documents, asked.seed)
        self._asked = asked

    def next(self) -> torch.Tensor:
        return torch.from_numpy(self.take(self._asked.rows, self._asked.length)).to(self._asked.device)

    def autocast(self) -> Any:
        kind, low = torch.device(self._asked.device).type, self._asked.dtype == "bfloat16"
        return torch.autocast(kind, torch.bfloat16, enabled=low)


def _texts_of(asked: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return (texts to train on, held-out texts)."""
    texts = split_documents(read_documents(asked.text))
    if not texts[0]:
        raise ValueError(f"--text: all {len(texts[1])} documents are held out; give more text")
    return texts


def _rows_of(
    asked: argparse.Namespace, texts: tuple[list[str], list[str]], tokenizer: Any
) -> tuple[_Batches, list[torch.Tensor]]:
    """Return the batches to train on, and some of held-out text (none if nothing is held out)."""
    rows = _Batches(asked, encode_documents(tokenizer, texts[0]))
    if not texts[1]:
        return rows, []
    held_out = _Batches(asked, encode_documents(tokenizer, texts[1]))
    return rows, [held_out.next() for _ in range(-(-HELD_OUT_ROWS // asked.rows))]


def _file(asked: argparse.Namespace) -> Path:
    return asked.work / f"{asked.command}.pt"


def _mean(values: list[float]) -> str:
    return f"{np.mean(values):.4f}" if values else "not measured: nothing was held out"


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return the exit code."""
    parser = build_parser()
    asked = parser.parse_args(arguments)
    try:
        for line in COMMANDS[asked.command](asked):
            print(line, flush=True)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
