"""MT-Bench: first turns as prompts, with no score."""

import json

import pytest
from dsbd.tasks.mt_bench import MtBench

from dsbd.errors import TaskError


def write(path, *entries):
    path.write_text("\n".join(json.dumps(entry) for entry in entries), encoding="utf-8")
    return path


def test_the_first_turn_is_the_prompt(tmp_path):
    entry = {"question_id": 81, "category": "writing", "turns": ["Write a letter.", "Shorten it."]}
    (question,) = MtBench(write(tmp_path / "question.jsonl", entry)).questions()
    assert (question.id, question.prompt, question.references) == ("81", "Write a letter.", ())
    assert dict(question.fields) == {"category": "writing"}


@pytest.mark.parametrize("entry", [{}, {"turns": []}, {"turns": "a"}, {"turns": [1]}])
def test_a_line_without_turns_is_an_error(entry, tmp_path):
    with pytest.raises(TaskError, match="line 1: turns must be a list of texts"):
        MtBench(write(tmp_path / "question.jsonl", entry))
