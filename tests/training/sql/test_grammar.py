"""Questions and their readings: the same from the same seed, every reading runs, rates and forms are as documented."""

import random
from collections import Counter, defaultdict
from itertools import combinations

import pytest

from training.sql.draw import Draw
from training.sql.examples import Example, anonymous, draw_skeleton, example
from training.sql.golds import databases, same
from training.sql.query import clauses
from training.sql.readings import RATES
from training.sql.render import FORM_RATE, FORMS, draw_forms, sql
from training.sql.skeletons import LONGER, SKELETONS
from training.sql.splits import weights


def sample(count: int, seed: int = 5) -> list[Example]:
    rng, names = random.Random(seed), weights(SKELETONS)
    found = (example(draw_skeleton(rng, names), rng.getrandbits(48)) for _ in range(2 * count))
    return [one for one in found if one][:count]


@pytest.fixture(scope="module")
def drawn() -> list[Example]:
    return sample(1500)


@pytest.fixture(scope="module")
def library():
    return databases()[0]


def test_the_same_seed_gives_the_same_examples(drawn):
    assert sample(100) == drawn[:100]
    assert sample(100, seed=6) != drawn[:100]


def test_a_reading_changes_the_query_and_not_the_question(drawn):
    seeds, rng = 0, random.Random(7)
    for name, (_, build) in (SKELETONS | LONGER).items():
        for _ in range(20):
            seed = rng.getrandbits(48)
            one = example(name, seed, clause_count=None)
            if one is None or not one.ambiguities:
                continue
            seeds += 1
            last = tuple(len(RATES[ambiguity]) - 1 for ambiguity in one.ambiguities)
            question, query = build(Draw(seed, last))
            assert (question[0].upper() + question[1:], query) == (one.question, one.queries[-1])
            assert len({sql(reading) for reading in one.queries}) == len(one.queries)
    assert seeds > 100


def test_every_reading_in_every_form_runs_and_forms_agree(drawn, library):
    several = 0
    for one in drawn[:250]:
        ordered = one.gold.order is not None
        for query in one.queries[:2]:
            texts = {sql(query, forms) for count in range(len(FORMS) + 1) for forms in combinations(FORMS, count)}
            assert sql(query) in texts
            several += len(texts) > 1
            first, *others = [library.execute(text).fetchall() for text in sorted(texts)]
            if not query.limit:  # a draw may have ties there; golds have none
                assert all(same(first, other, False) for other in others), (one.question, texts, ordered)
    assert several > 100


def test_forms_are_drawn_with_their_rate_and_each_changes_something(drawn):
    rng = random.Random(1)
    counts = Counter(form for _ in range(4000) for form in draw_forms(rng))
    for form in FORMS:
        assert counts[form] / 4000 == pytest.approx(FORM_RATE, abs=0.03)
        assert any(sql(one.gold) != sql(one.gold, [form]) for one in drawn), form


def test_rates_sum_to_one_and_the_right_answer_is_the_most_frequent_reading(drawn):
    for name, readings in RATES.items():
        rates = [rate for rate, _ in readings]
        assert sum(rates) == pytest.approx(1), name
        assert rates[0] == max(rates) > max(rates[1:]), name
    for one in drawn:
        assert sum(one.rates) == pytest.approx(1)
        assert one.rates[0] == max(one.rates)


def test_readings_occur_with_their_rates(drawn):
    """One ambiguous word: the first reading's share is its rate, up to four standard deviations."""
    first, count, expected, variance = 0, 0, 0.0, 0.0
    for one in drawn:
        if one.ambiguities:
            first, count = first + (one.drawn == 0), count + 1
            expected, variance = expected + one.rates[0], variance + one.rates[0] * (1 - one.rates[0])
    assert count > 300
    assert abs(first - expected) < 4 * variance**0.5


def test_a_question_has_one_right_answer(drawn):
    """Catches one wording that two skeletons or two words share."""
    golds = defaultdict(set)
    for one in drawn:
        golds[one.question].add(sql(one.gold))
    assert all(len(found) == 1 for found in golds.values())


def test_questions_are_sentences(drawn):
    for one in drawn:
        assert one.question[0].isupper()
        assert one.question[-1] in ".?"
        assert not set("{}_") & set(one.question)
        assert "  " not in one.question
        assert len(one.question) < 240
        assert max(map(clauses, one.queries)) <= 4


def test_anonymous_sql_has_no_values():
    text = "SELECT name FROM t1 WHERE city = 'Oslo' AND age BETWEEN 2 AND 30 LIMIT 3"
    assert anonymous(text) == "SELECT name FROM t1 WHERE city = ? AND age BETWEEN ? AND ? LIMIT ?"
