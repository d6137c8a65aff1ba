"""The tasks, and loading one by its name. No torch and no model; docs/commands.md describes each of them."""

import hashlib
import re
import string
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from functools import lru_cache
from pathlib import Path
from typing import Any

from dsbd.bench.files import in_format_of, json_lines, path_of, read_json, read_text, text_in
from dsbd.bench.sql import QueryLimits, Row, orders_rows, run_query, same_rows
from dsbd.bench.task import Question, QuestionList, Task, in_order
from dsbd.errors import QueryError, TaskError
from dsbd.util import asset_path

MT_BENCH = "the path of MT-Bench's question.jsonl (Apache-2.0)"
FIELDS = ("prompt", "references", "id")
"""Of a line of a user's own questions."""
GSM8K = "the path of GSM8K's test.jsonl (MIT)"
SQUAD = "the path of SQuAD's dev-v1.1.json (CC BY-SA 4.0)"
NEEDLE = "The secret animal is a"
OTHER_ROWS = "other rows"
DATABASES = ("library", *(f"sibling-{number}" for number in range(1, 6)))
SPIDER = (
    "a folder with Spider's dev.json and tables.json, and its databases as database/NAME/NAME.sqlite (CC BY-SA 4.0)"
)
SPIDER_LIMITS = QueryLimits(rows=10_000)
"""Two right queries give more than 1,000 rows."""
SEGMENT_CHARACTERS = 890
"""A task has no tokenizer: so many characters are about 224 tokens, a segment of the bundled memory."""
DISTANCES = range(1, 25)
"""Segments between the two sentences: up to 24 x 224 = 5,376 tokens."""
PER_DISTANCE = 10


def needle_words() -> list[str]:
    """Return the words of the needles, each of which is one token of the bundled story pair."""
    return read_text(asset_path("tasks/needle/words.txt")).split()


class Prompts(QuestionList):
    """Plain prompts, without right answers: for speed and perplexity. Seeds of a prompt count up from the settings'."""

    name = "prompts"

    def __init__(self, prompts: Sequence[str | Question]) -> None:
        super().__init__(
            Question(f"{number}", prompt) if isinstance(prompt, str) else prompt
            for number, prompt in enumerate(prompts, 1)
        )


class Stories(QuestionList):
    """Openings of stories for children, to be continued: the bundled prompts first, then openings of a grammar."""

    name = "stories"
    max_new_tokens = 128

    def __init__(self) -> None:
        lines = read_text(asset_path("tasks/stories/openings.txt")).splitlines()
        super().__init__(Question(f"story-{index}", text) for index, text in enumerate(lines))


