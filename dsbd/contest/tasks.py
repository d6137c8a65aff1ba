"""The tasks, and loading one by its name. No torch and no model; docs/tasks.md describes each of them."""

import hashlib
import re
import string
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from dsbd.contest.contenders import require_names
from dsbd.contest.files import csv_rows, json_lines, path_of, read_json, read_text, text_of
from dsbd.contest.sql import Library, Spider
from dsbd.contest.task import Question, Task, in_order
from dsbd.errors import SettingsError, TaskError
from dsbd.util import asset_path

ANSWERS = ("references", "reference", "answer")
ALLOWED = "prompt, one of references, reference and answer, and id"
MT_BENCH = "the path of MT-Bench's question.jsonl (Apache-2.0)"
SQUAD = "the path of SQuAD's dev-v1.1.json (CC BY-SA 4.0)"
SQUAD_HEAD = """Read each passage. Answer the question with the shortest piece of the passage that answers it.

Passage: The lighthouse on Gull Rock was finished in 1874. Its keeper, Ada Moreau, lit the lamp every evening for \
thirty-one years, until an electric lamp took over in 1921.
Question: Who lit the lamp of the lighthouse?
Answer: Ada Moreau

Passage: """
NEEDLE = "The secret animal is a"
NEEDLE_WORDS = (
    "cat", "dog", "bird", "bear", "fish", "frog", "duck", "mouse", "lion", "horse", "bunny", "rabbit", "fox", "cow",
    "pig", "sheep", "goat", "bee", "worm", "hen", "monkey", "truck", "tiger", "turtle", "snake", "spider", "squirrel",
    "wolf", "crab", "whale", "shark", "kitten", "puppy", "butterfly", "deer", "dragon", "goose", "swan", "raven", "bat",
    "hare", "rat", "bull", "chicken", "crow", "lizard", "dinosaur", "seal", "fly", "fairy", "witch", "king", "queen",
    "ball", "tree", "car", "boat", "book", "hat", "key", "bell", "drum", "kite", "doll",
)  # fmt: skip
"""Each is one token of the bundled story pair."""
SEGMENT_CHARACTERS = 890
"""A task has no tokenizer: so many characters are about 224 tokens, a segment of the bundled memory."""
DISTANCES = range(1, 25)
"""Segments between the two sentences: up to 24 x 224 = 5,376 tokens."""
PER_DISTANCE = 10


class Prompts(Task):
    """Plain prompts, without right answers: for speed and perplexity. Seeds of a prompt count up from the settings'."""

    name = "prompts"

    def __init__(self, prompts: Sequence[str | Question]) -> None:
        super().__init__(
            Question(f"{number}", prompt) if isinstance(prompt, str) else prompt
            for number, prompt in enumerate(prompts, 1)
        )


class Stories(Task):
    """Openings of stories for children, to be continued: the bundled prompts first, then openings of a grammar."""

    name = "stories"
    max_new_tokens = 128

    def __init__(self) -> None:
        lines = read_text(asset_path("tasks/stories/openings.txt")).splitlines()
        super().__init__(Question(f"story-{place}", text) for place, text in enumerate(lines))


class Books(Task):
    """Twelve sections of children's books that the bundled models were not trained on, to be continued.

    Each is beyond a context of 2,048 tokens: without a memory it loses its beginning.
    """

    name = "books"
    max_new_tokens = 64
    keeps_end = True

    def __init__(self) -> None:
        path, read = asset_path("tasks/books/sections.jsonl"), []
        for line, entry in json_lines(path):
            id, title, text = (text_of(entry, name, path, line) for name in ("id", "title", "text"))
            read.append(Question(id, text, fields={"title": title}, passage=(0, len(text))))
        super().__init__(read)


