"""The library and its siblings: the committed files are what the script makes, and have what a test needs."""

import sqlite3

import pytest

from tests.training.sql.committed import FOLDER
from training.sql import rows
from training.sql.__main__ import main
from training.sql.schema import TABLES


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
