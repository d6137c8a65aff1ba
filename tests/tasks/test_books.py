"""Sections of books: each is longer than the context of the bundled pair, and none was trained on."""

from dsbd.tasks.books import Books
from transformers import AutoTokenizer

from dsbd.assets import asset_path
from training.corpus import is_held_out


def test_sections_are_held_out_and_beyond_the_context():
    folder = asset_path("models/stories/target")
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=False)
    questions = Books().questions()
    assert len({question.fields["title"] for question in questions}) == len(questions) == 12
    for question in questions:
        assert is_held_out(question.prompt)
        assert len(tokenizer(question.prompt, verbose=False).input_ids) > 2048