class Needle(QuestionList):
    """A word stands at the beginning of a long prompt, and is asked for at its end; between the two stand stories.

    Ten questions for each distance. Without a memory a prompt beyond the context loses its beginning: the answer.
    """

    name = "needle"
    until = (".", "\n")
    max_new_tokens = 4
    main_metric = "exact_match"

    def __init__(self) -> None:
        stories = read_text(asset_path("tasks/needle/stories.txt")).strip().replace("\n\n", "\n")
        starts = [line.start() for line in re.finditer(r"^", stories, re.MULTILINE)]
        questions, words, count = [], needle_words(), len(DISTANCES) * PER_DISTANCE
        for index in range(count):
            distance, number = DISTANCES[index // PER_DISTANCE], index % PER_DISTANCE
            word, length = words[(7 * index) % len(words)], distance * SEGMENT_CHARACTERS
            text = stories[starts[index * len(starts) // count] :] + "\n"
            text += (stories + "\n") * (length // len(stories) + 1)
            prompt = f"{NEEDLE} {word}.\n\n{text[: text.rindex(' ', 0, length)]}\n{NEEDLE}"
            questions.append(Question(f"{distance}-{number}", prompt, (word,)))
        super().__init__(in_order(questions))

    def score(self, question: Question, answer: str) -> tuple[float, str]:
        """Score 1 if the first word is that of the beginning."""
        return float(re.findall(r"\w+", answer)[:1] == [*question.references]), ""


class MtBench(QuestionList):
    """MT-Bench: the first turns of 80 conversations, as prompts. The benchmark's own judge is not asked.

    *Source:* Zheng et al., arXiv 2306.05685.
    """

    name = "mt_bench"
    max_new_tokens = 256

    def __init__(self, data: str | Path | None) -> None:
        """Read the prompts of the official JSON-lines file. Raises: TaskError."""
        path, questions = path_of(self.name, data, MT_BENCH), []
        for line, entry in json_lines(path):
            with in_format_of(f"{path}, line {line}", MT_BENCH):
                turns = entry["turns"]
                if not isinstance(turns, list) or not isinstance(turns[0], str):
                    raise TypeError("its first turn is no text")
                questions.append(Question(f"{entry.get('question_id', line)}", turns[0]))
        super().__init__(in_order(questions))


class Gsm8k(QuestionList):
    """GSM8K: arithmetic in words. The last number of an answer counts.

    *Source:* Cobbe et al., arXiv 2110.14168.
    """

    name = "gsm8k"
    max_new_tokens = 256
    main_metric = "exact_match"

    def __init__(self, data: str | Path | None) -> None:
        """Read the questions of the official JSON-lines file. Raises: TaskError."""
        path, questions = path_of(self.name, data, GSM8K), []
        for line, entry in json_lines(path):
            with in_format_of(f"{path}, line {line}", GSM8K):
                _, mark, right = entry["answer"].rpartition("#### ")
                if not mark or _last_number(right) is None:
                    raise TypeError("no number behind ####")
                prompt = entry["question"] + "\nThink step by step. The last number that you write is your answer."
            questions.append(Question(f"{line}", prompt, (right,)))
        super().__init__(in_order(questions))

    def score(self, question: Question, answer: str) -> tuple[float, str]:
        """Score 1 where the last number of the answer is that of the right one."""
        return float(_last_number(answer) == _last_number(question.references[0])), ""


_NUMBER = re.compile(r"(?:(?<![\w)\]%])-)?(?:(?:\d{1,3}(?:,\d\d\d?)*,\d{3}(?!\d)|\d+)(?:\.\d+)?|(?<!\w)\.\d+)")
"""A minus behind a number, a word or a bracket is no sign of the number; commas separate thousands."""


def _last_number(text: str) -> Decimal | None:
    """Return the last number of a text, with all its digits; None where there is none."""
    numbers = _NUMBER.findall(text.replace("\u2212", "-").replace("$", ""))
    return Decimal(numbers[-1].replace(",", "")) if numbers else None


class Squad(QuestionList):
    """SQuAD v1.1: a question about a passage, answered with words of the passage, which is the cluster.

    *Source:* Rajpurkar et al., arXiv 1606.05250; normalisation as in its official evaluation, version 1.1.
    """

    name = "squad"
    until = ("\n",)
    max_new_tokens = 48
    main_metric = "exact_match"

    def __init__(self, data: str | Path | None) -> None:
        """Read the questions of the official JSON file. Raises: TaskError."""
        path = path_of(self.name, data, SQUAD)
        with in_format_of(f"{path}", SQUAD):
            super().__init__(in_order(_squad_questions(read_json(path))))

    def score(self, question: Question, answer: str) -> tuple[float, str]:
        """Score 1 for any of the right answers, compared after the normalisation."""
        return float(_squad_plain(answer) in map(_squad_plain, question.references)), ""


def _squad_questions(content: Any) -> Iterator[Question]:
    head = read_text(asset_path("tasks/squad/head.txt")).rstrip()
    for article in content["data"]:
        for paragraph in article["paragraphs"]:
            passage = paragraph["context"].replace("\n", " ").strip()
            cluster = f"{article['title']}/{hashlib.sha256(passage.encode()).hexdigest()[:12]}"
            for entry in paragraph["qas"]:
                question = " ".join(entry["question"].split())
                prompt = f"{head} {passage}\nQuestion: {question}\nAnswer:"
                yield Question(f"{entry['id']}", prompt, _squad_answers(entry), cluster)


def _squad_answers(entry: Any) -> tuple[str, ...]:
    """Return the right answers in which the normalisation leaves a word: an empty answer would be right otherwise."""
    answers = tuple(one["text"] for one in entry["answers"] if _squad_plain(one["text"]))
    if not answers:
        raise TypeError(f"question {entry['id']!r:.100} has no right answer with a word, as in later versions")
    return answers


def _squad_plain(text: str) -> str:
    """Return a text in lower case, without ASCII punctuation, then without articles, with single spaces."""
    letters = text.lower().translate(str.maketrans("", "", string.punctuation))
    return " ".join(re.sub(r"\b(a|an|the)\b", " ", letters).split())


class OwnQuestions(QuestionList):
    """A user's own prompts, in the order of the file; where there are right answers, an answer is one line.

    A line is ``{"prompt": text, "references": text or list of texts, "id": text}``; ``id`` may be left out.
    Either every line has right answers or none has.
    """

    name = "jsonl"
    until: tuple[str, ...] = ("\n",)
    max_new_tokens = 128
    main_metric = "exact_match"

    def __init__(self, data: str | Path | None) -> None:
        """Read a .jsonl file. Raises: TaskError: it is missing, or a line is wrong."""
        path = path_of(self.name, data, "the path of a .jsonl file with your questions")
        if path.suffix != ".jsonl":
            raise TaskError(f"the data of task jsonl is {path.name!r}; give a .jsonl file: JSON lines")
        lines = list(json_lines(path))
        questions = [_own_question(path, line, entry) for line, entry in lines]
        answered = [bool(question.references) for question in questions]
        if not any(answered):
            self.until, self.main_metric = (), ""
        elif not all(answered):
            line = lines[answered.index(False)][0]
            raise TaskError(
                f"{path}, line {line}: no right answer, and other lines have one; give all lines one, or none"
            )
        super().__init__(questions)

    def score(self, question: Question, answer: str) -> tuple[float | None, str]:
        """Score 1 for a right answer, whatever its case and its spaces."""
        if not question.references:
            return None, ""
        return float(_own_plain(answer) in map(_own_plain, question.references)), ""


def _own_question(path: Path, line: int, entry: dict[str, Any]) -> Question:
    where, listed = f"{path}, line {line}", entry.get("references", [])
    if unknown := sorted(set(entry) - {*FIELDS}):
        raise TaskError(f"{where}: unknown field {unknown[0]!r:.100}; a line has {', '.join(FIELDS)}")
    listed = listed if isinstance(listed, list) else [listed]
    references = [text_in(where, {"a reference": one}, "a reference") for one in listed]
    for one in references:
        if "\n" in one.strip():
            raise TaskError(f"{where}: a reference is {one!r:.100}; write one line: an answer is one")
    return Question(text_in(where, entry, "id", id=line), text_in(where, entry, "prompt"), tuple(references))


def _own_plain(text: str) -> str:
    """Return a text in one case, with single spaces."""
    return " ".join(text.casefold().split())


right_rows = lru_cache(maxsize=None)(run_query)
"""Returns the rows of a right query, which is run once."""


class Library(QuestionList):
    """Questions about one bundled database.

    An answer is right if it gives the rows of the right query on the database and on each of its siblings, which have
    the same tables and other rows: luck on one database does not count. The cluster is the right query's skeleton.
    """

    name = "sql"
    until = ("\n", ";")
    max_new_tokens = 96
    main_metric = "execution_accuracy"

    def __init__(self, folder: Path) -> None:
        """Read the bundled questions from their folder. Raises: TaskError."""
        self.databases = [folder / "databases" / f"{name}.sqlite" for name in DATABASES]
        entries = [entry for _, entry in json_lines(folder / "test.jsonl")]
        super().__init__(
            in_order(Question(one["id"], one["prompt"], (one["sql"],), one["skeleton"]) for one in entries)
        )

    def score(self, question: Question, answer: str) -> tuple[float, str]:
        """Score 1 for an answer with the right rows. Raises: TaskError: the right query fails."""
        right = question.references[0]
        for database in self.databases:
            try:
                gold = right_rows(database, right)
            except QueryError as error:
                message = f"the right query {right!r} fails on {database}: {error}; the files do not match"
                raise TaskError(message) from error
            if reason := _difference(gold, database, answer, QueryLimits(), ordered=orders_rows(right)):
                return 0.0, f"{reason} on {database.stem}" if reason == OTHER_ROWS else reason
        return 1.0, ""


def _difference(gold: Sequence[Row], database: Path, query: str, limits: QueryLimits, **how: bool) -> str:
    """Return why a query does not give the right rows; empty where it does. ``how``: as for :func:`same_rows`."""
    try:
        rows = run_query(database, query, limits)
    except QueryError as error:
        return f"error: {error}"
    return "" if same_rows(gold, rows, **how) else OTHER_ROWS


class Spider(QuestionList):
    """Questions about databases that a model has not seen, a cluster for each.

    *Source:* Yu et al., arXiv 1809.08887; columns in any order as in Zhong et al., arXiv 2010.02840, on one database
    for each question and with DISTINCT kept.
    """

    name = "spider"
    until = (";", "\n\n")
    max_new_tokens = 128
    main_metric = "execution_accuracy"

    def __init__(self, data: str | Path | None) -> None:
        """Read the questions of :data:`SPIDER`, and find their databases. Raises: TaskError."""
        folder = path_of(self.name, data, SPIDER)
        self._folder = folder / "database"
        with in_format_of(f"{folder}", SPIDER):
            schemas = {schema["db_id"]: _schema(schema) for schema in read_json(folder / "tables.json")}
            super().__init__(in_order(_spider_questions(folder / "dev.json", schemas)))
        missing = [one.cluster for one in self._questions if not self._database(one).is_file()]
        if missing:
            raise TaskError(f"{self._folder} has no {missing[0]}/{missing[0]}.sqlite; give {SPIDER}")

    def _database(self, question: Question) -> Path:
        return self._folder / question.cluster / f"{question.cluster}.sqlite"

    def score(self, question: Question, answer: str) -> tuple[float, str]:
        """Score 1 for an answer with the right rows. Where the right query fails, no answer is right."""
        right, database = question.references[0], self._database(question)
        try:
            gold = right_rows(database, _joined(right), SPIDER_LIMITS)
        except QueryError as error:
            return 0.0, f"the right query fails: {error}"
        ordered = "order by" in right.lower()
        reason = _difference(gold, database, _joined(answer), SPIDER_LIMITS, ordered=ordered, any_columns=True)
        return float(not reason), reason


def _spider_questions(file: Path, schemas: dict[str, str]) -> Iterator[Question]:
    head = read_text(asset_path("tasks/spider/head.txt"))
    for index, entry in enumerate(read_json(file)):
        where = f"{file}, question {index}"
        name, question, sql = (text_in(where, entry, field) for field in ("db_id", "question", "query"))
        if not re.fullmatch(r"\w+", name, re.ASCII) or name not in schemas:
            raise TaskError(f"{where}: db_id is {name!r:.100}, which is no name in tables.json; give {SPIDER}")
        prompt = f"{head}{schemas[name]}\nQuestion: {' '.join(question.split())}\nSQL:"
        yield Question(f"spider-{index}", prompt, (sql.strip().rstrip(";").strip(),), name)


def _schema(schema: dict[str, Any]) -> str:
    """Return a line for each table: its columns with their types, its keys, and what they refer to."""
    tables, columns = schema["table_names_original"], schema["column_names_original"]
    lines, names = [], [name for _, name in columns]
    # BIRD has keys of several columns
    lists = sorted(key if isinstance(key, list) else [key] for key in schema["primary_keys"])
    keys = [(key[0], f"; key {', '.join(names[index] for index in key)}") for key in lists]
    links = [(child, f"; {names[child]} refers to {tables[columns[parent][0]]}.{names[parent]}")
             for child, parent in schema["foreign_keys"]]  # fmt: skip
    for number, table in enumerate(tables):
        own = [index for index, (owner, _) in enumerate(columns) if owner == number]
        listed = ", ".join(f"{names[index]} {schema['column_types'][index]}" for index in own)
        more = "".join(text for index, text in (*keys, *links) if index in own)
        lines.append(f"{table} ({listed}{more})")
    return "\n".join(lines)


def _joined(query: str) -> str:
    """Return a query without spaces inside its comparison signs, as the official comparison does."""
    return re.sub(r"([<>!])\s+=", r"\1=", query)


TASKS: dict[str, Callable[[str | Path | None], Task]] = {
    "gsm8k": Gsm8k,
    "jsonl": OwnQuestions,
    "mt_bench": MtBench,
    "needle": lambda data: Needle(),
    "spider": Spider,
    "sql": lambda data: Library(asset_path("tasks/sql")),
    "squad": Squad,
    "stories": lambda data: Stories(),
}
"""{name: makes the task of a path; None for bundled data}."""
BUNDLED = ("needle", "sql", "stories")
"""Tasks that bring their data."""


def load_task(name: str, data: str | Path | None = None) -> Task:
    """Return a task with its data: a file or folder; None for bundled questions.

    Raises:
        TaskError: there is no such task; it takes no data; or its data is missing, damaged or not as its format says.
    """
    if name not in TASKS:
        raise TaskError(f"there is no task {name!r}; tasks are {', '.join(sorted(TASKS))}")
    if name in BUNDLED and data is not None:
        raise TaskError(f"data of task {name} is {str(data)[:200]!r}, and its data is bundled; leave it out")
    return TASKS[name](data)
