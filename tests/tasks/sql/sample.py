"""A tiny database in the form of the bundled one, its siblings, and questions about it."""

import json
import sqlite3
from contextlib import closing

from dsbd.tasks.sql.library import DATABASES

QUESTIONS = [
    {"id": "q1", "question": "How many books?", "sql": "SELECT COUNT(*) FROM books", "skeleton": "count"},
    {"id": "q2", "question": "How many titles?", "sql": "SELECT COUNT(title) FROM books", "skeleton": "count"},
    {"id": "q3", "question": "Titles by length?", "sql": "SELECT title FROM books ORDER BY pages", "skeleton": "order"},
    {"id": "q4", "question": "The titles?", "sql": "SELECT title FROM books", "skeleton": "projection"},
    {"id": "q5", "question": "Mean length?", "sql": "SELECT AVG(pages) FROM books", "skeleton": "average"},
]
"""q1 and q2 have the same answer everywhere; the rows of q3 answer q4 too, but not the other way round."""


def write_database(path, pages):
    """Write a database of books with these numbers of pages, None for an unknown one."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE books (book_id INTEGER PRIMARY KEY, title TEXT, pages INTEGER)")
        rows = [(f"Book {place}", count) for place, count in enumerate(pages)]
        connection.executemany("INSERT INTO books (title, pages) VALUES (?, ?)", rows)
        connection.commit()


def write_sample(folder):
    """Write test.jsonl, validation.jsonl and the databases below a folder."""
    (folder / "databases").mkdir()
    for place, name in enumerate(DATABASES):
        write_database(folder / "databases" / f"{name}.sqlite", [300 + place, 200, 100 + place, 400])
    for split in ("test", "validation"):
        lines = [
            json.dumps({**entry, "prompt": f"Q: {entry['question']}\nSQL:", "hardness": "easy", "split": "iid"})
            for entry in QUESTIONS
        ]
        (folder / f"{split}.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder
