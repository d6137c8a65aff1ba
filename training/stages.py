"""The stages of the command line; each reads the results of earlier stages."""

import argparse
import io
import json
from pathlib import Path

import numpy as np
import torch
from transformers import AutoTokenizer, LlamaForCausalLM, PreTrainedTokenizerBase

from dsbd.files import write_file
from training import evaluate as measures
from training.corpus import EncodedDocuments, MixedBatches, load_encoded
from training.draft import (
    DraftTrainer,
    Pool,
    PoolBatches,
    build_pool,
    new_draft,
    windows,
)
from training.export import export_member
from training.llama import model_config, new_model
from training.samples import sample_documents
from training.tokenizer import train_tokenizer
from training.trainer import Budget, Schedule, TargetTrainer, load_checkpoint, save_checkpoint, train

HELD_OUT_WINDOWS = 32
"""So many windows of the target's own texts are not trained on: the card's overlap was measured on them."""


def check(options: argparse.Namespace) -> None:
    """Raise ValueError, with the remedy, if the files that a stage reads are missing."""
    for part in options.recipe.parts.values():
        if not (options.data / part.file).is_file():
            raise ValueError(f"--data {options.data} holds no {part.file}")
    if options.threads < 1:
        raise ValueError(f"--threads must be at least 1, not {options.threads}")
    stages = [*STAGES]
    for stage in stages[: min(stages.index(options.stage), stages.index("export"))]:
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
    return AutoTokenizer.from_pretrained(result_path(work, "tokenizer"), trust_remote_code=False)


def encoded_parts(options: argparse.Namespace) -> dict[str, tuple[EncodedDocuments, ...]]:
    """Return {part: (training, held-out)} token ids, encoding them the first time."""
    return load_encoded(options.data, options.work, options.recipe.parts, load_tokenizer(options.work))


def training_batches(options: argparse.Namespace, parts: dict[str, tuple[EncodedDocuments, ...]]) -> MixedBatches:
    """Return the training side of the parts, mixed as the recipe says."""
    recipe = options.recipe
    sides = {name: sides[0] for name, sides in parts.items()}
    return MixedBatches(sides, recipe.mix, options.seed, whole_documents=recipe.whole_documents)


def answer_token(options: argparse.Namespace) -> int | None:
    """Return the token behind which answers begin, or None if all tokens count alike."""
    answer = options.recipe.answer
    if answer is None:
        return None
    (token,) = load_tokenizer(options.work).encode(answer, add_special_tokens=False)
    return int(token)


def new_target(options: argparse.Namespace) -> LlamaForCausalLM:
    """Return an untrained target of the recipe's sizes, bfloat16."""
    recipe = options.recipe
    head_dim = recipe.sizes["hidden_size"] // recipe.sizes["num_attention_heads"]
    config = model_config(recipe.target_layers, vocab_size=recipe.vocabulary_size, head_dim=head_dim, **recipe.sizes)
    return new_model(config, options.seed).bfloat16()


def trained_target(options: argparse.Namespace) -> LlamaForCausalLM:
    """Return the target of the last checkpoint, bfloat16, for inference."""
    model = new_target(options).eval()
    model.load_state_dict(load_checkpoint(result_path(options.work, "target"))["model"])
    return model


def trained_draft(options: argparse.Namespace, target: LlamaForCausalLM) -> LlamaForCausalLM:
    """Return the draft of the last checkpoint, bfloat16, for inference."""
    model = new_draft(target, options.recipe.draft_intermediate_size, options.seed).eval()
    model.load_state_dict(load_checkpoint(result_path(options.work, "draft"))["model"])
    return model


def tokenizer(options: argparse.Namespace) -> None:
    """Train the byte-level BPE on the training side of the split."""
    recipe = options.recipe
    trained = train_tokenizer(recipe.tokenizer_texts(options.data), recipe.vocabulary_size)
    trained.save_pretrained(result_path(options.work, "tokenizer"))
    say(f"{len(trained)} entries")


