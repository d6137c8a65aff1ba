"""Sections of books: each is longer than the context of the bundled pair, and none was trained on."""

import pytest
from transformers import AutoTokenizer

from dsbd.assets import asset_path
from dsbd.tasks.books import Books
from training.corpus import is_held_out


def test_sections_are_held_out_and_beyond_the_context():
    folder = asset_path("models/stories/target")
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    questions = Books().questions()
    assert len({question.fields["title"] for question in questions}) == len(questions) == 12
    for question in questions:
        assert is_held_out(question.prompt)
        assert len(tokenizer(question.prompt, verbose=False).input_ids) > 2048


@pytest.mark.parametrize("limit", [0, 7, 1000])
def test_a_section_that_does_not_fit_loses_its_beginning(limit):
    question = Books().questions()[0]
    fitted = Books().fit(question, len, limit)
    assert len(fitted) <= limit
    assert question.prompt.endswith(fitted)
