"""Questions to SQL, scored by execution and by the text of the query: the bundled library, and Spider.

Two queries gave the same rows if their values are equal, or one is a float and they differ by at most 1e-6 (1e-9 of the
larger one); NULL is the same as NULL. Rows are a multiset, unless the order is asked for.

*Source:* Yu et al., arXiv 1809.08887 (Spider); columns in any order as in Zhong et al., arXiv 2010.02840, on one
database for each question and with DISTINCT kept.
"""

import math
import re
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from dsbd.contest.files import json_lines, path_of, read_json, text_of
from dsbd.contest.sandbox import QueryLimits, Row, Value, run_query
from dsbd.contest.task import Question, Task, in_order
from dsbd.errors import QueryError, TaskError
from dsbd.util import asset_path

_TOKEN = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|\w+(?:\.\d+)?|<=|>=|<>|!=|==|\|\||\S", re.ASCII
)
_SAME = {"<>": "!=", "==": "="}
DATABASES = ("library", *(f"sibling-{number}" for number in range(1, 6)))
KEPT = ("split", "hardness", "skeleton")
SPIDER = (
    "a folder with Spider's dev.json and tables.json (or .json.gz), and its databases as database/NAME/NAME.sqlite "
    "(CC BY-SA 4.0)"
)
SPIDER_LIMITS = QueryLimits(rows=10_000)
"""Two right queries give more than 1,000 rows."""
SPIDER_HEAD = """Write one SQLite query that answers each question about its database.

Database:
kiln (kiln_id number, town text, degrees number; key kiln_id)
pot (pot_id number, glaze text, kiln_id number; key pot_id; kiln_id refers to kiln.kiln_id)
Question: In which towns were pots with a green glaze fired?
SQL: SELECT DISTINCT T1.town FROM kiln AS T1 JOIN pot AS T2 ON T1.kiln_id = T2.kiln_id WHERE T2.glaze = 'green';

Database:
"""


class SqlTask(Task):
    """Questions to SQL; a subclass compares the rows."""

    metrics = ("execution_accuracy", "exact_match")

    def difference(self, question: Question, answer: str) -> str:
        """Return what is wrong with the rows of an answer, or nothing."""
        raise NotImplementedError

    def score(self, question: Question, answer: str) -> tuple[dict[str, float], str]:
        """Score by execution, and by the text of the query."""
        reason = self.difference(question, answer)
        exact = normalised(question.references[0]) == normalised(answer)
        return {"execution_accuracy": float(not reason), "exact_match": float(exact)}, reason


class Library(SqlTask):
    """Questions about one bundled database.

    An answer is right if it gives the rows of the right query on the database and on each of its siblings, which have
    the same tables and other rows: luck on one database does not count. The cluster is the right query's skeleton.
    """

    name = "sql"
    until = ("\n", ";")
    max_new_tokens = 96

    def __init__(self, part: str = "test", folder: str | Path | None = None) -> None:
        """Choose the questions.

        Args:
            part: "test", or "validation" to tune on.
            folder: where PART.jsonl and databases/ are; the bundled ones if left out.

        Raises:
            TaskError: a file is missing or damaged.
        """
        home = Path(folder) if folder is not None else asset_path("tasks/sql")
        file, read = home / f"{part}.jsonl", []
        self.databases = [home / "databases" / f"{name}.sqlite" for name in DATABASES]
        missing = [path for path in (file, *self.databases) if not path.is_file()]
        if missing:
            raise TaskError(
                f"task {self.name} needs {missing[0]}, which is not there; leave the path out for the bundled questions"
            )
        for line, entry in json_lines(file):
            id, prompt, sql, *kept = (text_of(entry, name, file, line) for name in ("id", "prompt", "sql", *KEPT))
            fields = dict(zip(KEPT, kept, strict=True))
            read.append(Question(id, prompt, (sql,), fields["skeleton"], fields))
        super().__init__(in_order(read))
        self._gold: dict[tuple[Path, str], list[Row]] = {}

    def difference(self, question: Question, answer: str) -> str:
        """Compare the rows on all databases. Raises: TaskError: the right query fails."""
        right = question.references[0]
        for database in self.databases:
            try:
                rows = run_query(database, answer)
            except QueryError as error:
                return f"error: {error}"
            if not same_rows(self._rows_of(database, right), rows, ordered=orders_rows(right)):
                return f"other rows on {database.stem}"
        return ""

    def _rows_of(self, database: Path, right: str) -> list[Row]:
        """Return the rows of a right query, run once."""
        if (database, right) not in self._gold:
            try:
                self._gold[database, right] = run_query(database, right)
            except QueryError as error:
                raise TaskError(
                    f"the right query {right!r} fails on {database}: {error}; the files do not match"
                ) from error
        return self._gold[database, right]


