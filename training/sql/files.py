"""The task's files: training as one packed file, validation and test as plain lines, and their coverage."""

import gzip
import json
import sys
from collections import Counter
from collections.abc import Iterator
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


def write_training(folder: Path, shards: int = SHARDS) -> None:
    """Write the training examples, with progress on the error stream."""
    with gzip.GzipFile(folder / TRAINING, "wb", mtime=0) as file:
        for shard in range(shards):
            for number, (one, text) in enumerate(training(shard)):
                fields = record(f"training-{shard}-{number:05d}", one, text, "training")
                file.write((json.dumps(fields) + "\n").encode())
            print(f"{(shard + 1) * SHARD:,} of {shards * SHARD:,} examples", file=sys.stderr)


def write_questions(folder: Path) -> None:
    """Write validation and test; the forms that training has are drawn anew first.

    Raises:
        TaskError: the package that reads SQL for the hardness is not installed.
    """
    from dsbd.tasks.sql.hardness import hardness  # here, as the other commands do without its package

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


def read(path: Path) -> Iterator[dict]:
    """Yield the records of a file."""
    with gzip.open(path, "rt", encoding="utf-8") if path.suffix == ".gz" else path.open(encoding="utf-8") as file:
        for line in file:
            yield json.loads(line)


def coverage(folder: Path) -> str:
    """Return a Markdown table of skeletons and splits, of the files that are there."""
    counts: Counter[tuple[str, str]] = Counter()
    for name in (TRAINING, VALIDATION, TEST):
        if (folder / name).is_file():
            counts.update((one["skeleton"], one["split"]) for one in read(folder / name))
    splits = [split for split in ("training", *COUNTS) if any(found == split for _, found in counts)]
    table = ["| skeleton | " + " | ".join(splits) + " |", "|---|" + "---:|" * len(splits)]
    for skeleton in dict.fromkeys(skeleton for skeleton, _ in counts):
        table.append(f"| {skeleton} | " + " | ".join(f"{counts[skeleton, split]:,}" for split in splits) + " |")
    totals = [sum(count for (_, found), count in counts.items() if found == split) for split in splits]
    return "\n".join([*table, "| all | " + " | ".join(f"{total:,}" for total in totals) + " |"])
