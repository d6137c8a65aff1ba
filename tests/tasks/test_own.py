"""A user's own questions: every line is checked, and answers are compared without case and spaces."""

import gzip
import json

import pytest
from dsbd.tasks.own import OwnQuestions

from dsbd.errors import TaskError
from tests.tasks.scoring import chance, mean_score

LINES = [
    {"id": "x", "prompt": "Capital of France?", "references": ["Paris", "the city of Paris"]},
    {"prompt": "Two and two?", "answer": "Four"},
    {"id": 7, "prompt": "Three and one?", "reference": " four "},
]


def load(tmp_path, *entries, name="own.jsonl"):
    (tmp_path / name).write_text("\n".join(map(json.dumps, entries)), encoding="utf-8")
    return OwnQuestions(tmp_path / name)


def test_right_answers_score_all_and_shuffled_ones_what_chance_gives(tmp_path):
    """By chance each of 3 questions gets its own answer 1 time in 3, and two share theirs."""
    task = load(tmp_path, *LINES)
    assert mean_score(task) == 1.0
    assert chance(task) == pytest.approx((3 + 2) / 9)


def test_questions_keep_the_order_of_the_file(tmp_path):
    assert [question.id for question in load(tmp_path, *LINES).questions()] == ["x", "2", "7"]
    assert [question.id for question in load(tmp_path, *LINES).questions(2)] == ["x", "2"]


@pytest.mark.parametrize(
    ("answer", "right"), [("PARIS", 1), (" the  city of\tparis", 1), ("Paris.", 0), ("", 0), ("Rome", 0)]
)
def test_case_and_spaces_do_not_count(answer, right, tmp_path):
    """Catches a normalisation that takes punctuation out, which this one says it does not."""
    task = load(tmp_path, *LINES)
    assert task.score(task.questions()[0], task.answer(answer)).metrics == {"exact_match": right}


def test_prompts_alone_are_not_scored_and_go_on_past_a_line(tmp_path):
    task = load(tmp_path, {"prompt": "Go on:"}, {"prompt": "And on:"})
    assert (task.metrics, task.main_metric, task.until) == ({}, None, ())
    assert task.score(task.questions()[0], "x").metrics == {}
    scored = load(tmp_path, *LINES)
    assert (scored.main_metric, scored.until) == ("exact_match", ("\n",))


def test_a_table_and_a_packed_file_are_read_too(tmp_path):
    (tmp_path / "own.csv").write_text('prompt,answer\n"Two, and two?",four\n', encoding="utf-8")
    (question,) = OwnQuestions(tmp_path / "own.csv").questions()
    assert (question.id, question.prompt, question.references) == ("2", "Two, and two?", ("four",))
    (tmp_path / "own.jsonl.gz").write_bytes(gzip.compress(json.dumps(LINES[1]).encode()))
    assert OwnQuestions(tmp_path / "own.jsonl.gz").questions()[0].references == ("Four",)


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "prompt must be a text that is not empty"),
        ({"prompt": 1}, "prompt must be"),
        ({"prompt": "a", "answers": "b"}, "unknown field 'answers'"),
        ({"prompt": "a", "answer": "b", "reference": "c"}, "reference and answer are both given"),
        ({"prompt": "a", "answer": "b\nc"}, "answer must be a text of one line"),
        ({"prompt": "a", "references": ["b", ""]}, "references must be a text of one line"),
        ({"prompt": "a", "answer": "b", "id": True}, "id must be a text or a whole number"),
        ({"prompt": "a"}, "no right answer, and other lines have one"),
    ],
)
def test_a_bad_line_is_an_error_that_names_it(entry, message, tmp_path):
    with pytest.raises(TaskError, match=rf"own\.jsonl, line 2: ({message})"):
        load(tmp_path, {"prompt": "a", "answer": "b"}, entry)


@pytest.mark.parametrize("name", ["own.txt", "own.gz"])
def test_another_kind_of_file_is_an_error(name, tmp_path):
    with pytest.raises(TaskError, match=r"give a \.jsonl or \.csv file"):
        load(tmp_path, *LINES, name=name)


def test_the_same_id_twice_and_an_empty_file_are_errors(tmp_path):
    with pytest.raises(TaskError, match="several questions with the id '2'"):
        load(tmp_path, {"prompt": "a", "id": 2}, {"prompt": "b"})
    with pytest.raises(TaskError, match="task jsonl has no questions"):
        load(tmp_path)
