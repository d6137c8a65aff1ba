"""The split does not depend on the order, and a stream can be resumed anywhere."""

import numpy as np

from training.corpus import (
    STORY_PARTS,
    MixedBatches,
    is_held_out,
    load_encoded,
    read_part,
    sections,
    split,
)

from .conftest import STORIES


def test_the_split_is_by_text_and_holds_out_one_in_a_hundred():
    """Catches a split that depends on the order of the documents, or on their spacing."""
    training, held_out = split(STORIES)
    assert held_out, "the tiny corpus must hold something out, or this test sees nothing"
    assert not set(training) & set(held_out)
    assert set(training) | set(held_out) == set(STORIES)
    assert set(split(STORIES[::-1])[1]) == set(held_out)
    for text in STORIES:
        assert is_held_out(text) == is_held_out(f"  {text} \n".replace(" ", "\n\n"))
    # Binomial(20000, 0.01): 200 +- 14; six deviations are a false alarm of 2e-9.
    assert abs(sum(is_held_out(f"story {index}") for index in range(20000)) - 200) < 85


def test_encoding_is_kept_and_has_a_bos_before_every_document(corpus_folder, tmp_path, tiny_tokenizer):
    first = load_encoded(corpus_folder, tmp_path / "work", STORY_PARTS, tiny_tokenizer)["stories"]
    second = load_encoded(corpus_folder, tmp_path / "work", STORY_PARTS, tiny_tokenizer)["stories"]
    for one, other in zip(first, second, strict=True):
        np.testing.assert_array_equal(one.ids, other.ids)
        assert all(one.document(index)[0] == 0 for index in range(len(one)))
    assert len(first[0]) + len(first[1]) == len(STORIES)
    assert read_part(corpus_folder, STORY_PARTS["stories"]) == STORIES
    paragraphs = [f"paragraph {index} " + "x" * 50 for index in range(40)]
    cut = sections("\n\n".join(paragraphs), 300)
    assert "\n\n".join(part for part in cut if part) == "\n\n".join(paragraphs)
    assert len(cut) > 3


def test_restored_batches_continue_exactly(tiny_documents):
    parts = {"stories": tiny_documents, "books": tiny_documents}
    mix = {"stories": 0.7, "books": 0.3}
    batches = MixedBatches(parts, mix, seed=1)
    for _ in range(5):
        batches.batch(3, 500)
    state = batches.state
    expected = [batches.batch(3, 500) for _ in range(30)]
    other = MixedBatches(parts, mix, seed=1)
    other.restore(state)
    for batch in expected:
        np.testing.assert_array_equal(batch, other.batch(3, 500))
