"""The bundled questions to SQL: scored by execution on the database and its siblings."""

import json

import pytest
from dsbd.tasks.registry import load_task
from dsbd.tasks.sql.library import DATABASES, Library

from dsbd.errors import TaskError
from tests.tasks.scoring import chance, mean_score
from tests.tasks.sql.sample import QUESTIONS, write_database, write_sample


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    return Library("test", write_sample(tmp_path_factory.mktemp("library")))


@pytest.fixture
def asked(task):
    return {question.id: question for question in task.questions()}


def test_right_answers_score_all_and_shuffled_ones_what_chance_gives(task):
    """By chance: each of 5 questions gets its own answer 1 time in 5; q1 and q2 swap, and q3 answers q4."""
    assert (mean_score(task), mean_score(task, metric="exact_match")) == (1.0, 1.0)
    assert chance(task) == pytest.approx((5 + 2 + 1) / 25)
    assert chance(task, "exact_match") == pytest.approx(5 / 25)


@pytest.mark.parametrize(
    ("id", "answer", "right", "reason"),
    [
        ("q1", "SELECT 4", True, ""),
        ("q4", "SELECT title FROM books ORDER BY title DESC", True, ""),
        ("q3", "SELECT title FROM books", False, "other rows on library"),
        ("q5", "SELECT 250.0", False, "other rows on sibling-1"),
        ("q5", "SELECT AVG(pages), 1 FROM books", False, "other rows on library"),
        ("q5", "SELECT AVG(page) FROM books", False, "error: no such column: page"),
    ],
)
def test_an_answer_is_right_on_every_database_or_wrong(task, asked, id, answer, right, reason):
    """Catches a right answer by luck on one database, and an error whose reason is lost."""
    scored = task.score(asked[id], answer)
    assert (scored.metrics["execution_accuracy"], scored.reason) == (float(right), reason)


def test_questions_say_what_results_are_split_by(asked):
    question = asked["q3"]
    assert dict(question.fields) == {"split": "iid", "hardness": "easy", "skeleton": "order"}
    assert (question.cluster, question.prompt) == ("order", "Q: Titles by length?\nSQL:")
    assert len(asked) == len(QUESTIONS)


def test_missing_and_damaged_files_are_errors(tmp_path):
    with pytest.raises(TaskError, match=r"needs .*test\.jsonl, which is not there; leave the path out"):
        load_task("sql", tmp_path)
    write_sample(tmp_path)
    (tmp_path / "validation.jsonl").write_text(json.dumps({"id": "a", "prompt": "b"}), encoding="utf-8")
    with pytest.raises(TaskError, match=r"validation\.jsonl, line 1: there is no 'sql'; it must be a text"):
        load_task("sql_validation", tmp_path).questions()
    (tmp_path / "databases" / f"{DATABASES[0]}.sqlite").unlink()
    write_database(tmp_path / "databases" / f"{DATABASES[0]}.sqlite", [])
    (tmp_path / "test.jsonl").write_text(
        json.dumps(QUESTIONS[0] | {"sql": "SELECT x FROM y", "prompt": "", "split": "", "hardness": ""}),
        encoding="utf-8",
    )
    broken = load_task("sql", tmp_path)
    with pytest.raises(TaskError, match=r"the right query 'SELECT x FROM y' fails on .*: no such table: y"):
        broken.score(broken.questions()[0], "SELECT 1")
