"""Whether two queries gave the same rows, against a slow twin that tries every pairing."""

import random
from itertools import permutations

import pytest
from dsbd.tasks.sql.rows import same_rows


def slowly(gold, answer, ordered, any_columns):
    """The twin: some order of the columns and of the rows makes every value the same."""

    def close(left, right):
        if left is None or right is None or isinstance(left, str) or isinstance(right, str):
            return left == right
        return abs(left - right) <= (0 if isinstance(left, int) and isinstance(right, int) else 1e-6)

    if len(gold) != len(answer):
        return False
    for columns in permutations(range(len(answer[0]))) if answer and any_columns else [None]:
        turned = answer if columns is None else [tuple(row[column] for column in columns) for row in answer]
        for rows in [turned] if ordered else permutations(turned):
            if all(
                len(left) == len(right) and all(map(close, left, right))
                for left, right in zip(gold, rows, strict=True)
            ):  # fmt: skip
                return True
    return False


VALUES = [None, 0, 1, 1.0, 1.0 + 5e-7, 1.0 + 5e-6, "1", "a", -2.5]


def tables(seed):
    """Return a table, and one like it: shuffled, turned, with noise, with a row changed, or shorter."""
    draw = random.Random(seed)
    count, width = draw.randint(0, 4), draw.randint(1, 3)
    gold = [tuple(draw.choice(VALUES) for _ in range(width)) for _ in range(count)]
    answer = list(gold)
    if draw.random() < 0.5:
        draw.shuffle(answer)
    if draw.random() < 0.5:
        columns = draw.sample(range(width), width)
        answer = [tuple(row[column] for column in columns) for row in answer]
    if draw.random() < 0.4:
        answer = [tuple(x + 1e-7 if isinstance(x, float) else x for x in row) for row in answer]
    if answer and draw.random() < 0.4:
        place = draw.randrange(count)
        answer[place] = tuple(draw.choice(VALUES) for _ in range(width)) if draw.random() < 0.5 else answer[0]
    if answer and draw.random() < 0.1:
        answer.pop()
    return gold, answer


@pytest.mark.parametrize("ordered", [False, True], ids=["any order", "ordered"])
@pytest.mark.parametrize("any_columns", [False, True], ids=["columns in order", "any columns"])
def test_the_comparison_is_its_slow_twin(ordered, any_columns):
    """Catches a comparison of sets, a row paired twice, and columns turned in each row by itself."""
    outcomes = []
    for seed in range(600):
        gold, answer = tables(seed)
        same = same_rows(gold, answer, ordered=ordered, any_columns=any_columns)
        assert same == slowly(gold, answer, ordered, any_columns), (gold, answer)
        outcomes.append(same)
    assert 0.1 < sum(outcomes) / len(outcomes) < 0.9


@pytest.mark.parametrize(
    ("gold", "answer", "same"),
    [
        ([(b"a",)], [("a",)], False),
        ([(10**12,)], [(10**12 + 1,)], False),
        ([(1e12,)], [(1e12 + 1,)], True),
        ([(float("inf"),)], [(float("inf"),)], True),
        ([], [(1,)], False),
    ],
)
def test_values_that_the_twin_does_not_meet(gold, answer, same):
    assert same_rows(gold, answer, ordered=False) is same


def test_many_columns_do_not_take_long():
    """Catches a search over all orders of ten columns."""
    gold = [tuple(f"{row * column % 7}" for column in range(10)) for row in range(50)]
    assert same_rows(gold, [row[::-1] for row in gold], ordered=False, any_columns=True)
    assert not same_rows(gold, [(*row[1:], "x") for row in gold], ordered=False, any_columns=True)
