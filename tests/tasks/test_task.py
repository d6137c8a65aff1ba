"""What all tasks share: where an answer ends, the order of questions, and a prompt that fits."""

import pytest
from dsbd.tasks.stories import Stories
from dsbd.tasks.task import Question, in_order

from dsbd.errors import PromptError, TaskError

PASSAGE = "one two  three four"
ASKED = Question("a", f"Read: {PASSAGE}\nAsk: five six", passage=(6, 6 + len(PASSAGE)))


def words(text):
    return len(text.split())


def fit_slowly(question, limit):
    """The twin of ``Task.fit``: try every cut, from the longest down."""
    start, end = question.passage
    prompt = question.prompt
    places = [end, *(place for place in range(end - 1, start - 1, -1) if prompt[place] == " "), start]
    for place in places:
        if words(shorter := prompt[:place] + prompt[end:]) <= limit:
            return shorter
    return None


@pytest.mark.parametrize("limit", range(1, 12))
def test_a_passage_is_cut_and_never_the_question(limit):
    """Catches a cut from the right, which loses the question, and one that gives away room."""
    expected = fit_slowly(ASKED, limit)
    if expected is None:
        with pytest.raises(PromptError, match=f"has 4 tokens without its passage, and {limit} fit"):
            Stories().fit(ASKED, words, limit)
    else:
        fitted = Stories().fit(ASKED, words, limit)
        assert words(fitted) == words(expected) <= limit
        assert fitted.endswith("\nAsk: five six")


def test_the_order_of_questions_is_fixed():
    """Catches an order that depends on the order of the file, and a sample that changes with its size."""
    questions = [Question(str(number), "") for number in range(20)]
    ordered = [question.id for question in in_order(questions)]
    assert ordered == [question.id for question in in_order(reversed(questions))]
    assert ordered[:5] == ["7", "11", "4", "8", "17"]


@pytest.mark.parametrize("limit", [0, -1])
def test_a_limit_of_no_questions_is_an_error(limit):
    """Catches a negative limit that leaves questions out at the end."""
    with pytest.raises(TaskError, match=f"limit is {limit}; give at least 1"):
        Stories().questions(limit)
