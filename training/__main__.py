"""Train a target, a draft for it, or a memory for it: `python -m training {target,draft,memory}`.

Stopped runs go on from their checkpoints in `--work` when the same command is given again.
"""

import argparse
import sys
from collections.abc import Callable, Iterator
from functools import partial
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
"""How many held-out rows make a figure, at most."""
Figures = tuple[torch.Tensor, dict[str, float]]
"""A loss, and figures to report."""


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


def train_target(options: argparse.Namespace) -> Iterator[str]:
    """Train a tokenizer and a small Llama on your text."""
    texts = _texts_of(options)
    folder = options.work / "tokenizer"
    if not folder.exists():
        train_tokenizer(texts[0], options.vocabulary).save_pretrained(folder)
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    model = new_target(len(tokenizer), options.layers, options.hidden, options.seed).to(options.device)

    def figures(ids: torch.Tensor, progress: float) -> Figures:
        value = next_token_loss(model(ids, use_cache=False).logits, ids).mean()
        return value, {"nats a token": value.item()}

    yield from _learn(options, model, tokenizer, texts, figures)


def train_draft(options: argparse.Namespace) -> Iterator[str]:
    """Distil a draft from a target: it learns the target's whole next-token distribution."""
    target, tokenizer = load_model(options.target)
    target = target.to(options.device).eval().requires_grad_(False)
    if options.layers >= target.config.num_hidden_layers:
        raise ValueError(f"--layers {options.layers}: give fewer than the target's {target.config.num_hidden_layers}")
    draft = new_draft(target, options.layers, options.seed)

    def figures(ids: torch.Tensor, progress: float) -> Figures:
        theirs, ours = target(ids, use_cache=False).logits, draft(ids, use_cache=False).logits
        value = distillation_loss(theirs, ours, variation_share(progress))
        return value, {"loss": value.item(), "overlap with the target": overlap(theirs, ours.detach()).mean().item()}

    yield from _learn(options, draft, tokenizer, _texts_of(options), figures)


def train_memory(options: argparse.Namespace) -> Iterator[str]:
    """Train a memory for a target in two stages: first to remember, then to recall."""
    documents, earlier = _texts_of(options)[0], dict[str, Any]()
    for most_segments in (2, MOST_SEGMENTS):
        recall = most_segments > 2
        target, tokenizer = load_model(options.target, getattr(torch, options.dtype))
        settings = MemorySettings(target.config.hidden_size, LENGTHS[-1], recall=recall)
        model = MemoryModel(target.to(options.device).eval(), settings, RANK, options.seed)
        if recall:
            model.begin_from(earlier)
        rows = MemoryRows(encode_documents(tokenizer, documents), tokenizer, options.seed)
        if not len(rows.words):
            raise ValueError(f"--target {options.target}: its tokenizer has no word of the needles as one token")
        trainer = memory_trainer(model, rows, options.steps, most_segments=most_segments)
        yield from train(trainer, options.work / f"memory-{'recall' if recall else 'first'}.pt")
        earlier = model.state_dict()
    save_memory(options.output, model.network, model.low_ranks(), target, options.name or options.target)


COMMANDS = {"target": train_target, "draft": train_draft, "memory": train_memory}


def _texts_of(options: argparse.Namespace) -> tuple[list[str], list[str]]:
    """Return (texts to train on, held-out texts)."""
    texts = split_documents(read_documents(options.text))
    if not texts[0]:
        raise ValueError(f"--text: all {len(texts[1])} documents are held out; give more text")
    return texts


def _learn(
    options: argparse.Namespace,
    model: Any,
    tokenizer: Any,
    texts: tuple[list[str], list[str]],
    figures: Callable[[torch.Tensor, float], Figures],
) -> Iterator[str]:
    """Train a model on rows of text, report its last figure on held-out text, and write it."""
    training, *held_out = (Rows(encode_documents(tokenizer, some), options.seed) for some in texts if some)

    def figures_of(rows: Rows, progress: float) -> Figures:
        ids = torch.from_numpy(rows.take(options.rows, options.length)).to(options.device)
        with torch.autocast(ids.device.type, torch.bfloat16, enabled=options.dtype == "bfloat16"):
            return figures(ids, progress)

    parts = {"model": model, "rows": training}
    trainer = Trainer(partial(figures_of, training), optimizers_of(model), parts, options.steps)
    yield from train(trainer, options.work / f"{options.command}.pt")
    with torch.inference_mode():
        batches = range(-(-HELD_OUT_ROWS // options.rows))
        last = [[*figures_of(rows, 1.0)[1].items()][-1] for rows in held_out for _ in batches]
    report = f"{last[0][0]} on held-out text {np.mean([value for _, value in last]):.4f}" if last else "none held out"
    yield f"{model.num_parameters():,} parameters; {report}"
    save_model(model, tokenizer, options.output)


def main(arguments: list[str] | None = None) -> int:
    """Run a command; return the exit code."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    try:
        for line in COMMANDS[options.command](options):
            print(line, flush=True)
    except (ValueError, OSError) as error:
        parser.error(str(error))
    return 0


if __name__ == "__main__":
    sys.exit(main())
