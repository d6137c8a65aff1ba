"""The committed questions and databases."""

import json
from pathlib import Path

FOLDER = Path(__file__).resolve().parents[3] / "assets" / "tasks" / "sql"


def questions() -> list[dict]:
    """Return validation and test, in the order of the files."""
    lines = [line for name in ("validation", "test") for line in (FOLDER / f"{name}.jsonl").open(encoding="utf-8")]
    return [json.loads(line) for line in lines]
