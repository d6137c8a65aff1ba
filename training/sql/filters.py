"""Filters: the words before or after a noun, and the condition that they mean."""

from typing import NamedTuple

from training.sql import readings, values, wordings
from training.sql.draw import Draw
from training.sql.query import Column, Condition, Rejected, Term
from training.sql.schema import ENTITY, NULLABLE


class Filter(NamedTuple):
    """Words before or after a noun, and the condition that they mean."""

    before: str
    after: str
    condition: Condition


def condition(table: str, column: str, operator: str, value: object = None) -> Condition:
    """Return a condition on a plain column."""
    return Condition(Term(Column(table, column)), operator, value)


def draw_filter(draw: Draw, table: str, kind: str, after_only: bool = False) -> Filter:
    """Draw a filter of a kind on a table; Rejected if the table has none."""
    found = KINDS[kind](draw, table, after_only)
    return found._replace(after=found.after.replace("{who}", wordings.WHO[table]))


def label(draw: Draw, table: str) -> str:
    """Return a column of words."""
    columns = [column for owner, column in values.LABELS if owner == table]
    if not columns:
        raise Rejected
    return draw.pick(columns)


def numeric(draw: Draw, table: str) -> str:
    """Return a column of numbers."""
    return draw.pick([column for owner, column in values.AMOUNTS if owner == table])


