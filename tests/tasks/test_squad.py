"""SQuAD: the official normalisation and F1, the best of the right answers, and a passage that is cut."""

import json
from fractions import Fraction

import pytest
from dsbd.tasks import squad
from dsbd.tasks.squad import Squad
from dsbd.tasks.task import Question

from dsbd.errors import TaskError
from tests.tasks.scoring import chance, mean_score

BRIDGES = "The old bridge was built in 1850 by the Hart brothers.\nIt fell in 1901."
ASKED = {
    ("Bridges", BRIDGES): [
        ("a", "Who built it?", ["the Hart brothers", "Hart brothers"]),
        ("b", "When was it built?", ["1850", "in 1850"]),
    ],
    ("Rivers", "The Lind is 300 km long."): [
        ("c", "How long is the Lind?", ["300 km"]),
        ("d", "Which river is 300 km long?", ["The Lind"]),
    ],
}


def entry(id, question, answers):
    return {"id": id, "question": question, "answers": [{"text": text, "answer_start": 0} for text in answers]}


@pytest.fixture(scope="module")
def path(tmp_path_factory):
    articles = [
        {"title": title, "paragraphs": [{"context": context, "qas": [entry(*one) for one in asked]}]}
        for (title, context), asked in ASKED.items()
    ]
    file = tmp_path_factory.mktemp("squad") / "dev.json"
    file.write_text(json.dumps({"data": articles}), encoding="utf-8")
    return file


@pytest.fixture(scope="module")
def task(path):
    return Squad(path)


def test_right_answers_score_all_and_shuffled_ones_what_chance_gives(task):
    """By chance each of 4 questions gets its own answer 1 time in 4; no two share a word."""
    assert (mean_score(task), mean_score(task, metric="f1")) == (1.0, 1.0)
    assert (chance(task), chance(task, "f1")) == pytest.approx((4 / 16, 4 / 16))


@pytest.mark.parametrize(
    ("answer", "references", "exact", "f1"),
    [
        ("the Hart Brothers.", ["Hart brothers"], 1, 1),
        ("Hart", ["the Hart brothers", "Hart"], 1, 1),
        ("a-b", ["ab"], 1, 1),
        ("the U.S.", ["US"], 1, 1),
        ("theatre", ["atre"], 0, 0),
        ("x x y", ["x y y"], 0, Fraction(2, 3)),
        ("the", ["a"], 1, 0),
        ("x “y”", ["x y"], 0, Fraction(1, 2)),
    ],
)
def test_scores_decided_by_hand(task, answer, references, exact, f1):
    """The last two are quirks of the official scoring: no word is left to share, and only ASCII punctuation goes."""
    scored = task.score(Question("q", "", tuple(references)), answer).metrics
    assert scored == {"exact_match": exact, "f1": pytest.approx(float(f1))}


def test_a_passage_is_a_cluster_and_is_cut_and_the_question_survives(task):
    asked = {question.id: question for question in task.questions()}
    assert asked["a"].cluster == asked["b"].cluster != asked["c"].cluster == asked["d"].cluster
    question = asked["a"]
    assert "The old bridge was built in 1850 by the Hart brothers. It fell in 1901.\nQuestion" in question.prompt
    fitted = task.fit(question, lambda text: len(text.split()), len(question.prompt.split()) - 8)
    assert fitted.startswith(squad.HEAD)
    assert fitted.endswith("The old bridge was built in 1850\nQuestion: Who built it?\nAnswer:")
    assert task.answer(" the Hart brothers\nQuestion: more?") == "the Hart brothers"


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "not in the format of SQuAD"),
        ({"data": [1]}, "not in the format of SQuAD"),
        ({"data": []}, "no questions"),
        ({"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": [entry("a", "q", [])]}]}]}, "no right answer"),
    ],
    ids=["no data", "no article", "empty", "unanswerable"],
)
def test_damaged_data_is_an_error(data, message, tmp_path):
    (tmp_path / "bad.json").write_text(json.dumps(data), encoding="utf-8")
    with pytest.raises(TaskError, match=message):
        Squad(tmp_path / "bad.json")
