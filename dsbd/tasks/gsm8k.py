"""GSM8K: word problems for primary school, answered with a number after a marker.

The worked examples in the prompt are our own. Answers are taken out of a text, and compared, as lm-evaluation-harness
does for its task ``gsm8k``: strictly, after the marker, and flexibly, as the last number.

*Source:* Cobbe et al., arXiv 2110.14168.
"""

import re
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dsbd.errors import TaskError
from dsbd.stopping import cut
from dsbd.tasks.files import json_lines, text_of
from dsbd.tasks.places import hub_rows, place_of
from dsbd.tasks.records import Question, Score, Task, in_order

REMEDY = "the path of GSM8K's test.jsonl, or a hub id such as openai/gsm8k (MIT)"
HEAD = """Question: A baker fills 4 trays with 12 rolls each and sells 30 of the rolls. How many rolls are left?
Answer: The trays hold 4 * 12 = 48 rolls. After the sale 48 - 30 = 18 rolls are left.
#### 18

Question: Nora reads 15 pages on Monday and twice as many on Tuesday. Her book has 120 pages. How many pages does she \
still have to read?
Answer: On Tuesday she reads 2 * 15 = 30 pages. On both days together she reads 15 + 30 = 45 pages. She still has to \
read 120 - 45 = 75 pages.
#### 75

Question: A bicycle costs $240. It is sold for a quarter less, and Paul pays half of the new price at once. How many \
dollars does he still owe?
Answer: A quarter of the price is 240 / 4 = 60 dollars, so the new price is 240 - 60 = 180 dollars. Paul pays \
180 / 2 = 90 dollars, so he still owes 180 - 90 = 90 dollars.
#### 90

"""
_MARKED = re.compile(r"#### (-?[0-9.,]+)")
_NUMBER = re.compile(r"-?[$0-9.,]{2,}|-?[0-9]+")
INVALID = "[invalid]"
"""The answer where a text has no number."""


class Gsm8k(Task):
    """Word problems. Right is a number, written as in the data but for commas, a dollar sign and a last full stop."""

    name = "gsm8k"
    version = 1
    until = ("Question:",)
    max_new_tokens = 256
    metrics = MappingProxyType({"exact_match": True})
    main_metric = "exact_match"
    filters = ("strict-match", "flexible-extract")
    licence = "MIT"

    def __init__(self, data: str | Path | None) -> None:
        """Read the problems.

        Args:
            data: path of a JSON-lines file with question and answer, or a hub id.

        Raises:
            TaskError: the data is missing, or a line is not in the format of GSM8K.
        """
        place = place_of(self.name, data, REMEDY)
        lines = json_lines(place) if isinstance(place, Path) else enumerate(hub_rows(place, "test", "main"), start=1)
        super().__init__(in_order(_question(place, line, entry) for line, entry in lines))

    def answer(self, text: str, filter: str = "strict-match") -> str:
        """Return the first number after the marker, or with "flexible-extract" the last number of all."""
        shown = cut(text, self.until)
        found = _MARKED.findall(shown)[:1] if filter == "strict-match" else _NUMBER.findall(shown)[-1:]
        return found[0] if found else INVALID

    def score(self, question: Question, answer: str) -> Score:
        """Score 1 for the right number."""
        return Score({"exact_match": float(_plain(answer) == _plain(question.references[0]))})

    def gold(self, question: Question) -> str:
        """Return the marker and the number."""
        return f"\n#### {question.references[0]}"


def _question(place: Path | str, line: int, entry: dict[str, Any]) -> Question:
    asked, solved = text_of(entry, "question", place, line), text_of(entry, "answer", place, line)
    found = _MARKED.search(solved)
    if not found:
        raise TaskError(f"{place}, line {line}: the answer has no number after '#### '; give {REMEDY}")
    return Question(f"gsm8k-{line}", f"{HEAD}Question: {asked}\nAnswer:", (found[1],))


def _plain(number: str) -> str:
    """Return a number without commas, dollar signs and a full stop at its end."""
    return number.replace(",", "").replace("$", "").removesuffix(".").lower()
