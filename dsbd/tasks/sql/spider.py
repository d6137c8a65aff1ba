"""Spider: questions about databases that a model has not seen, answered in SQL and scored by execution.

*Source:* Yu et al., arXiv 1809.08887; the comparison of rows is that of Zhong et al., arXiv 2010.02840, on one database
for each question and with DISTINCT kept.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from dsbd.errors import QueryError, TaskError
from dsbd.tasks.files import read_json
from dsbd.tasks.places import hub_folder, place_of
from dsbd.tasks.sql.execution import QueryLimits, Row, run_query
from dsbd.tasks.sql.rows import same_rows
from dsbd.tasks.sql.scoring import SqlTask
from dsbd.tasks.task import Question, in_order

REMEDY = (
    "a folder with Spider's dev.json and tables.json (or .json.gz), and its databases as database/NAME/NAME.sqlite "
    "(CC BY-SA 4.0)"
)
PATTERNS = ["dev.json*", "tables.json*", "database/**"]
LIMITS = QueryLimits(rows=10_000)
"""Two right queries give more than 1,000 rows."""
HEAD = """Write one SQLite query that answers each question about its database.

Database:
kiln (kiln_id number, town text, degrees number; key kiln_id)
pot (pot_id number, glaze text, kiln_id number; key pot_id; kiln_id refers to kiln.kiln_id)
Question: In which towns were pots with a green glaze fired?
SQL: SELECT DISTINCT T1.town FROM kiln AS T1 JOIN pot AS T2 ON T1.kiln_id = T2.kiln_id WHERE T2.glaze = 'green';

Database:
"""


class Spider(SqlTask):
    """Questions to SQL about many databases, one cluster for each. Too long a prompt loses tables, from the last."""

    name = "spider"
    version = 1
    until = (";", "\n\n")
    max_new_tokens = 128
    cut_at = "\n"

    def __init__(self, data: str | Path | None) -> None:
        """Read the questions, and find their databases.

        Args:
            data: a folder, or the hub id of a repository, with the files that docs/tasks.md names.

        Raises:
            TaskError: a file or a database is missing, or not in Spider's format.
        """
        place = place_of(self.name, data, REMEDY)
        folder = place if isinstance(place, Path) else hub_folder(place, PATTERNS)
        self._folder = folder / "database"
        try:
            schemas = {schema["db_id"]: _schema(schema) for schema in read_json(_file(folder, "tables.json"))}
            super().__init__(in_order(_questions(read_json(_file(folder, "dev.json")), schemas)))
        except (KeyError, TypeError, AttributeError, IndexError) as error:
            raise TaskError(f"{folder} is not in the format of Spider ({error!r}); give {REMEDY}") from error
        missing = [q.cluster for q in self._questions if not self._database(q).is_file()]
        if missing:
            raise TaskError(f"{self._folder} has no {missing[0]}/{missing[0]}.sqlite; give {REMEDY}")
        self._gold: dict[str, list[Row]] = {}

    def _database(self, question: Question) -> Path:
        return self._folder / question.cluster / f"{question.cluster}.sqlite"

    def difference(self, question: Question, answer: str) -> str:
        """Compare the rows on the question's database. Where the right query fails, no answer is right."""
        right = question.references[0]
        try:
            if question.id not in self._gold:
                self._gold[question.id] = run_query(self._database(question), _joined(right), LIMITS)
        except QueryError as error:
            return f"the right query fails: {error}"
        try:
            rows = run_query(self._database(question), _joined(answer), LIMITS)
        except QueryError as error:
            return f"error: {error}"
        ordered = "order by" in right.lower()
        return "" if same_rows(self._gold[question.id], rows, ordered=ordered, any_columns=True) else "other rows"


def _file(folder: Path, name: str) -> Path:
    """Return the path of a JSON file, plain or gzip."""
    found = [path for path in (folder / name, folder / f"{name}.gz") if path.is_file()]
    if not found:
        raise TaskError(f"{folder} has no {name} and no {name}.gz; give {REMEDY}")
    return found[0]


def _questions(entries: Any, schemas: dict[str, str]) -> Iterator[Question]:
    from dsbd.tasks.sql.hardness import hardness  # it needs an optional package, which other tasks do without

    for place, entry in enumerate(entries):
        name, sql = entry["db_id"], entry["query"]
        if not re.fullmatch(r"\w+", name, re.ASCII):
            raise TaskError(f"question {place} of dev.json names the database {name!r:.100}; give {REMEDY}")
        prompt = f"{HEAD}{schemas[name]}\nQuestion: {' '.join(entry['question'].split())}\nSQL:"
        fields = {"db_id": name, "hardness": hardness(sql)}
        passage = (len(HEAD), len(HEAD) + len(schemas[name]))
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
