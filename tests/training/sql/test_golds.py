"""Right answers mean something: what is empty, tied, or shared with a neighbour is refused."""

import sqlite3

import pytest

from dsbd.contest.hardness import hardness
from tests.training.sql.committed import FOLDER, questions
from training.sql import rows
from training.sql.golds import same


@pytest.mark.parametrize("step", [7, pytest.param(1, marks=pytest.mark.slow)], ids=["some", "all"])
def test_committed_golds_have_a_determined_result(step):
    """Each gold runs on all six files, gives rows on the main one, and the same ones if SQLite reads backwards."""
    connections = {}
    for name in rows.SEEDS:
        path = FOLDER / "databases" / f"{name}.sqlite"
        connections[name] = sqlite3.connect(f"file:{path}?mode=ro", uri=True)
    asked = questions()[::step]
    assert all(one["hardness"] == hardness(one["sql"]) for one in asked)
    for backwards in (0, 1):
        for connection in connections.values():
            connection.execute(f"PRAGMA reverse_unordered_selects = {backwards}")
        for one in asked:
            found = {name: connection.execute(one["sql"]).fetchall() for name, connection in connections.items()}
            assert found["library"], one["id"]
            assert {cell for row in found["library"] for cell in row} - {None, 0}, one["id"]
            if backwards:
                ordered = "ORDER BY" in one["sql"]
                assert all(same(one["results"][name], found[name], ordered) for name in rows.SEEDS), one["id"]
            one["results"] = found
    for connection in connections.values():
        connection.close()
