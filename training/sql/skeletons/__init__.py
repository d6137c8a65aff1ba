"""The query skeletons: each draws a question and its query. One function is one shape of SQL."""

from collections.abc import Callable
from typing import Any

from training.sql.draw import Draw
from training.sql.skeletons import joins, one_table, queries
from training.sql.skeletons.common import Drawn


def given(build: Callable[..., Drawn], *arguments: Any, **named: Any) -> Callable[[Draw], Drawn]:
    """Return a skeleton with all its arguments but the draw."""
    return lambda draw: build(draw, *arguments, **named)


SKELETONS: dict[str, tuple[float, Callable[[Draw], Drawn]]] = {
    "everything": (0.3, one_table.everything),
    "equal": (1.5, given(one_table.filtered, "equal")),
    "unequal": (1, given(one_table.filtered, "unequal")),
    "compare": (1.5, given(one_table.filtered, "compare")),
    "between": (1.2, given(one_table.filtered, "between")),
    "like": (1, given(one_table.filtered, "like")),
    "null": (0.6, given(one_table.filtered, "null")),
    "either": (1, given(one_table.filtered, "either")),
    "two_filters": (2.5, given(one_table.filtered_two, "AND")),
    "or": (1.5, given(one_table.filtered_two, "OR")),
    "distinct": (1.2, one_table.distinct),
    "count": (1.2, given(one_table.count, "simple")),
    "count_like": (0.5, given(one_table.count, "like")),
    "count_two": (1.2, given(one_table.count, "simple", "simple")),
    "count_or": (0.7, given(one_table.count, "simple", "simple", link="OR")),
    "count_distinct": (0.8, one_table.count_distinct),
    "average": (1, given(one_table.aggregate, "AVG")),
    "sum": (1, given(one_table.aggregate, "SUM")),
    "extreme": (1, given(one_table.aggregate, "MIN", "MAX")),
    "aggregate_two": (1, given(one_table.aggregate, "AVG", "SUM", "MAX", "MIN", filters=2)),
    "two_aggregates": (0.8, one_table.two_aggregates),
    "group_count": (1, given(one_table.group_count, 1)),
    "group_count_all": (0.2, given(one_table.group_count, 0)),
    "group_value": (1, given(one_table.group_value, 1)),
    "group_value_all": (0.3, given(one_table.group_value, 0)),
    "group_having": (1, given(one_table.group_having, 0)),
    "group_having_filter": (1, given(one_table.group_having, 1)),
    "group_most": (1, given(one_table.group_most, 1)),
    "superlative": (1.5, given(one_table.superlative, 1, False)),
    "superlative_all": (0.4, given(one_table.superlative, 0, False)),
    "top": (1.5, given(one_table.superlative, 1, True)),
    "top_all": (0.6, given(one_table.superlative, 0, True)),
    "ordered": (1, given(one_table.ordered, 1)),
    "beyond_average": (1, queries.beyond_average),
    "as_another": (1.2, queries.as_another),
    "fact": (1, one_table.fact),
    "join_rows": (1.5, joins.join_rows),
    "join_two": (1, given(joins.join_two, 1)),
    "join_count": (1.2, joins.join_count),
    "join_aggregate": (1.2, joins.join_aggregate),
    "join_by_name": (1.2, joins.join_by_name),
    "join_owner": (1.2, joins.join_owner),
    "join_far": (1.2, given(joins.join_far, 1)),
    "join_group": (1, given(joins.join_group, 1)),
    "join_most": (1.2, given(joins.join_most, 1)),
    "join_having": (1, given(joins.join_having, 1)),
    "join_group_value": (0.6, joins.join_group_value),
    "join_superlative": (1.2, joins.join_superlative),
    "in": (1, given(queries.membership, False)),
    "not_in": (1, given(queries.membership, True)),
    "union": (0.8, given(queries.combined, "UNION")),
    "except": (0.8, given(queries.combined, "EXCEPT")),
    "intersect": (0.8, given(queries.combined, "INTERSECT")),
}
"""Skeleton: its weight, and the function that draws it."""

LONGER: dict[str, tuple[float, Callable[[Draw], Drawn]]] = {
    "join_most_two": (1, given(joins.join_most, 2)),
    "join_having_two": (1, given(joins.join_having, 2)),
    "join_two_more": (1.5, given(joins.join_two, 3)),
    "join_far_more": (1.5, given(joins.join_far, 3)),
    "in_more": (1, given(queries.membership, False, 2, 2)),
    "not_in_more": (1, given(queries.membership, True, 2, 2)),
    "union_two": (1, given(queries.combined, "UNION", 2)),
    "except_two": (1, given(queries.combined, "EXCEPT", 2)),
    "intersect_two": (1, given(queries.combined, "INTERSECT", 2)),
}
"""Skeletons with one clause more than any in training; only the split `length` has them."""
