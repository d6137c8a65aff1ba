"""GSM8K: the number after the marker, or the last number; and the worked examples are right."""

import json
import re

import pytest

from dsbd.errors import TaskError
from dsbd.tasks import gsm8k
from dsbd.tasks.gsm8k import HEAD, Gsm8k
from tests.tasks.scoring import chance, mean_score

PROBLEMS = [
    ("Ann has 2 hats and buys 3. How many has she?", "2 + 3 = 5\n#### 5"),
    ("A pen costs 5 cents. How many cents?", "It costs 5.\n#### 5"),
    ("A house costs a thousand and 50 dollars. What does it cost?", "It costs $1,050.\n#### 1,050"),
    ("It is 3 degrees and gets 10 colder.", "3 - 10 = -7\n#### -7"),
]


@pytest.fixture(scope="module")
def task(tmp_path_factory):
    file = tmp_path_factory.mktemp("gsm8k") / "test.jsonl"
    lines = [json.dumps({"question": asked, "answer": solved}) for asked, solved in PROBLEMS]
    file.write_text("\n".join(lines), encoding="utf-8")
    return Gsm8k(file)


@pytest.mark.parametrize("filter", Gsm8k.filters)
def test_right_answers_score_all(task, filter):
    assert mean_score(task, filter=filter) == 1.0


def test_shuffled_answers_score_what_chance_gives(task):
    """By chance each of 4 questions gets its own answer 1 time in 4, and two share the answer 5."""
    assert chance(task) == pytest.approx((4 + 2) / 16)


@pytest.mark.parametrize(
    ("text", "strict", "flexible"),
    [
        (" 2 + 3 = 5\n#### 5", "5", "5"),
        (" #### 5\n#### 6", "5", "6"),
        ("####5", "[invalid]", "5"),
        (" It is 5.", "[invalid]", "5."),
        (" It is $1,050.", "[invalid]", "$1,050."),
        (" none", "[invalid]", "[invalid]"),
        (" #### -7 degrees", "-7", "-7"),
        (" #### 5\n\nQuestion: And 9?\nAnswer: #### 9", "5", "5"),
    ],
)
def test_the_answer_is_a_number_of_the_text(task, text, strict, flexible):
    """Catches a number of the next question, and a strict filter that takes any number."""
    assert (task.answer(text, "strict-match"), task.answer(text, "flexible-extract")) == (strict, flexible)


@pytest.mark.parametrize(
    ("answer", "right"), [("1,050", 1), ("$1050.", 1), ("1050", 1), ("1050.0", 0), ("105", 0), ("[invalid]", 0)]
)
def test_commas_and_signs_do_not_count(task, answer, right):
    question = next(question for question in task.questions() if question.references == ("1,050",))
    assert task.score(question, answer).metrics == {"exact_match": right}


def test_an_exact_comparison_of_texts_is_caught(task, monkeypatch):
    """A wrong normalisation changes a score."""
    question = next(question for question in task.questions() if question.references == ("1,050",))
    assert task.score(question, "1050").metrics["exact_match"] == 1.0
    monkeypatch.setattr(gsm8k, "_plain", str.strip)
    assert task.score(question, "1050").metrics["exact_match"] == 0.0


def test_the_worked_examples_compute_right():
    """Every sum in the prompt is right, and the last one is the answer."""
    sums = re.findall(r"(\d+) ([-+*/]) (\d+) = (\d+)", HEAD)
    ways = {"+": int.__add__, "-": int.__sub__, "*": int.__mul__, "/": int.__floordiv__}
    assert len(sums) == 9
    assert [
        (left, right) for left, sign, right, result in sums if ways[sign](int(left), int(right)) != int(result)
    ] == []
    for block in HEAD.strip().split("\n\n"):
        assert block.rsplit(" = ", 1)[1].split()[0] == block.rsplit("#### ", 1)[1]


def test_a_line_without_a_number_is_an_error(tmp_path):
    (tmp_path / "a.jsonl").write_text(json.dumps({"question": "a", "answer": "b"}), encoding="utf-8")
    with pytest.raises(TaskError, match=r"a\.jsonl, line 1: the answer has no number after '#### '; give the path"):
        Gsm8k(tmp_path / "a.jsonl")
