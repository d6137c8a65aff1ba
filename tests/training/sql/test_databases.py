"""The library and its siblings: the committed files are what the script makes, and have what a test needs."""

import sqlite3
from collections import Counter

import pytest

from tests.training.sql.committed import FOLDER
from training.sql import rows, values
from training.sql.__main__ import main
from training.sql.schema import NULLABLE, TABLES


def tables(connection: sqlite3.Connection) -> dict[str, list[tuple]]:
    return {table: connection.execute(f"SELECT * FROM {table}").fetchall() for table in TABLES}


@pytest.fixture(scope="module")
def made(tmp_path_factory):
    """The folder that the command wrote."""
    folder = tmp_path_factory.mktemp("databases")
    assert main(["databases", "--output", str(folder)]) == 0
    return folder


@pytest.mark.parametrize("name", rows.SEEDS)
def test_the_committed_file_has_the_rows_that_the_script_makes(name, made):
    for path in (FOLDER / "databases" / f"{name}.sqlite", made / f"{name}.sqlite"):
        connection = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
        assert tables(connection) == rows.rows_of(rows.SEEDS[name])
        assert path.stat().st_size < 60_000
        assert connection.execute("PRAGMA integrity_check").fetchone() == ("ok",)
        assert connection.execute("PRAGMA foreign_key_check").fetchall() == []
        connection.close()


def test_rows_are_as_the_questions_need_them():
    """Words of the columns are those of the questions; the main database has unknowns, ties and frequent words."""
    found = [rows.rows_of(seed) for seed in rows.SEEDS.values()]
    for table, columns in TABLES.items():
        assert len({tuple(one[table]) for one in found}) == len(found)
        assert 40 <= len(found[0][table]) <= 400
        for place, column in enumerate(columns):
            words = {row[place] for one in found for row in one[table]} - {None}
            cells = Counter(row[place] for row in found[0][table])
            assert (cells.pop(None, 0) > 0) == ((table, column) in NULLABLE)
            if column in ("name", "title"):
                assert max(cells.values()) == 1
            if (table, column) in values.LABELS:
                assert words == set(values.LABELS[table, column])
                assert max(cells.values()) > 1.5 * min(cells.values())
            elif (table, column) in values.AMOUNTS:
                low, high, step = values.AMOUNTS[table, column]
                assert words <= set(range(low, high + 1, step))
                assert max(cells.values()) > 1
