"""The stages of the command line; each reads the results of earlier stages."""

import argparse
import json
from pathlib import Path

import numpy as np
import torch
from transformers import AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerBase

from training import evaluate as measures
from training.checkpoint import load_checkpoint
from training.corpus import (
    PART_FILES,
    EncodedDocuments,
    MixedBatches,
    load_encoded,
    read_part,
    split,
)
from training.draft import (
    DraftTrainer,
    Pool,
    PoolBatches,
    VariationSchedule,
    build_pool,
    new_draft,
    windows,
)
from training.export import export_member
from training.llama import model_config, new_model
from training.optimizer import OptimizerSettings
from training.samples import sample_documents
from training.schedule import Budget, Schedule
from training.target import TargetTrainer
from training.tokenizer import train_tokenizer
from training.trainer import train

DEFAULT_MIX = {"stories": 0.88, "tales": 0.04, "books": 0.08}
TARGET_LAYERS = 16
TOKENIZER_BOOK_SECTIONS = 300
DRAFT_SCHEDULE = Schedule(short_length=512, long_share=0.0, decay_share=0.5)
HELD_OUT_POOL_WINDOWS = 32


def check(options: argparse.Namespace) -> None:
    """Raise ValueError, with the remedy, if the files that a stage reads are missing."""
    for file in PART_FILES.values():
        if not (options.data / file).is_file():
            raise ValueError(f"--data {options.data} holds no {file}")
    if options.threads < 1:
        raise ValueError(f"--threads must be at least 1, not {options.threads}")
    needed = {
        "tokenizer": [],
        "target": ["tokenizer"],
        "draft": ["tokenizer", "target"],
        "export": ["tokenizer", "target", "draft"],
        "evaluate": ["tokenizer", "target", "draft"],
    }
    for stage in needed[options.stage]:
        if not result_path(options.work, stage).exists():
            raise ValueError(f"--work {options.work} holds no {stage}: run that stage first")


def result_path(work: Path, stage: str) -> Path:
    """Return the path of a stage's result."""
    return work / ("tokenizer" if stage == "tokenizer" else f"{stage}.pt")


def say(text: str) -> None:
    """Print at once, so that a log can be followed."""
    print(text, flush=True)


def load_tokenizer(work: Path) -> PreTrainedTokenizerBase:
    """Return the tokenizer of the tokenizer stage."""
    return AutoTokenizer.from_pretrained(result_path(work, "tokenizer"))


def encoded_parts(options: argparse.Namespace) -> dict[str, tuple[EncodedDocuments, ...]]:
    """Return {part: (training, held-out)} token ids, encoding them the first time."""
    return load_encoded(options.data, options.work, load_tokenizer(options.work))


def trained_target(options: argparse.Namespace) -> LlamaForCausalLM:
    """Return the target of the last checkpoint, bfloat16, for inference."""
    model = new_model(model_config(TARGET_LAYERS), options.seed).bfloat16().eval()
    model.load_state_dict(load_checkpoint(result_path(options.work, "target"))["model"])
    return model


def trained_draft(options: argparse.Namespace, target: LlamaForCausalLM) -> LlamaForCausalLM:
    """Return the draft of the last checkpoint, bfloat16, for inference."""
    model = new_draft(target, options.seed).eval()
    model.load_state_dict(load_checkpoint(result_path(options.work, "draft"))["model"])
    return model


def tokenizer(options: argparse.Namespace) -> None:
    """Train the byte-level BPE on the training side of the split."""
    texts = split(read_part(options.data, "stories"))[0]
    texts += split(read_part(options.data, "tales"))[0]
    texts += split(read_part(options.data, "books"))[0][:TOKENIZER_BOOK_SECTIONS]
    trained = train_tokenizer(texts)
    trained.save_pretrained(result_path(options.work, "tokenizer"))
    say(f"{len(trained)} entries from {len(texts)} documents")


