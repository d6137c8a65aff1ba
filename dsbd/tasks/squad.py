"""SQuAD v1.1: a question about a passage, answered with words of the passage.

*Source:* Rajpurkar et al., arXiv 1606.05250; normalisation and F1 as in its official evaluation, version 1.1.
"""

import hashlib
import re
import string
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import MappingProxyType
from typing import Any

from dsbd.errors import TaskError
from dsbd.tasks.files import read_json
from dsbd.tasks.places import hub_rows, place_of
from dsbd.tasks.task import Question, Score, Task, in_order

REMEDY = "the path of SQuAD's dev-v1.1.json, or a hub id such as rajpurkar/squad (CC BY-SA 4.0)"
HEAD = """Read each passage. Answer the question with the shortest piece of the passage that answers it.

Passage: The lighthouse on Gull Rock was finished in 1874. Its keeper, Ada Moreau, lit the lamp every evening for \
thirty-one years, until an electric lamp took over in 1921.
Question: Who lit the lamp of the lighthouse?
Answer: Ada Moreau

Passage: """


class Squad(Task):
    """Questions about passages of an encyclopedia. Questions about one passage are one cluster."""

    name = "squad"
    version = 1
    until = ("\n",)
    max_new_tokens = 48
    metrics = MappingProxyType({"exact_match": True, "f1": True})
    main_metric = "exact_match"

    def __init__(self, data: str | Path | None) -> None:
        """Read the questions.

        Args:
            data: path of the official JSON file, gzip or plain, or a hub id.

        Raises:
            TaskError: the data is missing, or not in the format of SQuAD v1.1.
        """
        place = place_of(self.name, data, REMEDY)
        try:
            entries = _file_entries(read_json(place)) if isinstance(place, Path) else _hub_entries(place)
            super().__init__(in_order(_question(*entry) for entry in entries))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise TaskError(f"{place} is not in the format of SQuAD v1.1 ({error!r}); give {REMEDY}") from error

    def score(self, question: Question, answer: str) -> Score:
        """Score by the best of the right answers, for each metric by itself."""
        return Score(
            {
                "exact_match": max(float(_plain(answer) == _plain(right)) for right in question.references),
                "f1": max(_f1(_plain(answer).split(), _plain(right).split()) for right in question.references),
            }
        )


Entry = tuple[str, str, str, str, list[str]]
"""Id, title, passage, question and right answers."""


def _file_entries(read: Any) -> Iterator[Entry]:
    for article in read["data"]:
        for paragraph in article["paragraphs"]:
            for asked in paragraph["qas"]:
                answers = [answer["text"] for answer in asked["answers"]]
                yield asked["id"], article["title"], paragraph["context"], asked["question"], answers


def _hub_entries(hub_id: str) -> Iterator[Entry]:
    for row in hub_rows(hub_id, "validation"):
        yield row["id"], row["title"], row["context"], row["question"], list(row["answers"]["text"])


def _question(id: str, title: str, passage: str, asked: str, answers: list[str]) -> Question:
    if not answers:
        raise TaskError(
            f"question {id!r} has no right answer; SQuAD v1.1 has one for each question, later versions do not"
        )
    passage = " ".join(passage.split("\n")).strip()
    prompt = f"{HEAD}{passage}\nQuestion: {' '.join(asked.split())}\nAnswer:"
    cluster = f"{title}/{hashlib.sha256(passage.encode()).hexdigest()[:12]}"
    return Question(id, prompt, tuple(answers), cluster, {"title": title}, (len(HEAD), len(HEAD) + len(passage)))


def _plain(text: str) -> str:
    """Return a text in lower case, without ASCII punctuation, then without articles, with single spaces."""
    letters = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", letters).split())


def _f1(answer: list[str], right: list[str]) -> float:
    """Return the harmonic mean of precision and recall, over words with their counts."""
    common = (Counter(answer) & Counter(right)).total()
    return 2 * common / (len(answer) + len(right)) if common else 0.0