class Spider(SqlTask):
    """Questions about databases that a model has not seen, a cluster for each. Too long a prompt loses last tables."""

    name = "spider"
    until = (";", "\n\n")
    max_new_tokens = 128
    cut_at = "\n"

    def __init__(self, data: str | Path | None) -> None:
        """Read the questions, and find their databases.

        Args:
            data: a folder with the files that docs/tasks.md names.

        Raises:
            TaskError: a file or a database is missing, or not in Spider's format.
        """
        folder = path_of(self.name, data, SPIDER)
        self._folder = folder / "database"
        try:
            schemas = {schema["db_id"]: _schema(schema) for schema in read_json(_file(folder, "tables.json"))}
            super().__init__(in_order(_spider_questions(read_json(_file(folder, "dev.json")), schemas)))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise TaskError(f"{folder} is not in the format of Spider ({error!r}); give {SPIDER}") from error
        missing = [one.cluster for one in self._questions if not self._database(one).is_file()]
        if missing:
            raise TaskError(f"{self._folder} has no {missing[0]}/{missing[0]}.sqlite; give {SPIDER}")
        self._gold: dict[str, list[Row]] = {}

    def _database(self, question: Question) -> Path:
        return self._folder / question.cluster / f"{question.cluster}.sqlite"

    def difference(self, question: Question, answer: str) -> str:
        """Compare the rows on the question's database. Where the right query fails, no answer is right."""
        right, database = question.references[0], self._database(question)
        try:
            if question.id not in self._gold:
                self._gold[question.id] = run_query(database, _joined(right), SPIDER_LIMITS)
        except QueryError as error:
            return f"the right query fails: {error}"
        try:
            rows = run_query(database, _joined(answer), SPIDER_LIMITS)
        except QueryError as error:
            return f"error: {error}"
        ordered = "order by" in right.lower()
        return "" if same_rows(self._gold[question.id], rows, ordered=ordered, any_columns=True) else "other rows"


def _file(folder: Path, name: str) -> Path:
    """Return the path of a JSON file, plain or gzip."""
    found = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
    if not found:
        raise TaskError(f"{folder} has no {name} and no {name}.gz; give {SPIDER}")
    return found[0]


def _spider_questions(entries: Any, schemas: dict[str, str]) -> Iterator[Question]:
    from dsbd.contest.hardness import hardness  # it needs an optional package, which other tasks do without

    for place, entry in enumerate(entries):
        name, sql = entry["db_id"], entry["query"]
        if not re.fullmatch(r"\w+", name, re.ASCII):
            raise TaskError(f"question {place} of dev.json names the database {name!r:.100}; give {SPIDER}")
        prompt = f"{SPIDER_HEAD}{schemas[name]}\nQuestion: {' '.join(entry['question'].split())}\nSQL:"
        fields = {"db_id": name, "hardness": hardness(sql)}
        passage = (len(SPIDER_HEAD), len(SPIDER_HEAD) + len(schemas[name]))
        yield Question(f"spider-{place}", prompt, (sql.strip().rstrip(";").strip(),), name, fields, passage)


def _schema(schema: dict[str, Any]) -> str:
    """Return a line for each table: its columns with their types, its keys, and what they refer to."""
    tables, columns = schema["table_names_original"], schema["column_names_original"]
    lines = []
    for number, table in enumerate(tables):
        own = [place for place, (owner, _) in enumerate(columns) if owner == number]
        listed = ", ".join(f"{columns[place][1]} {schema['column_types'][place]}" for place in own)
        keys = [f"; key {columns[place][1]}" for place in own if place in schema["primary_keys"]]
        links = [
            f"; {columns[child][1]} refers to {tables[columns[parent][0]]}.{columns[parent][1]}"
            for child, parent in schema["foreign_keys"]
            if child in own
        ]
        lines.append(f"{table} ({listed}{''.join(keys)}{''.join(links)})")
    return "\n".join(lines)