def amount(draw: Draw, table: str, column: str) -> int:
    """Return a value to compare with, not at the very ends."""
    low, high, step = values.AMOUNTS[table, column]
    margin = max(1, (high - low) // step // 12)
    return draw.number(low + margin * step, high - margin * step, step)


def equal(draw: Draw, table: str, after_only: bool) -> Filter:
    """A word or a year that the column has."""
    if table in readings.ORIGIN and draw.chance(0.6):
        return origin(draw, table, after_only)
    columns = [column for owner, column in values.LABELS if owner == table] * 3
    columns += [column for owner, column in wordings.TIMES if owner == table]
    columns += [column for (owner, column), ops in wordings.AMOUNT_COMPARISONS.items() if owner == table and "=" in ops]
    column = draw.pick(columns)
    if (table, column) in values.LABELS:
        value = draw.pick(values.LABELS[table, column])
        meaning = condition(table, column, "=", value)
        if column in ("genre", "state", "country") and not after_only and draw.chance(0.5):
            return Filter(values.NATIONS.get(value, value), "", meaning)
        return Filter("", draw.pick(wordings.LABEL_COMPARISONS[table, column]["="]).replace("{}", value), meaning)
    value_ = amount(draw, table, column)
    return Filter("", comparison_words(draw, table, column, "=", value_), condition(table, column, "=", value_))


def origin(draw: Draw, table: str, after_only: bool) -> Filter:
    """ "Members from Oslo", "Spanish books": which table has that column is ambiguous."""
    if table == "members":
        city = draw.pick(values.CITIES)
        owner, column = draw.read("origin.members")
        words = draw.pick(("from {}", "of {}", "{who} are from {}"))
        return Filter("", words.replace("{}", city), condition(owner, column, "=", city))
    if after_only:
        raise Rejected
    country = draw.pick(values.COUNTRIES)
    adjective = values.NATIONS[country]
    owner, column = draw.read("origin.books")
    return Filter(adjective, "", condition(owner, column, "=", adjective if column == "language" else country))


def unequal(draw: Draw, table: str, after_only: bool) -> Filter:
    """Any word but one."""
    column = label(draw, table)
    value = draw.pick(values.LABELS[table, column])
    words = draw.pick(wordings.LABEL_COMPARISONS[table, column]["!="])
    return Filter("", words.replace("{}", value), condition(table, column, "!=", value))


def either(draw: Draw, table: str, after_only: bool) -> Filter:
    """One of two words."""
    column = label(draw, table)
    first, second = draw.rng.sample(values.LABELS[table, column], 2)
    words = draw.pick(wordings.LABEL_COMPARISONS[table, column]["IN"])
    return Filter(
        "", words.replace("{}", first, 1).replace("{}", second, 1), condition(table, column, "IN", (first, second))
    )


def compare(draw: Draw, table: str, after_only: bool) -> Filter:
    """More or less than a number; or an adjective that leaves the number open."""
    if readings.VAGUE[table] and draw.chance(0.6):
        vague = draw.pick(readings.VAGUE[table])
        column, operator, value = draw.read(f"vague.{table}.{vague.words[0]}")
        word = draw.pick(vague.words)
        meaning = condition(table, column, operator, value)
        return Filter("", "{who} are " + word, meaning) if after_only else Filter(word, "", meaning)
    column = numeric(draw, table)
    value = amount(draw, table, column)
    if (table, column) in wordings.TIMES and draw.chance(0.7):
        hedge = draw.pick(("since", "by"))
        operator = draw.read(f"hedge.{hedge}")
        words = f"{draw.pick(wordings.TIMES[table, column])} {draw.pick(readings.HEDGES[hedge].words)}"
        return Filter("", words.replace("{}", str(value)), condition(table, column, str(operator), value))
    operator = draw.pick((">", "<", ">", "<", ">=", "<="))
    return Filter("", comparison_words(draw, table, column, operator, value), condition(table, column, operator, value))


def comparison_words(draw: Draw, table: str, column: str, operator: str, *numbers: int) -> str:
    """Return the words of a comparison with one or two numbers."""
    if (table, column) in wordings.TIMES:
        bare = wordings.BARE_TIMES.get((table, operator, column), ())
        if bare and draw.chance(0.25):
            words = draw.pick(bare)
        else:
            verb = draw.pick(wordings.TIMES[table, column])
            words = f"{verb} {draw.pick(wordings.TIME_COMPARISONS[operator])}"
    else:
        words = draw.pick(wordings.AMOUNT_COMPARISONS[table, column][operator])
    for value in numbers:
        words = words.replace("{}", str(value), 1)
    return words


def between(draw: Draw, table: str, after_only: bool) -> Filter:
    """From one number to another; or near a year."""
    column = numeric(draw, table)
    low, high, step = values.AMOUNTS[table, column]
    if (table, column) in wordings.TIMES and draw.chance(0.7):
        middle = amount(draw, table, column)
        width = draw.read("hedge.around")
        words = f"{draw.pick(wordings.TIMES[table, column])} {draw.pick(readings.HEDGES['around'].words)}"
        years = middle - width, middle + width
        return Filter("", words.replace("{}", str(middle)), condition(table, column, "BETWEEN", years))
    first = draw.number(low, high - 2 * step, step)
    widest = max(2, (high - low) // step // 3)
    second = min(high, first + step * draw.number(2, widest))
    words = comparison_words(draw, table, column, "BETWEEN", first, second)
    return Filter("", words, condition(table, column, "BETWEEN", (first, second)))


def like(draw: Draw, table: str, after_only: bool) -> Filter:
    """A name that starts with a letter or has a word in it."""
    column = ENTITY[table]
    if column not in ("name", "title"):
        raise Rejected
    how = draw.pick(("starts", "contains")) if table != "branches" else "starts"
    if how == "starts":
        value = draw.pick(values.LETTERS)
        pattern = f"{value}%"
    else:
        value = draw.pick(values.TITLE_FIRST + values.TITLE_SECOND if table == "books" else values.LAST_NAMES)
        pattern = f"%{value}%"
    words = draw.pick(wordings.TEXT_COMPARISONS[how]).replace("{column}", column).replace("{value}", value)
    return Filter("", words, condition(table, column, "LIKE", pattern))


def null(draw: Draw, table: str, after_only: bool) -> Filter:
    """A value that is unknown, or known."""
    columns = [column for owner, column in sorted(NULLABLE) if owner == table]
    if not columns:
        raise Rejected
    column = draw.pick(columns)
    operator = draw.pick(("IS NULL", "IS NULL", "IS NOT NULL"))
    return Filter(
        "", draw.pick(wordings.LABEL_COMPARISONS[table, column][operator]), condition(table, column, operator)
    )


KINDS = {
    "equal": equal, "unequal": unequal, "compare": compare, "between": between, "like": like, "null": null,
    "either": either,
}  # fmt: skip
