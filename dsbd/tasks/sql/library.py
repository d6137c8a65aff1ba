"""The bundled task: questions in English about the database of a library, answered in SQL.

An answer is right if it gives the rows of the right query on the database and on each of its siblings, which have the
same tables and other rows: luck on one database does not count.
"""

from collections.abc import Iterator
from pathlib import Path

from dsbd.assets import asset_path
from dsbd.errors import QueryError, TaskError
from dsbd.tasks.files import json_lines, text_of
from dsbd.tasks.sql.execution import Row, run_query
from dsbd.tasks.sql.rows import same_rows
from dsbd.tasks.sql.scoring import SqlTask
from dsbd.tasks.sql.text import orders_rows
from dsbd.tasks.task import Question, in_order

DATABASES = ("library", *(f"sibling-{number}" for number in range(1, 6)))
KEPT = ("split", "hardness", "skeleton")


class Library(SqlTask):
    """Questions to SQL about one bundled database."""

    name = "sql"
    version = 1
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
        file = home / f"{part}.jsonl"
        self.databases = [home / "databases" / f"{name}.sqlite" for name in DATABASES]
        missing = [path for path in (file, *self.databases) if not path.is_file()]
        if missing:
            raise TaskError(
                f"task {self.name} needs {missing[0]}, which is not there; leave the path out for the bundled questions"
            )
        super().__init__(in_order(_questions(file)))
        self._gold: dict[tuple[Path, str], list[Row]] = {}

    def difference(self, question: Question, answer: str) -> str:
        """Compare the rows on all databases. Raises: TaskError: the right query fails."""
        right = question.references[0]
        ordered = orders_rows(right)
        for database in self.databases:
            try:
                rows = run_query(database, answer)
            except QueryError as error:
                return f"error: {error}"
            if not same_rows(self._rows_of(database, right), rows, ordered=ordered):
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


def _questions(file: Path) -> Iterator[Question]:
    """Read the questions. Their cluster is the skeleton of the right query: there is one database only."""
    for line, entry in json_lines(file):
        id, prompt, sql, *kept = (text_of(entry, name, file, line) for name in ("id", "prompt", "sql", *KEPT))
        fields = dict(zip(KEPT, kept, strict=True))
        yield Question(id, prompt, (sql,), fields["skeleton"], fields)