def target(options: argparse.Namespace) -> None:
    """Train the target (resumes from its checkpoint)."""
    parts, recipe = encoded_parts(options), options.recipe
    trainer = TargetTrainer(
        new_target(options),
        training_batches(options, parts),
        Budget(options.tokens, options.seconds),
        Schedule(short_length=recipe.row_tokens, long_share=recipe.long_share, batch_tokens=recipe.batch_tokens),
        answer=answer_token(options),
        compiled=True,
    )
    for line in train(trainer, result_path(options.work, "target")):
        say(line)


def draft(options: argparse.Namespace) -> None:
    """Distil the one-layer draft from the target (resumes from its checkpoint)."""
    parts, teacher, recipe = encoded_parts(options), trained_target(options), options.recipe
    schedule = Schedule(short_length=recipe.draft_row_tokens, long_share=0.0, decay_share=0.5)
    length, rows = schedule.short_length, schedule.shape(0.0)[0]
    chunks = training_batches(options, parts).batch(int(options.pool_tokens) // length, length - 1)
    ids = torch.from_numpy(chunks)
    if recipe.sampled is not None:
        written = windows(_samples(options, teacher, parts[recipe.sampled][0]), length)
        ids = torch.cat([ids, written[HELD_OUT_WINDOWS:]])
    trainer = DraftTrainer(
        new_draft(teacher, recipe.draft_intermediate_size, options.seed),
        PoolBatches(_pool(options, teacher, ids, rows), options.seed),
        Budget(options.tokens, options.seconds),
        schedule,
        head=teacher.model.embed_tokens.weight.detach(),
        answer=answer_token(options),
        compiled=True,
    )
    for line in train(trainer, result_path(options.work, "draft"), save_every_seconds=90):
        say(line)


def _samples(options: argparse.Namespace, teacher: LlamaForCausalLM, openings: EncodedDocuments) -> np.ndarray:
    """Return the target's own texts, (tokens,) uint16, kept in the work folder."""
    file = options.work / "samples.npy"
    if not file.exists():
        found = sample_documents(teacher, openings, tokens=int(options.sample_tokens), seed=options.seed, report=say)
        content = io.BytesIO()
        np.save(content, found)
        write_file(file, content.getvalue())
    return np.load(file)


def _pool(options: argparse.Namespace, teacher: LlamaForCausalLM, ids: torch.Tensor, rows: int) -> Pool:
    """Return the training pool, kept in the work folder."""
    file = options.work / "pool.pt"
    if not file.exists():
        save_checkpoint(file, build_pool(teacher, ids, rows, compiled=True, report=say))
    return tuple(torch.load(file, mmap=True))


def export(options: argparse.Namespace) -> None:
    """Write both models and their tokenizer as Hugging Face folders."""
    trained, teacher = load_tokenizer(options.work), trained_target(options)
    pupil = trained_draft(options, teacher)
    for name, model in (("target", teacher), ("draft", pupil)):
        export_member(model, trained, options.output / name)
        say(f"{name}: {model.num_parameters()} parameters")


def evaluate(options: argparse.Namespace) -> None:
    """Measure the pair on the held-out documents and print the figures as JSON."""
    parts, teacher, answer = encoded_parts(options), trained_target(options), answer_token(options)
    pupil = trained_draft(options, teacher)
    held_out = {part: sides[1] for part, sides in parts.items()}
    figures = {
        "target": {p: measures.text_loss(teacher, d, answer) for p, d in held_out.items()},
        "draft": {p: measures.text_loss(pupil, d, answer) for p, d in held_out.items()},
        "overlap": {p: measures.mean_overlap(teacher, pupil, d, answer) for p, d in held_out.items()},
    }
    say(json.dumps(figures, indent=2))


STAGES = {
    "tokenizer": tokenizer,
    "target": target,
    "draft": draft,
    "export": export,
    "evaluate": evaluate,
}
