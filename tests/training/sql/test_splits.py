"""The splits: by SQL, disjoint, with values, forms or clauses that training does not have."""

import gzip
import json
from collections import Counter
from itertools import islice

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


def test_reserved_queries_are_a_tenth_and_hold_validation_and_iid(asked, trained):
    assert all(splits.reserved(one["sql"]) for one in asked if one["split"] in ("validation", "iid"))
    texts = {sql(one.gold) for one in islice(splits.candidates("iid", splits.weights(splits.SKELETONS)), 1500)}
    assert 0.06 < sum(map(splits.reserved, texts)) / len(texts) < 0.14
    longer = splits.candidates("length", splits.weights(splits.LONGER))
    assert {clauses(one.gold) for one in islice(longer, 40)} == {5}


@pytest.mark.slow
def test_forms_of_validation_and_iid_are_trained(asked, shard):
    """Most occur in one of the five shards, rare ones in another; every one occurs in all of them."""
    forms = {anonymous(sql(one.gold)) for one, _ in shard}
    wanted = [anonymous(one["sql"]) for one in asked if one["split"] in ("validation", "iid")]
    assert sum(form in forms for form in wanted) > 0.85 * len(wanted)


@pytest.mark.slow
def test_each_atom_of_a_held_out_triple_is_trained(shard):
    """Skeleton, table, and column in its role: each at least 50 times, the last with the table."""
    skeletons, tables, roles = Counter(), Counter(), Counter()
    for one, _ in shard:
        for skeleton, table, role in splits.triples(one.skeleton, one.gold):
            skeletons[skeleton] += 1
            tables[table] += 1
            roles[table, role] += 1
    for skeleton, table, role in HELD_OUT:
        assert min(skeletons[skeleton], tables[table]) >= 50
        assert sum(count for (_, found), count in roles.items() if found == role) >= 50, role


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


def test_questions_are_written_with_their_hardness(tmp_path, monkeypatch):
    one = next(splits.candidates("iid", splits.weights(splits.SKELETONS)))
    monkeypatch.setattr("training.sql.splits.training", lambda shard: iter(()))
    monkeypatch.setattr("training.sql.files.questions", lambda split, taken, seen: [one])
    assert main(["questions", "--output", str(tmp_path)]) == 0
    found = [json.loads(line) for line in (tmp_path / "test.jsonl").read_text(encoding="utf-8").splitlines()]
    assert [line["id"] for line in found] == ["iid-001", "compound-001", "length-001"]
    assert all(line["hardness"] in ("easy", "medium", "hard", "extra") for line in found)
