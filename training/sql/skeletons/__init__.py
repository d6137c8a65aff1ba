"""The query skeletons: each draws a question and its query. One function is one shape of SQL."""

from __future__ import annotations

from collections.abc import Callable

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
)
from training.sql.skeletons.nested import as_another, beyond_average, membership
from training.sql.skeletons.numbers import aggregate, count, count_distinct, two_aggregates
from training.sql.skeletons.orders import ordered, superlative
from training.sql.skeletons.plain import distinct, everything, fact, filtered, filtered_or, filtered_two
from training.sql.skeletons.sets import EXCEPT, INTERSECT, UNION, combined

SKELETONS: dict[str, tuple[float, Callable[[Draw], Drawn]]] = {
    "everything": (0.3, everything),
    "equal": (1.5, filtered("equal")),
    "unequal": (1, filtered("unequal")),
    "compare": (1.5, filtered("compare")),
    "between": (1.2, filtered("between")),
    "like": (1, filtered("like")),
    "null": (0.6, filtered("null")),
    "either": (1, filtered("either")),
    "two_filters": (2.5, filtered_two),
    "or": (1.5, filtered_or),
    "distinct": (1.2, distinct),
    "count": (1.2, count("simple")),
    "count_like": (0.5, count("like")),
    "count_two": (1.2, count("simple", "simple")),
    "count_or": (0.7, count("simple", "simple", link="OR")),
    "count_distinct": (0.8, count_distinct),
    "average": (1, aggregate("AVG")),
    "sum": (1, aggregate("SUM")),
    "extreme": (1, aggregate("MIN", "MAX")),
    "aggregate_two": (1, aggregate("AVG", "SUM", "MAX", "MIN", filters=2)),
    "two_aggregates": (0.8, two_aggregates),
    "group_count": (1, group_count(1)),
    "group_count_all": (0.2, group_count(0)),
    "group_value": (1, group_value(1)),
    "group_value_all": (0.3, group_value(0)),
    "group_having": (1, group_having(0)),
    "group_having_filter": (1, group_having(1)),
    "group_most": (1, group_most(1)),
    "superlative": (1.5, superlative(1, False)),
    "superlative_all": (0.4, superlative(0, False)),
    "top": (1.5, superlative(1, True)),
    "top_all": (0.6, superlative(0, True)),
    "ordered": (1, ordered(1)),
    "beyond_average": (1, beyond_average),
    "as_another": (1.2, as_another),
    "fact": (1, fact),
    "join_rows": (1.5, join_rows),
    "join_two": (1, join_two(1)),
    "join_count": (1.2, join_count),
    "join_aggregate": (1.2, join_aggregate),
    "join_by_name": (1.2, join_by_name),
    "join_owner": (1.2, join_owner),
    "join_far": (1.2, join_far(1)),
    "join_group": (1, join_group(1)),
    "join_most": (1.2, join_most(1)),
    "join_having": (1, join_having(1)),
    "join_group_value": (0.6, join_group_value),
    "join_superlative": (1.2, join_superlative),
    "in": (1, membership(False)),
    "not_in": (1, membership(True)),
    "union": (0.8, combined("UNION", UNION)),
    "except": (0.8, combined("EXCEPT", EXCEPT)),
    "intersect": (0.8, combined("INTERSECT", INTERSECT)),
}
"""Skeleton: its weight, and the function that draws it."""

LONGER: dict[str, tuple[float, Callable[[Draw], Drawn]]] = {
    "join_most_two": (1, join_most(2)),
    "join_having_two": (1, join_having(2)),
    "join_two_more": (1.5, join_two(3)),
    "join_far_more": (1.5, join_far(3)),
    "in_more": (1, membership(False, 2, 2)),
    "not_in_more": (1, membership(True, 2, 2)),
    "union_two": (1, combined("UNION", UNION, 2)),
    "except_two": (1, combined("EXCEPT", EXCEPT, 2)),
    "intersect_two": (1, combined("INTERSECT", INTERSECT, 2)),
}
"""Skeletons with one clause more than any in training; only the split `length` has them."""
