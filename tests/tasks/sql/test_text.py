"""The text of a query: what counts as the same text, and whether rows have an order."""

import pytest
from dsbd.tasks.sql.text import normalised, orders_rows


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("SELECT a FROM t", "select  A\nfrom T ;", True),
        ("SELECT COUNT( * ) FROM t", "SELECT COUNT(*) FROM t", True),
        ("SELECT a FROM t WHERE b<>1", "SELECT a FROM t WHERE b != 1", True),
        ("SELECT t1.a FROM t", "SELECT t1 . a FROM t", True),
        ("SELECT a FROM t WHERE b = 'X'", "SELECT a FROM t WHERE b = 'x'", False),
        ("SELECT a FROM t WHERE b = 'x  y'", "SELECT a FROM t WHERE b = 'x y'", False),
        ("SELECT a FROM t WHERE b > 1.5", "SELECT a FROM t WHERE b > 15", False),
        ("SELECT 'it''s'", "SELECT 'it' 's'", False),
    ],
)
def test_spaces_and_case_do_not_count_outside_quotes(left, right, same):
    assert (normalised(left) == normalised(right)) is same


@pytest.mark.parametrize(
    ("query", "ordered"),
    [
        ("SELECT a FROM t order\n by a DESC LIMIT 3", True),
        ("SELECT a FROM t WHERE b = (SELECT MAX(b) FROM t) ORDER BY a", True),
        ("SELECT a FROM t WHERE b IN (SELECT b FROM u ORDER BY c LIMIT 1)", False),
        ("SELECT a FROM t WHERE b = 'order by'", False),
        ("SELECT a FROM t)) ORDER BY a", False),
    ],
)
def test_only_an_order_of_the_whole_query_counts(query, ordered):
    assert orders_rows(query) is ordered