def target(options: argparse.Namespace) -> None:
    """Train the 16-layer target (resumes from its checkpoint)."""
    parts = encoded_parts(options)
    trainer = TargetTrainer(
        new_model(model_config(TARGET_LAYERS), options.seed).bfloat16(),
        MixedBatches({part: sides[0] for part, sides in parts.items()}, options.mix, options.seed),
        Budget(options.tokens, options.seconds),
        Schedule(),
        OptimizerSettings(),
        held_out=parts["stories"][1],
        compiled=True,
    )
    train(trainer, result_path(options.work, "target"), report=say)


def draft(options: argparse.Namespace) -> None:
    """Distil the one-layer draft from the target (resumes from its checkpoint)."""
    parts, teacher = encoded_parts(options), trained_target(options)
    length, rows = DRAFT_SCHEDULE.short_length, DRAFT_SCHEDULE.shape(0.0)[0]
    samples = _samples(options, teacher, parts["stories"][0])
    held_count = HELD_OUT_POOL_WINDOWS
    sampled = windows(samples, length)
    mixed = MixedBatches({part: s[0] for part, s in parts.items()}, options.mix, options.seed)
    chunks = mixed.batch(int(options.pool_tokens) // length, length - 1)
    ids = torch.cat([torch.from_numpy(chunks), sampled[held_count:]])
    held_out = {
        "stories": build_pool(teacher, windows(parts["stories"][1].ids, length), rows),
        "target's own samples": build_pool(teacher, sampled[:held_count], rows),
    }
    pool = _pool(options, teacher, ids, rows)
    trainer = DraftTrainer(
        new_draft(teacher, options.seed),
        PoolBatches(pool, options.seed),
        Budget(options.tokens, options.seconds),
        DRAFT_SCHEDULE,
        OptimizerSettings(),
        head=pool.head,
        held_out=held_out,
        variation=VariationSchedule(),
        compiled=True,
    )
    train(trainer, result_path(options.work, "draft"), save_every_seconds=90, report=say)


def _samples(options: argparse.Namespace, teacher: LlamaForCausalLM, openings: EncodedDocuments) -> np.ndarray:
    """Return the target's own texts, (tokens,) uint16, kept in the work folder."""
    file = options.work / "samples.npy"
    if not file.exists():
        found = sample_documents(teacher, openings, tokens=int(options.sample_tokens), seed=options.seed, report=say)
        np.save(file, found)
    return np.load(file)


def _pool(options: argparse.Namespace, teacher: LlamaForCausalLM, ids: torch.Tensor, rows: int) -> Pool:
    """Return the training pool, kept in the work folder."""
    file = options.work / "pool.pt"
    if not file.exists():
        pool = build_pool(teacher, ids, rows, compiled=True, report=say)
        torch.save((pool.ids, pool.hidden), file)
    ids, hidden = torch.load(file, mmap=True)
    return Pool(ids, hidden, teacher.model.embed_tokens.weight.detach())


def export(options: argparse.Namespace) -> None:
    """Write both models and their tokenizer as Hugging Face folders."""
    trained, teacher = load_tokenizer(options.work), trained_target(options)
    pupil = trained_draft(options, teacher)
    for name, model in (("target", teacher), ("draft", pupil)):
        export_member(model, trained, options.output / name)
        say(f"{name}: {model.num_parameters()} parameters")


def evaluate(options: argparse.Namespace) -> None:
    """Measure the pair on the held-out documents and print the figures as JSON."""
    parts, teacher = encoded_parts(options), trained_target(options)
    pupil = trained_draft(options, teacher)
    held_out = {part: sides[1] for part, sides in parts.items()}
    figures = {
        "target": {p: measures.text_loss(teacher, d).figures() for p, d in held_out.items()},
        "draft": {p: measures.text_loss(pupil, d).figures() for p, d in held_out.items()},
        "overlap": {p: measures.mean_overlap(teacher, pupil, d) for p, d in held_out.items()},
        "step_costs": [measures.step_costs(teacher, pupil, tokens) for tokens in (1, 6)],
    }
    text = json.dumps(figures, indent=2)
    (options.work / "figures.json").write_text(text + "\n", encoding="utf-8")
    say(text)


STAGES = {
    "tokenizer": tokenizer,
    "target": target,
    "draft": draft,
    "export": export,
    "evaluate": evaluate,
}
