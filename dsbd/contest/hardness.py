"""How hard a query is, by the rule of Spider's official evaluation (github.com/taoyds/spider, evaluation.py).

The rule counts, in the outermost SELECT only: clauses, nested queries, and what there is more than one of. Its quirks
are part of it. A NOT before IN, LIKE, BETWEEN or EXISTS in WHERE or HAVING, and every AND or OR in HAVING, count as
aggregates; an aggregate in HAVING or WHERE does not. A query in FROM counts as a table, not as nested.
"""

from dataclasses import dataclass
from typing import Any

from dsbd.errors import TaskError

try:
    import sqlglot
    from sqlglot import expressions as sql
except ImportError:
    raise TaskError("the hardness of a query needs the package sqlglot; pip install 'dsbd[eval]'") from None

SET_OPERATIONS = (sql.Union, sql.Except, sql.Intersect)


@dataclass(frozen=True)
class Counts:
    """What the rule counts of a query."""

    clauses: int
    """WHERE, GROUP BY, ORDER BY, LIMIT, each further table, each OR and each LIKE."""
    nested: int
    """Queries that are compared with, and set operations."""
    several: int
    """Which of these there is more than one of: aggregates, selected columns, conditions, columns of GROUP BY."""


def parts(condition: Any) -> tuple[list[Any], list[str]]:
    """Return the comparisons of a condition and the connectors between them."""
    if condition is None:
        return [], []
    if isinstance(condition, (sql.Where, sql.Having, sql.Paren)):
        return parts(condition.this)
    if isinstance(condition, (sql.And, sql.Or)):
        left, right = parts(condition.left), parts(condition.right)
        name = "or" if isinstance(condition, sql.Or) else "and"
        return left[0] + right[0], [*left[1], name, *right[1]]
    return [condition], []


def queries_in(comparison: Any) -> int:
    """Return how many queries a comparison compares with; those inside them do not count."""
    return sum(isinstance(one, sql.Query) for one in comparison.walk(prune=lambda one: isinstance(one, sql.Query)))


def counts(query: str) -> Counts:
    """Count what the rule counts in one SELECT in SQLite's dialect. Raises: TaskError: the text is not a SELECT."""
    try:
        tree = sqlglot.parse_one(query, dialect="sqlite")
    except sqlglot.errors.SqlglotError as error:
        raise TaskError(f"{query!r} cannot be read as SQL, so it has no hardness: {error}") from error
    nested = 0
    while isinstance(tree, SET_OPERATIONS):
        nested = 1
        tree = tree.this
    if not isinstance(tree, sql.Select):
        raise TaskError(f"{query!r} is not a SELECT, so it has no hardness")
    where, where_links = parts(tree.args.get("where"))
    having, having_links = parts(tree.args.get("having"))
    joins = tree.args.get("joins") or []
    on, on_links = [], []
    for join in joins:
        found, links = parts(join.args.get("on"))
        on += found
        on_links += links
    comparisons = on + where + having
    group = tree.args["group"].expressions if tree.args.get("group") else []
    order = tree.args["order"].expressions if tree.args.get("order") else []
    likes = sum(isinstance(one.this if isinstance(one, sql.Not) else one, sql.Like) for one in comparisons)
    clauses = sum(map(bool, (where, group, order, tree.args.get("limit"))))
    clauses += len(joins) + [*on_links, *where_links, *having_links].count("or") + likes
    nested += sum(map(queries_in, comparisons))
    aggregates = sum(one.find(sql.AggFunc) is not None for one in [*tree.expressions, *group, *order])
    negated = [one for one in where + having if isinstance(one, sql.Not) and not isinstance(one.this, sql.Is)]
    aggregates += len(negated) + len(having_links)  # IS NOT NULL is an operator
    several = sum(count > 1 for count in (aggregates, len(tree.expressions), len(where), len(group)))
    return Counts(clauses, nested, several)


def hardness(query: str) -> str:
    """Return easy, medium, hard or extra for a SELECT in SQLite's dialect. Raises: TaskError: the text is not one."""
    found = counts(query)
    clauses, nested, several = found.clauses, found.nested, found.several
    if clauses <= 1 and several == 0 and nested == 0:
        return "easy"
    if nested == 0 and ((several <= 2 and clauses <= 1) or (clauses <= 2 and several < 2)):
        return "medium"
    if nested == 0 and ((several > 2 and clauses <= 2) or (2 < clauses <= 3 and several <= 2)):
        return "hard"
    if clauses <= 1 and several == 0 and nested <= 1:
        return "hard"
    return "extra"
