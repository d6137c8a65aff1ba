"""The library's rows from a seed: skewed values, ties and NULLs; names and titles are unique."""

import random
import sqlite3
from pathlib import Path

from training.sql import values
from training.sql.schema import KEYS, NULLABLE, TABLES, definition

COUNTS = {"authors": 90, "branches": 40, "books": 240, "members": 160, "copies": 400, "loans": 400}
"""Rows of each table; a table comes after those that it refers to."""

SEEDS = {"library": 1, **{f"sibling-{number}": 1 + number for number in range(1, 6)}}
"""Database: its seed."""

NULL_SHARE = 0.12


def skewed(rng: random.Random, count: int) -> int:
    """Return an index below `count`; low ones are more frequent."""
    return int(count * rng.random() ** 1.3)


def number(rng: random.Random, table: str, column: str) -> int:
    """Return a value of a column of numbers; prizes, fines and prices are mostly low, years mostly late."""
    low, high, step = values.AMOUNTS[table, column]
    steps = (high - low) // step + 1
    if column in ("year", "opened", "joined", "taken"):
        return high - step * int(steps * rng.random() ** 1.3)
    return low + step * int(steps * rng.random() ** (1.6 if column in ("prizes", "fine", "price") else 1.2))


def names(rng: random.Random, table: str) -> list[str]:
    """Return the names or titles of a table, all different."""
    if table == "branches":
        return rng.sample(values.BRANCH_NAMES, COUNTS[table])
    first, second = values.NAME_PARTS[table]
    return rng.sample([f"{one} {two}" for one in first for two in second], COUNTS[table])


def rows_of(seed: int) -> dict[str, list[tuple[int | str | None, ...]]]:
    """Return the rows of every table of the database of a seed."""
    rng = random.Random(seed)
    parents = {(child, column): parent for (child, parent), column in KEYS.items()}
    order = {
        place: rng.sample(words, len(words)) for place, words in values.LABELS.items()
    }  # which word is frequent differs from database to database
    rows: dict[str, list[tuple[int | str | None, ...]]] = {}
    for table, count in COUNTS.items():
        called = names(rng, table) if TABLES[table][1] in ("name", "title") else []
        rows[table] = []
        for index in range(count):
            row: list[int | str | None] = [index + 1]
            for column in TABLES[table][1:]:
                if (table, column) in parents:
                    row.append(1 + skewed(rng, COUNTS[parents[table, column]]))
                elif column in ("name", "title"):
                    row.append(called[index])
                elif (table, column) in NULLABLE and rng.random() < NULL_SHARE * (4 if column == "fine" else 1):
                    row.append(None)
                elif (table, column) in order:
                    words = order[table, column]
                    row.append(words[skewed(rng, len(words))])
                else:
                    row.append(number(rng, table, column))
            rows[table].append(tuple(row))
    return rows


def fill(connection: sqlite3.Connection, seed: int) -> None:
    """Make the tables of a seed in an empty database."""
    for table, rows in rows_of(seed).items():
        connection.execute(definition(table))
        marks = ", ".join("?" for _ in TABLES[table])
        connection.executemany(f"INSERT INTO {table} VALUES ({marks})", rows)
    connection.commit()


def write_all(folder: Path) -> None:
    """Write the library and its siblings, each as one small file; older files are replaced."""
    for name, seed in SEEDS.items():
        path = folder / f"{name}.sqlite"
        path.unlink(missing_ok=True)
        connection = sqlite3.connect(path)
        connection.execute("PRAGMA page_size = 1024")
        fill(connection, seed)
        connection.execute("VACUUM")
        connection.close()


def in_memory(seed: int) -> sqlite3.Connection:
    """Return the database of a seed, held in memory."""
    connection = sqlite3.connect(":memory:")
    fill(connection, seed)
    return connection