class Needle(Task):
    """A word told at the beginning of a long prompt, and asked for at its end; between the two stand stories.

    Ten questions for each distance. Without a memory a prompt beyond the context loses its beginning: the answer.
    """

    name = "needle"
    until = (".", "\n")
    max_new_tokens = 4
    metrics = ("exact_match",)
    keeps_end = True

    def __init__(self) -> None:
        stories = read_text(asset_path("tasks/needle/stories.txt")).strip().replace("\n\n", "\n")
        starts = [found.start() for found in re.finditer(r"^", stories, re.MULTILINE)]
        asked, count = [], len(DISTANCES) * PER_DISTANCE
        for place in range(count):
            distance, number = DISTANCES[place // PER_DISTANCE], place % PER_DISTANCE
            word, length = NEEDLE_WORDS[(7 * place) % len(NEEDLE_WORDS)], distance * SEGMENT_CHARACTERS
            text = stories[starts[place * len(starts) // count] :] + "\n"
            text += (stories + "\n") * (length // len(stories) + 1)
            told = f"{NEEDLE} {word}.\n\n{text[: text.rindex(' ', 0, length)]}"
            fields, prompt = {"distance": f"{distance}"}, f"{told}\n{NEEDLE}"
            asked.append(Question(f"{distance}-{number}", prompt, (word,), fields=fields, passage=(0, len(told))))
        super().__init__(in_order(asked))

    def score(self, question: Question, answer: str) -> tuple[dict[str, float], str]:
        """Score 1 if the first word is the one that was told."""
        return {"exact_match": float(re.findall(r"\w+", answer)[:1] == [*question.references])}, ""


class MtBench(Task):
    """MT-Bench: the first turns of 80 conversations, as prompts. The benchmark's own judge is not asked.

    *Source:* Zheng et al., arXiv 2306.05685.
    """

    name = "mt_bench"
    max_new_tokens = 256

    def __init__(self, data: str | Path | None) -> None:
        """Read the prompts of the official JSON-lines file. Raises: TaskError."""
        place, read = path_of(self.name, data, MT_BENCH), []
        for line, entry in json_lines(place):
            turns = entry.get("turns")
            if not isinstance(turns, list) or not turns or not isinstance(turns[0], str):
                raise TaskError(f"{place}, line {line}: turns must be a list of texts; give {MT_BENCH}")
            fields = {"category": f"{entry.get('category', '')}"}
            read.append(Question(f"{entry.get('question_id', line)}", turns[0], fields=fields))
        super().__init__(in_order(read))


class Squad(Task):
    """SQuAD v1.1: a question about a passage, answered with words of the passage, which is the cluster.

    *Source:* Rajpurkar et al., arXiv 1606.05250; normalisation and F1 as in its official evaluation, version 1.1.
    """

    name = "squad"
    until = ("\n",)
    max_new_tokens = 48
    metrics = ("exact_match", "f1")

    def __init__(self, data: str | Path | None) -> None:
        """Read the questions of the official JSON file, gzip or plain. Raises: TaskError."""
        place = path_of(self.name, data, SQUAD)
        try:
            super().__init__(in_order(_squad_questions(read_json(place))))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise TaskError(f"{place} is not in the format of SQuAD v1.1 ({error!r}); give {SQUAD}") from error

    def score(self, question: Question, answer: str) -> tuple[dict[str, float], str]:
        """Score by the best of the right answers, for each metric by itself."""
        ours, rights = _squad_plain(answer), [_squad_plain(right) for right in question.references]
        return {
            "exact_match": float(ours in rights),
            "f1": max(_f1(ours.split(), right.split()) for right in rights),
        }, ""


def _squad_questions(read: Any) -> Iterator[Question]:
    for article in read["data"]:
        for paragraph in article["paragraphs"]:
            passage = " ".join(paragraph["context"].split("\n")).strip()
            cluster = f"{article['title']}/{hashlib.sha256(passage.encode()).hexdigest()[:12]}"
            place = (len(SQUAD_HEAD), len(SQUAD_HEAD) + len(passage))
            for asked in paragraph["qas"]:
                if not asked["answers"]:
                    raise TaskError(
                        f"question {asked['id']!r} has no right answer; give SQuAD v1.1, not a later version"
                    )
                prompt = f"{SQUAD_HEAD}{passage}\nQuestion: {' '.join(asked['question'].split())}\nAnswer:"
                answers = tuple(answer["text"] for answer in asked["answers"])
                yield Question(asked["id"], prompt, answers, cluster, {"title": article["title"]}, place)


def _squad_plain(text: str) -> str:
    """Return a text in lower case, without ASCII punctuation, then without articles, with single spaces."""
    letters = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", letters).split())


def _f1(answer: list[str], right: list[str]) -> float:
    """Return the harmonic mean of precision and recall, over words with their counts."""
    common = (Counter(answer) & Counter(right)).total()
    return 2 * common / (len(answer) + len(right)) if common else 0.0


class OwnQuestions(Task):
    """A user's own prompts, in the order of the file; where there are right answers, an answer is one line.

    A line is ``{"prompt": text, "references": text or list of texts, "id": text}``; ``reference`` and ``answer`` are
    other names for ``references``, and ``id`` may be left out. Either every line has right answers or none has.
    """

    name = "jsonl"
    until: tuple[str, ...] = ("\n",)
    max_new_tokens = 128
    metrics: tuple[str, ...] = ("exact_match",)

    def __init__(self, data: str | Path | Sequence[Question] | None) -> None:
        """Read a .jsonl or .csv file, which may be packed (.gz), or take questions. Raises: TaskError."""
        if data is None:
            raise TaskError(f"task {self.name} asks your own questions; give the path of a .jsonl or .csv file")
        questions = read_questions(data) if isinstance(data, (str, Path)) else data
        if not any(question.references for question in questions):
            self.until, self.metrics = (), ()
        super().__init__(questions)

    def score(self, question: Question, answer: str) -> tuple[dict[str, float], str]:
        """Score 1 for a right answer, whatever its case and its spaces."""
        right = _own_plain(answer) in map(_own_plain, question.references)
        return {"exact_match": float(right)} if question.references else {}, ""


def read_questions(data: str | Path) -> list[Question]:
    """Return the questions of a file. Raises: TaskError: the file is missing, or a line is wrong, which it names."""
    path = Path(data)
    kind = Path(path.stem).suffix if path.suffix == ".gz" else path.suffix
    if kind not in (".jsonl", ".csv"):
        raise TaskError(f"the data of task jsonl is {path.name!r}; give a .jsonl or .csv file, or one in .gz")
    return questions_of(path, list((json_lines if kind == ".jsonl" else csv_rows)(path)))


def questions_of(source: str | Path, lines: Sequence[tuple[int, Any]]) -> list[Question]:
    """Return the questions of numbered lines of ``source``. Raises: TaskError, which names the line."""
    questions = [_own_question(source, line, entry) for line, entry in lines]
    answered = [bool(question.references) for question in questions]
    if any(answered) and not all(answered):
        line = lines[answered.index(False)][0]
        raise TaskError(
            f"{source}, line {line}: no right answer, and other lines have one; give all lines one, or none"
        )
    return questions


def _own_question(path: str | Path, line: int, entry: Any) -> Question:
    def wrong(what: str) -> TaskError:
        return TaskError(f"{path}, line {line}: {what}; a line has {ALLOWED}")

    if not isinstance(entry, dict):
        raise wrong("no object")
    if unknown := sorted(set(entry) - {"prompt", "id", *ANSWERS}):
        raise wrong(f"unknown field {unknown[0]!r:.100}")
    prompt, given = entry.get("prompt"), [name for name in ANSWERS if name in entry]
    if not isinstance(prompt, str) or not prompt:
        raise wrong("prompt must be a text that is not empty")
    if len(given) > 1:
        raise wrong(f"{given[0]} and {given[1]} are both given")
    id = entry.get("id", f"{line}")
    if not isinstance(id, (str, int)) or isinstance(id, bool):
        raise wrong("id must be a text or a whole number")
    found = entry[given[0]] if given else []
    references = found if isinstance(found, list) else [found]
    for reference in references:
        if not isinstance(reference, str) or "\n" in reference.strip() or not reference.strip():
            raise wrong(f"{given[0]} must be a text of one line that is not empty, or a list of such texts")
    try:
        "".join((f"{id}", prompt, *references)).encode()
    except UnicodeEncodeError:
        raise wrong("half of a surrogate pair, which is no character") from None
    return Question(f"{id}", prompt, tuple(references))


def _own_plain(text: str) -> str:
    """Return a text in one case, with single spaces."""
    return " ".join(text.casefold().split())


TASKS: dict[str, Callable[[str | Path | None], Task]] = {
    "books": lambda data: Books(),
    "jsonl": OwnQuestions,
    "mt_bench": MtBench,
    "needle": lambda data: Needle(),
    "spider": Spider,
    "sql": lambda data: Library("test", data),
    "sql_validation": lambda data: Library("validation", data),
    "squad": Squad,
    "stories": lambda data: Stories(),
}
"""{name: makes the task of a path; None for bundled data}."""


def load_task(name: str, data: str | Path | None = None) -> Task:
    """Return a task with its data.

    Args:
        name: one of ``TASKS``.
        data: a file or folder; None for a task whose questions are bundled.

    Raises:
        TaskError: there is no such task; or its data is missing, damaged or not as its format says.
    """
    if name not in TASKS:
        raise TaskError(f"there is no task {name!r}; tasks are {', '.join(sorted(TASKS))}")
    return TASKS[name](data)


def load_tasks(tasks: Sequence[str | Task], data: Mapping[str, str]) -> list[Task]:
    """Return tasks by their names, your own as they are. Raises: SettingsError, TaskError."""
    names = [task if isinstance(task, str) else task.name for task in tasks]
    require_names("tasks", names, (*sorted(TASKS), *(task.name for task in tasks if isinstance(task, Task))))
    for name in data:
        if name not in names:
            raise SettingsError(f"data is given for {name!r}, which is not asked for; tasks are {', '.join(names)}")
    return [load_task(task, data.get(task)) if isinstance(task, str) else task for task in tasks]
