"""Spider: prompts with the schema, and the official comparison of rows on the question's own database."""

import gzip
import json

import pytest
from dsbd.tasks.sql import spider
from dsbd.tasks.sql.spider import HEAD, Spider

from dsbd.errors import TaskError
from tests.tasks.scoring import chance, mean_score
from tests.tasks.sql.sample import write_database

SCHEMA = {
    "db_id": "shop",
    "table_names_original": ["books", "shelves"],
    "column_names_original": [[-1, "*"], [0, "book_id"], [0, "title"], [0, "pages"], [1, "book_id"], [1, "place"]],
    "column_types": ["text", "number", "text", "number", "number", "text"],
    "primary_keys": [1],
    "foreign_keys": [[4, 1]],
}
QUESTIONS = [
    {"db_id": "shop", "question": "How many books?", "query": "SELECT count(*) FROM books"},
    {"db_id": "shop", "question": "How many  titles?", "query": "SELECT count(title) FROM books ;"},
    {"db_id": "shop", "question": "Titles and pages?", "query": "SELECT title, pages FROM books"},
    {"db_id": "shop", "question": "In order?", "query": "SELECT title, pages FROM books ORDER BY pages"},
    {"db_id": "attic", "question": "Pages?", "query": "SELECT pages FROM books WHERE pages > 150"},
]


def write_spider(folder, packed=False):
    for name, pages in (("shop", [200, 100, 300]), ("attic", [100, 200, 200])):
        (folder / "database" / name).mkdir(parents=True)
        write_database(folder / "database" / name / f"{name}.sqlite", pages)
    schemas = [SCHEMA, {**SCHEMA, "db_id": "attic"}]
    for name, content in (("dev.json", QUESTIONS), ("tables.json", schemas)):
        raw = json.dumps(content).encode()
        (folder / (f"{name}.gz" if packed else name)).write_bytes(gzip.compress(raw) if packed else raw)
    return folder


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_spider(tmp_path_factory.mktemp("spider"))


@pytest.fixture(scope="module")
def task(folder):
    return Spider(folder)


@pytest.fixture
def asked(task):
    return {question.id: question for question in task.questions()}


def test_right_answers_score_all_and_shuffled_ones_what_chance_gives(task):
    """By chance: its own answer 1 time in 5; the two counts swap; titles in order answer titles in any order."""
    assert (mean_score(task), mean_score(task, metric="exact_match")) == (1.0, 1.0)
    assert chance(task) == pytest.approx((5 + 2 + 1) / 25)
    assert chance(task, "exact_match") == pytest.approx(5 / 25)


@pytest.mark.parametrize(
    ("place", "answer", "right"),
    [
        (2, "SELECT pages, title FROM books", True),
        (3, "SELECT pages, title FROM books ORDER BY pages", True),
        (3, "SELECT title, pages FROM books ORDER BY pages DESC", False),
        (4, "SELECT pages FROM books WHERE pages > = 200", True),
        (4, "SELECT DISTINCT pages FROM books WHERE pages > 150", False),
        (4, "SELECT page FROM books", False),
    ],
)
def test_rows_are_compared_as_the_official_comparison_does(task, asked, place, answer, right):
    """Catches a comparison of sets, which forgets how often and in what order rows come."""
    scored = task.score(asked[f"spider-{place}"], answer)
    assert scored.metrics["execution_accuracy"] == float(right)
    reason = "error: no such column: page" if answer == "SELECT page FROM books" else "" if right else "other rows"
    assert scored.reason == reason


def test_a_prompt_has_the_schema_and_the_question(task, asked):
    question = asked["spider-1"]
    assert question.prompt == (
        f"{HEAD}books (book_id number, title text, pages number; key book_id)\n"
        "shelves (book_id number, place text; book_id refers to books.book_id)\n"
        "Question: How many titles?\nSQL:"
    )
    assert question.references == ("SELECT count(title) FROM books",)
    assert (question.cluster, dict(question.fields)) == ("shop", {"db_id": "shop", "hardness": "easy"})
    fitted = task.fit(question, len, len(question.prompt) - 10)  # loses a whole table, never the question
    assert fitted.removeprefix(HEAD) == (
        "books (book_id number, title text, pages number; key book_id)\nQuestion: How many titles?\nSQL:"
    )
    assert task.answer(" SELECT 1\nFROM books; SELECT 2") == "SELECT 1\nFROM books"


def test_packed_files_and_a_hub_give_the_same_questions(folder, task, tmp_path, monkeypatch):
    """Catches packed files that are read otherwise."""
    assert Spider(write_spider(tmp_path, packed=True)).questions() == task.questions()
    monkeypatch.setattr(spider, "hub_folder", lambda hub_id, patterns: folder)
    assert Spider("owner/name").questions() == task.questions()


def test_a_right_query_that_fails_is_named(tmp_path):
    """The question counts as wrong, and the reason says that the data is to blame."""
    write_spider(tmp_path)
    broken = [{**QUESTIONS[0], "query": "SELECT cover FROM books"}]
    (tmp_path / "dev.json").write_text(json.dumps(broken), encoding="utf-8")
    task = Spider(tmp_path)
    scored = task.score(task.questions()[0], "SELECT 1")
    assert (scored.metrics["execution_accuracy"], scored.reason) == (
        0.0,
        "the right query fails: no such column: cover",
    )


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "dev.json").unlink(), r"has no dev\.json and no dev\.json\.gz; give a folder"),
        (lambda folder: (folder / "tables.json").write_text("[]"), "not in the format of Spider"),
        (lambda folder: (folder / "dev.json").write_text("[{}]"), "not in the format of Spider"),
        (lambda folder: (folder / "dev.json").write_text("[]"), "no questions"),
        (
            lambda folder: (folder / "dev.json").write_text(json.dumps([{**QUESTIONS[0], "db_id": "../shop"}])),
            r"names the database '\.\./shop'",
        ),
        (lambda folder: (folder / "database/attic/attic.sqlite").unlink(), r"has no attic/attic\.sqlite"),
    ],
    ids=["no questions", "no schema", "no field", "empty", "path", "no database"],
)
def test_missing_and_damaged_data_is_an_error(change, message, tmp_path):
    change(write_spider(tmp_path))
    with pytest.raises(TaskError, match=message):
        Spider(tmp_path)
