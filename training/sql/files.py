"""The task's files: training as one packed file, validation and test as plain lines."""

import gzip
import json
import sys
from pathlib import Path

from dsbd.files import write_file
from training.sql.examples import Example
from training.sql.render import sql
from training.sql.splits import COUNTS, SHARD, SHARDS, questions, seen_in_training, training

TRAINING, VALIDATION, TEST = "train.jsonl.gz", "validation.jsonl", "test.jsonl"


def record(name: str, one: Example, text: str, split: str) -> dict[str, str]:
    """Return an example as a line's fields; prompt, space and SQL are the text that a model learns."""
    return {
        "id": name,
        "question": one.question,
        "prompt": f"Q: {one.question}\nSQL:",
        "sql": text,
        "skeleton": one.skeleton,
        "split": split,
    }


def write_training(folder: Path) -> None:
    """Write the training examples, with progress on the error stream."""
    with gzip.GzipFile(folder / TRAINING, "wb", mtime=0) as file:
        for shard in range(SHARDS):
            for number, (one, text) in enumerate(training(shard)):
                fields = record(f"training-{shard}-{number:05d}", one, text, "training")
                file.write((json.dumps(fields) + "\n").encode())
            print(f"{(shard + 1) * SHARD:,} of {SHARDS * SHARD:,} examples", file=sys.stderr)


def write_questions(folder: Path) -> None:
    """Write validation and test; the forms that training has are drawn anew first.

    Raises:
        TaskError: the package that reads SQL for the hardness is not installed.
    """
    from dsbd.contest.hardness import hardness  # here, as the other commands do without its package

    print("drawing the training examples, to know their forms", file=sys.stderr)
    seen = seen_in_training()
    taken: set[str] = set()
    lines: dict[str, list[str]] = {VALIDATION: [], TEST: []}
    for split in COUNTS:
        found = questions(split, taken, seen)
        for number, one in enumerate(found, 1):
            text = sql(one.gold)
            fields = record(f"{split}-{number:03d}", one, text, split) | {"hardness": hardness(text)}
            more = {"ambiguities": list(one.ambiguities), "rate": round(one.rates[0], 6)}
            lines[VALIDATION if split == "validation" else TEST].append(json.dumps(fields | more) + "\n")
        print(f"{split}: {len(found)} questions", file=sys.stderr)
    for name, texts in lines.items():
        write_file(folder / name, "".join(texts))
