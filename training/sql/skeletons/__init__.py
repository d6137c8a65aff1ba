"""The query skeletons: each draws a question and its query. One function is one shape of SQL."""

from collections.abc import Callable
from typing import Any

from training.sql.draw import Draw
from training.sql.skeletons.common import Drawn
from training.sql.skeletons.groups import group_count, group_having, group_most, group_value
from training.sql.skeletons.join_groups import join_group, join_group_value, join_having, join_most
from training.sql.skeletons.joins import (
    join_aggregate,
    join_by_name,
    join_count,
    join_far,
    join_owner,
    join_rows,
    join_superlative,
    join_two,
)  # fmt: skip
from training.sql.skeletons.nested import as_another, beyond_average, membership
from training.sql.skeletons.numbers import aggregate, count, count_distinct, two_aggregates
from training.sql.skeletons.orders import ordered, superlative
from training.sql.skeletons.plain import distinct, everything, fact, filtered, filtered_two
from training.sql.skeletons.sets import combined


def given(build: Callable[..., Drawn], *arguments: Any, **named: Any) -> Callable[[Draw], Drawn]:
    """Return a skeleton with all its arguments but the draw."""
    return lambda draw: build(draw, *arguments, **named)


SKELETONS: dict[str, tuple[float, Callable[[Draw], Drawn]]] = {
    "everything": (0.3, everything),
    "equal": (1.5, given(filtered, "equal")),
    "unequal": (1, given(filtered, "unequal")),
    "compare": (1.5, given(filtered, "compare")),
    "between": (1.2, given(filtered, "between")),
    "like": (1, given(filtered, "like")),
    "null": (0.6, given(filtered, "null")),
    "either": (1, given(filtered, "either")),
    "two_filters": (2.5, given(filtered_two, "AND")),
    "or": (1.5, given(filtered_two, "OR")),
    "distinct": (1.2, distinct),
    "count": (1.2, given(count, "simple")),
    "count_like": (0.5, given(count, "like")),
    "count_two": (1.2, given(count, "simple", "simple")),
    "count_or": (0.7, given(count, "simple", "simple", link="OR")),
    "count_distinct": (0.8, count_distinct),
    "average": (1, given(aggregate, "AVG")),
    "sum": (1, given(aggregate, "SUM")),
    "extreme": (1, given(aggregate, "MIN", "MAX")),
    "aggregate_two": (1, given(aggregate, "AVG", "SUM", "MAX", "MIN", filters=2)),
    "two_aggregates": (0.8, two_aggregates),
    "group_count": (1, given(group_count, 1)),
    "group_count_all": (0.2, given(group_count, 0)),
    "group_value": (1, given(group_value, 1)),
    "group_value_all": (0.3, given(group_value, 0)),
    "group_having": (1, given(group_having, 0)),
    "group_having_filter": (1, given(group_having, 1)),
    "group_most": (1, given(group_most, 1)),
    "superlative": (1.5, given(superlative, 1, False)),
    "superlative_all": (0.4, given(superlative, 0, False)),
    "top": (1.5, given(superlative, 1, True)),
    "top_all": (0.6, given(superlative, 0, True)),
    "ordered": (1, given(ordered, 1)),
    "beyond_average": (1, beyond_average),
    "as_another": (1.2, as_another),
    "fact": (1, fact),
    "join_rows": (1.5, join_rows),
    "join_two": (1, given(join_two, 1)),
    "join_count": (1.2, join_count),
    "join_aggregate": (1.2, join_aggregate),
    "join_by_name": (1.2, join_by_name),
    "join_owner": (1.2, join_owner),
    "join_far": (1.2, given(join_far, 1)),
    "join_group": (1, given(join_group, 1)),
    "join_most": (1.2, given(join_most, 1)),
    "join_having": (1, given(join_having, 1)),
    "join_group_value": (0.6, join_group_value),
    "join_superlative": (1.2, join_superlative),
    "in": (1, given(membership, False)),
    "not_in": (1, given(membership, True)),
    "union": (0.8, given(combined, "UNION")),
    "except": (0.8, given(combined, "EXCEPT")),
    "intersect": (0.8, given(combined, "INTERSECT")),
}
"""Skeleton: its weight, and the function that draws it."""

LONGER: dict[str, tuple[float, Callable[[Draw], Drawn]]] = {
    "join_most_two": (1, given(join_most, 2)),
    "join_having_two": (1, given(join_having, 2)),
    "join_two_more": (1.5, given(join_two, 3)),
    "join_far_more": (1.5, given(join_far, 3)),
    "in_more": (1, given(membership, False, 2, 2)),
    "not_in_more": (1, given(membership, True, 2, 2)),
    "union_two": (1, given(combined, "UNION", 2)),
    "except_two": (1, given(combined, "EXCEPT", 2)),
    "intersect_two": (1, given(combined, "INTERSECT", 2)),
}
"""Skeletons with one clause more than any in training; only the split `length` has them."""
