"""The needle: its word stands at the beginning, the distance is what it says, and only the word counts."""

from collections import Counter

import pytest
from dsbd.tasks.needle import DISTANCES, NEEDLE, NEEDLE_WORDS, PER_DISTANCE, SEGMENT_CHARACTERS, Needle


@pytest.fixture(scope="module")
def task():
    return Needle()


def test_a_question_tells_the_word_once_and_asks_for_it_last(task):
    """Catches a story that tells of the secret animal too, and a prompt that does not end where the word comes."""
    for question in task.questions():
        (word,) = question.references
        assert word in NEEDLE_WORDS
        assert question.prompt.startswith(f"{NEEDLE} {word}.\n\n")
        assert question.prompt.endswith(f"\n{NEEDLE}")
        assert question.prompt.count(NEEDLE) == 2
        distance = int(question.fields["distance"])
        filler = len(question.prompt) - len(f"{NEEDLE} {word}.\n\n\n{NEEDLE}")
        assert distance * SEGMENT_CHARACTERS - 30 < filler <= distance * SEGMENT_CHARACTERS


def test_distances_words_and_stories_are_spread(task):
    """Catches a limit that asks about near needles only, and questions of equal stories."""
    distances = Counter(question.fields["distance"] for question in task.questions())
    assert distances == {f"{distance}": PER_DISTANCE for distance in DISTANCES}
    assert len({question.fields["distance"] for question in task.questions(48)}) > len(DISTANCES) / 2
    assert {question.references[0] for question in task.questions()} == set(NEEDLE_WORDS)
    begins = {question.prompt.partition("\n\n")[2][:60] for question in task.questions()}
    assert len(begins) == len(task.questions())


@pytest.mark.parametrize(
    ("text", "score"),
    [
        (" cat. It", 1),
        (" cat\n", 1),
        (" Cat.", 0),
        (" big cat.", 0),
        ("", 0),
    ],
)
def test_the_first_word_counts(task, text, score):
    question = next(question for question in task.questions() if question.references == ("cat",))
    assert task.score(question, task.answer(text)).metrics == {"exact_match": float(score)}


def test_a_prompt_that_does_not_fit_loses_its_beginning_and_so_the_word(task):
    """Catches a cut at the end of the stories, which leaves the word where a plain model finds it."""
    question = task.questions()[0]
    fitted = task.fit(question, len, 500)
    assert 480 < len(fitted) <= 500
    assert question.prompt.endswith(fitted)
    assert fitted.count(NEEDLE) == 1