def _joined(query: str) -> str:
    """Return a query with comparison signs in one piece, as the official comparison does."""
    return re.sub(r"([<>!])\s+=", r"\1=", query)


def same_rows(gold: Sequence[Row], answer: Sequence[Row], *, ordered: bool, any_columns: bool = False) -> bool:
    """Tell whether an answer has the rows of the gold answer; each has rows of one length.

    Args:
        gold: the right rows.
        answer: the rows to check.
        ordered: the rows must come in the same order.
        any_columns: the answer's columns may be in another order, the same for all rows.

    Example:
        >>> same_rows([(1, "a"), (2, "b")], [(2, "b"), (1, "a")], ordered=False)
        True
        >>> same_rows([(1, "a")], [("a", 1)], ordered=False)
        False
        >>> same_rows([(1, "a")], [("a", 1)], ordered=False, any_columns=True)
        True
    """
    if len(gold) != len(answer) or not gold:
        return len(gold) == len(answer)
    if len(gold[0]) != len(answer[0]):
        return False
    same = _same_lists if ordered else _same_multisets
    return _some_columns(gold, answer, same, ()) if any_columns else same(gold, answer)


Same = Callable[[Sequence[Row], Sequence[Row]], bool]


def _some_columns(gold: Sequence[Row], answer: Sequence[Row], same: Same, chosen: tuple[int, ...]) -> bool:
    """Tell whether the chosen columns of the answer, the gold's first ones, can be completed to all columns."""
    width = len(gold[0])
    if len(chosen) == width:
        return True
    for column in range(width):
        trial = (*chosen, column)
        if (
            column not in chosen
            and same([row[: len(trial)] for row in gold], [tuple(row[place] for place in trial) for row in answer])
            and _some_columns(gold, answer, same, trial)
        ):
            return True
    return False


def _same_lists(gold: Sequence[Row], answer: Sequence[Row]) -> bool:
    return all(map(_same_row, gold, answer))


def _same_multisets(gold: Sequence[Row], answer: Sequence[Row]) -> bool:
    """Pair equal rows first, then the rest within the tolerance."""
    left, found = Counter(gold), Counter(answer)
    missing, extra = list((left - found).elements()), list((found - left).elements())
    for row in missing:
        place = next((place for place, other in enumerate(extra) if _same_row(row, other)), None)
        if place is None:
            return False
        del extra[place]
    return True


def _same_row(gold: Row, answer: Row) -> bool:
    return all(map(_same_value, gold, answer))


def _same_value(gold: Value, answer: Value) -> bool:
    if isinstance(gold, (int, float)) and isinstance(answer, (int, float)) and float in (type(gold), type(answer)):
        return math.isclose(gold, answer, rel_tol=1e-9, abs_tol=1e-6)
    return gold == answer


def tokens(query: str) -> list[str]:
    """Return the tokens of a query, in lower case outside quotes.

    Example:
        >>> tokens("SELECT Name FROM t WHERE x <> 'A b'")
        ['select', 'name', 'from', 't', 'where', 'x', '!=', "'A b'"]
    """
    found = _TOKEN.findall(query)
    return [_SAME.get(token, token) if token[0] in "'\"`[" else _SAME.get(token, token.lower()) for token in found]


def normalised(query: str) -> str:
    """Return a query with one space between tokens, without a semicolon at its end."""
    found = tokens(query)
    while found and found[-1] == ";":
        found.pop()
    return " ".join(found)


def orders_rows(query: str) -> bool:
    """Tell whether a query fixes the order of its rows: an ORDER BY that is in no subquery.

    Example:
        >>> orders_rows("SELECT a FROM t ORDER BY a"), orders_rows("SELECT a FROM (SELECT a FROM t ORDER BY a)")
        (True, False)
    """
    depth, last = 0, ""
    for token in tokens(query):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0 and (last, token) == ("order", "by"):
            return True
        last = token
    return False
