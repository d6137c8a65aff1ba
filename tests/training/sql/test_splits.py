"""The splits: by SQL, disjoint, with values, forms or clauses that training does not have."""

import gzip
import json
from collections import Counter

import pytest

from tests.training.sql.committed import questions
from training.sql import splits
from training.sql.__main__ import main
from training.sql.examples import anonymous
from training.sql.files import record
from training.sql.heldout import HELD_OUT
from training.sql.query import clauses
from training.sql.render import sql


@pytest.fixture(scope="module")
def asked():
    return questions()


@pytest.fixture(scope="module")
def trained():
    return list(splits.training(0, 1500))


@pytest.fixture(scope="module")
def shard():
    return list(splits.training(1))


def of(asked: list[dict], split: str) -> list[dict]:
    return [one for one in asked if one["split"] == split]


def test_counts_ids_and_prompts(asked):
    assert Counter(one["split"] for one in asked) == {"validation": 330, "iid": 330, "compound": 170, "length": 170}
    for field in ("id", "sql", "question"):
        assert len({one[field] for one in asked}) == len(asked)
    for one in asked:
        assert one["prompt"] == f"Q: {one['question']}\nSQL:"
        assert "\n" not in one["question"] + one["sql"]


def check_training(asked: list[dict], trained: list) -> None:
    """Assert that training has no SQL of the questions, and no value-anonymised form of `compound` and `length`."""
    texts = {sql(one.gold) for one, _ in trained} | {text for _, text in trained}
    assert not texts & {one["sql"] for one in asked}
    forms = {anonymous(text) for text in texts}
    assert not forms & {anonymous(one["sql"]) for one in asked if one["split"] in ("compound", "length")}
    assert not {one.question for one, _ in trained} & {one["question"] for one in asked}
    for one, _ in trained:
        assert not one.triples & HELD_OUT
        assert all(clauses(query) <= 4 for query in one.queries)


@pytest.mark.parametrize("drawn", ["trained", pytest.param("shard", marks=pytest.mark.slow)])
def test_training_has_nothing_of_the_questions(asked, drawn, request):
    check_training(asked, request.getfixturevalue(drawn))


@pytest.mark.slow
@pytest.mark.parametrize("split", ["validation", "iid", "length"])
def test_the_committed_questions_are_what_the_script_draws(split, asked):
    """Their own forms stand for training's, which take minutes to draw: only those forms can have been taken."""
    before = of(asked, "validation") if split == "iid" else []
    golds = frozenset(anonymous(one["sql"]) for one in of(asked, split))
    seen = splits.Seen(golds, frozenset())
    found = splits.questions(split, {one["sql"] for one in before}, seen)
    assert [(one.question, sql(one.gold)) for one in found] == [
        (one["question"], one["sql"]) for one in of(asked, split)
    ]


def test_the_training_file(tmp_path, monkeypatch):
    drawn = list(splits.training(0, 30))
    monkeypatch.setattr("training.sql.files.training", lambda shard: iter(drawn))
    assert main(["training", "--output", str(tmp_path)]) == 0
    lines = gzip.decompress((tmp_path / "train.jsonl.gz").read_bytes()).splitlines()
    assert len(lines) == splits.SHARDS * 30
    assert json.loads(lines[33]) == record("training-1-00003", *drawn[3], "training")
