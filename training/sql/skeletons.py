"""The query skeletons: each draws a question and its query. One function is one shape of SQL."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

from training.sql import readings, values, wordings
from training.sql.draw import Draw
from training.sql.phrases import Phrase, condition, draw_filter, phrase
from training.sql.query import Column, Condition, Query, Rejected, Term, chained
from training.sql.schema import ENTITY, KEYS, TABLES

Drawn = tuple[str, Query]

TABLE_WEIGHTS = ("books",) * 4 + ("authors",) * 2 + ("members",) * 3 + ("branches",) * 2 + ("loans",) * 2 + ("copies",) * 2
NAMED = ("books", "books", "authors", "members", "branches")
SIMPLE = ("equal", "compare", "compare", "compare", "between", "unequal")

ROWS = ("Which {n} are there?", "Tell me which {n} there are.", "Name the {n}.", "What {n} are there?", "Name all {n}.")
VAGUE_ROWS = ("Show the {n}.", "List all {n}.", "Find the {n}.", "Give me all {n}.")
VALUES = (
    "What are the {c} of {n}?",
    "Show the {c} of {n}.",
    "List the {c} of all {n}.",
    "Give the {c} of {n}.",
    "Find the {c} of all {n}.",
)
DIFFERENT = (
    "What are the different {c} of {n}?",
    "List the distinct {c} of {n}.",
    "Show each {c1} of {n} once.",
    "Which different {c} do {n} have?",
)
COUNTS = ("How many {n} are there?", "Count the {n}.", "What is the number of {n}?", "How many {n} do we have?")
AGGREGATES = {
    "AVG": ("average {c}", "mean {c}"),
    "SUM": ("total {c}", "combined {c}", "sum of the {cs}"),
    "MIN": ("lowest {c}", "minimum {c}", "smallest {c}", "least {c}"),
    "MAX": ("highest {c}", "maximum {c}", "largest {c}", "greatest {c}"),
}
ASK_VALUE = ("What is the {a} of {n}?", "Find the {a} of {n}.", "Show the {a} of all {n}.", "Give the {a} of {n}.")
SUMMED = {("authors", "prizes"), ("books", "pages"), ("branches", "staff"), ("loans", "days"), ("loans", "fine"), ("copies", "price")}


def term(table: str, column: str | None, aggregate: str = "", distinct: bool = False) -> Term:
    """Return a column or an aggregate of one."""
    return Term(None if column is None else Column(table, column), aggregate, distinct)


def entity(table: str) -> Term:
    """Return the column that names a row."""
    return term(table, ENTITY[table])


def query(main: str, select: tuple[Term, ...], where: tuple[Condition, ...] = (), others: tuple[str, ...] = (), **more: object) -> Query:
    """Return a query over a table and every other that its conditions name."""
    named = [*others, *(one.term.column.table for one in where if one.term.column)]
    return Query(select, chained(main, [one for one in named if one != main]), where, **more)  # type: ignore[arg-type]


def nouns(draw: Draw, table: str) -> tuple[str, str]:
    """Return a word for a table's rows, one and many."""
    return draw.pick(wordings.NOUNS[table])


def column_words(draw: Draw, table: str, column: str) -> tuple[str, str]:
    """Return a word for a column, one and many."""
    return draw.pick(wordings.COLUMNS[table, column])


def numeric(draw: Draw, table: str) -> str:
    """Return a column of numbers."""
    return draw.pick([column for owner, column in values.AMOUNTS if owner == table])


def label(draw: Draw, table: str) -> str:
    """Return a column of words."""
    columns = [column for owner, column in values.LABELS if owner == table]
    if not columns:
        raise Rejected
    return draw.pick(columns)


def rows(draw: Draw, found: Phrase) -> Drawn:
    """Ask for rows: by their names, by other columns, or leaving the columns open."""
    table, many = found.table, found.noun(nouns(draw, found.table)[1])
    how = draw.rng.random()
    if how < 0.5:
        columns = draw.read(f"show.{table}")
        assert isinstance(columns, tuple)
        text = draw.pick(VAGUE_ROWS)
    elif how < 0.65:
        columns, text = (ENTITY[table],), draw.pick(ROWS)
    else:
        choices = [ENTITY[table]] * 2 + [column for owner, column in values.AMOUNTS if owner == table]
        columns = (draw.pick(choices),)
        if how > 0.85:
            second = draw.pick([one for one in TABLES[table] if (table, one) in wordings.COLUMNS])
            if second in columns:
                raise Rejected
            columns += (second,)
        named = " and ".join(column_words(draw, table, column)[1] for column in columns)
        text = draw.pick(VALUES).replace("{c}", named)
    select = tuple(term(table, column) for column in columns)
    return text.replace("{n}", many), query(table, select, found.where, link=found.link)


def shown(draw: Draw, table: str) -> tuple[str, tuple[Term, ...]]:
    """Return words that ask for rows, and the columns meant: the name, or open."""
    if draw.chance(0.5):
        columns = draw.read(f"show.{table}")
        assert isinstance(columns, tuple)
        return draw.pick(VAGUE_ROWS), tuple(term(table, column) for column in columns)
    return draw.pick(ROWS), (entity(table),)


def filtered(*kinds: str, link: str = "AND") -> Callable[[Draw], Drawn]:
    """Return the skeleton of rows with filters of fixed kinds."""
    return lambda draw: rows(draw, phrase(draw, draw.pick(TABLE_WEIGHTS), kinds, link))


def filtered_two(draw: Draw) -> Drawn:
    return rows(draw, phrase(draw, draw.pick(TABLE_WEIGHTS), (draw.pick(SIMPLE), draw.pick(SIMPLE))))


def filtered_or(draw: Draw) -> Drawn:
    return rows(draw, phrase(draw, draw.pick(TABLE_WEIGHTS), (draw.pick(SIMPLE), draw.pick(SIMPLE)), "OR"))


def everything(draw: Draw) -> Drawn:
    table = draw.pick(TABLE_WEIGHTS)
    return rows(draw, Phrase(table, "", "", (), "AND"))


def distinct(draw: Draw) -> Drawn:
    table = draw.pick(TABLE_WEIGHTS)
    found, column = phrase(draw, table, (draw.pick(SIMPLE),)), label(draw, table)
    one, many = column_words(draw, table, column)
    noun = found.noun(nouns(draw, table)[1])
    if draw.chance(0.75):
        text, once = draw.pick(VALUES), draw.read("repeats")
    else:
        text, once = draw.pick(DIFFERENT), True
    text = text.replace("{c1}", one).replace("{c}", many).replace("{n}", noun)
    return text, query(table, (term(table, column),), found.where, distinct=once)


def count(*kinds: str, link: str = "AND") -> Callable[[Draw], Drawn]:
    """Return the skeleton that counts rows with filters of fixed kinds; none means any simple one."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(kind if kind != "simple" else draw.pick(SIMPLE) for kind in kinds), link)
        text = draw.pick(COUNTS).replace("{n}", found.noun(nouns(draw, table)[1]))
        return text, query(table, (term(table, None, "COUNT"),), found.where, link=link)

    return skeleton


def count_distinct(draw: Draw) -> Drawn:
    table = draw.pick(TABLE_WEIGHTS)
    found, column = phrase(draw, table, (draw.pick(SIMPLE),)), label(draw, table)
    many, noun = column_words(draw, table, column)[1], found.noun(nouns(draw, table)[1])
    text = draw.pick(
        (
            "How many different {c} do {n} have?",
            "Count the distinct {c} of {n}.",
            "What is the number of different {c} of {n}?",
            "In total, how many distinct {c} are there among {n}?",
        )
    )
    return text.replace("{c}", many).replace("{n}", noun), query(
        table, (term(table, column, "COUNT", True),), found.where
    )


def aggregated(draw: Draw, aggregate: str, table: str) -> tuple[str, Term]:
    """Return the words and the term of an aggregate of a column that it suits."""
    column = numeric(draw, table)
    if aggregate == "SUM" and (table, column) not in SUMMED:
        raise Rejected
    one, many = column_words(draw, table, column)
    words = draw.pick(AGGREGATES[aggregate]).replace("{cs}", many).replace("{c}", one)
    return words, term(table, column, aggregate)


def aggregate(*names: str, filters: int = 1) -> Callable[[Draw], Drawn]:
    """Return the skeleton of one aggregate, one of those named, of filtered rows."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        words, value = aggregated(draw, draw.pick(names), table)
        text = draw.pick(ASK_VALUE).replace("{a}", words).replace("{n}", found.noun(nouns(draw, table)[1]))
        return text, query(table, (value,), found.where)

    return skeleton


def two_aggregates(draw: Draw) -> Drawn:
    table = draw.pick(TABLE_WEIGHTS)
    found, column = phrase(draw, table, (draw.pick(SIMPLE),)), numeric(draw, table)
    words = column_words(draw, table, column)[0]
    names = draw.pick((("MIN", "MAX"), ("AVG", "MAX"), ("MIN", "AVG"), ("MAX", "MIN")))
    said = " and ".join(draw.pick(AGGREGATES[name][:2]).replace("{c}", "") .strip() for name in names)
    text = draw.pick(ASK_VALUE).replace("{a}", f"{said} {words}").replace("{n}", found.noun(nouns(draw, table)[1]))
    if text.startswith("What is"):
        text = text.replace("What is", "What are", 1)
    return text, query(table, tuple(term(table, column, name) for name in names), found.where)


GROUP_COUNTS = (
    "How many {n} are there for each {g}?",
    "Count the {n} per {g}.",
    "Show each {g} and its number of {n}.",
    "For every {g}, count the {n}.",
)
GROUP_VALUES = ("What is the {a} of {n} for each {g}?", "Show the {a} of {n} per {g}.", "For every {g}, find the {a} of {n}.", "List each {g} with the {a} of its {n}.")


def group_count(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton that counts rows for each value of a column."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        column = label(draw, table)
        text = draw.pick(GROUP_COUNTS).replace("{g}", column_words(draw, table, column)[0])
        text = text.replace("{n}", found.noun(nouns(draw, table)[1]))
        select = (term(table, column), term(table, None, "COUNT"))
        return text, query(table, select, found.where, group=Column(table, column))

    return skeleton


def group_value(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of an aggregate for each value of a column."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        column = label(draw, table)
        words, value = aggregated(draw, draw.pick(("AVG", "AVG", "MAX", "MIN", "SUM")), table)
        text = draw.pick(GROUP_VALUES).replace("{g}", column_words(draw, table, column)[0]).replace("{a}", words)
        text = text.replace("{n}", found.noun(nouns(draw, table)[1]))
        return text, query(table, (term(table, column), value), found.where, group=Column(table, column))

    return skeleton


def group_having(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of the values that enough rows have."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        column, least = label(draw, table), draw.number(2, 30)
        operator, words = draw.pick(
            ((">", "more than {}"), (">", "over {}"), (">=", "at least {}"), ("<", "fewer than {}"), ("<", "less than {}"))
        )
        many = column_words(draw, table, column)[1]
        text = draw.pick(
            ("Which {g} have {k} {n}?", "List the {g} with {k} {n}.", "Find the {g} that have {k} {n}.", "Show all {g} with {k} {n}.")
        )
        text = text.replace("{g}", many).replace("{k}", words.replace("{}", str(least)))
        having = Condition(term(table, None, "COUNT"), operator, least)
        return text.replace("{n}", found.noun(nouns(draw, table)[1])), query(
            table, (term(table, column),), found.where, group=Column(table, column), having=having
        )

    return skeleton


MOST = {True: ("most",), False: ("fewest", "least")}


def group_most(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of the value that most, or fewest, rows have."""

    def skeleton(draw: Draw) -> Drawn:
        table, greatest = draw.pick(TABLE_WEIGHTS), draw.chance(0.7)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        column = label(draw, table)
        one, noun = column_words(draw, table, column)[0], found.noun(nouns(draw, table)[1])
        text = draw.pick(
            ("Which {g} has the {m} {n}?", "Find the {g} with the {m} {n}.", "What is the {g} with the {m} {n}?", "Name the {g} that has the {m} {n}.")
        )
        text = text.replace("{g}", one).replace("{m}", "most" if greatest else "fewest").replace("{n}", noun)
        return text, query(
            table,
            (term(table, column),),
            found.where,
            group=Column(table, column),
            order=term(table, None, "COUNT"),
            descending=greatest,
            limit=1,
        )

    return skeleton


TOP_ONE = ("Which is the {s} {n}?", "What is the {c} of the {s} {n}?", "Name the {s} {n}.", "Show the {c} of the {s} {n}.", "Find the {s} {n}.")
TOP_MANY = ("Which are the {k} {s} {n}?", "What are the {cs} of the {k} {s} {n}?", "Name the {k} {s} {n}.", "Show the {cs} of the {k} {s} {n}.")


def superlative(filters: int, many: bool) -> Callable[[Draw], Drawn]:
    """Return the skeleton of the first row or rows in an order."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(NAMED * 2 + TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        asked = draw.pick((ENTITY[table], ENTITY[table], numeric(draw, table)))
        if readings.SUPERLATIVES[table] and draw.chance(0.7):
            one = draw.pick(readings.SUPERLATIVES[table])
            words = draw.pick(one.words)
            name, owner, column, greatest = draw.read(f"superlative.{table}.{one.words[0]}")  # type: ignore[misc]
        else:
            column, greatest = draw.pick(tuple(wordings.CLEAR_SUPERLATIVES[table]))
            words = draw.pick(wordings.CLEAR_SUPERLATIVES[table][column, greatest])
            name, owner = "", table
        text = draw.pick(TOP_MANY if many else TOP_ONE)
        if "{c" not in text:
            asked = ENTITY[table]
        limit = draw.number(2, 10) if many else 1
        said = column_words(draw, table, asked)
        noun = found.noun(nouns(draw, table)[1 if many else 0], one=not many)
        if words.split()[0] in found.before.split():
            raise Rejected
        text = text.replace("{cs}", said[1]).replace("{c}", said[0]).replace("{k}", str(limit))
        text = text.replace("{s}", words).replace("{n}", noun)
        group = Column(table, ENTITY[table]) if name else None
        return text, query(
            table,
            (term(table, asked),),
            found.where,
            (owner,),
            group=group,
            order=term(owner, column, name),
            descending=greatest,
            limit=limit,
        )

    return skeleton


def ordered(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of rows in an order."""

    def skeleton(draw: Draw) -> Drawn:
        table = draw.pick(TABLE_WEIGHTS)
        found = phrase(draw, table, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        column = draw.pick((ENTITY[table], numeric(draw, table)))
        descending = draw.chance(0.5)
        if column in ("name", "title"):
            how = draw.pick(("in reverse alphabetical order", "from Z to A") if descending else ("in alphabetical order", "from A to Z"))
        else:
            one = column_words(draw, table, column)[0]
            how = draw.pick(
                (f"by {one}, highest first", f"by falling {one}", f"in descending order of {one}")
                if descending
                else (f"by {one}, lowest first", f"by rising {one}", f"in ascending order of {one}")
            )
        asked, noun = column_words(draw, table, ENTITY[table])[1], found.noun(nouns(draw, table)[1])
        text = draw.pick(("List the {c} of {n} {o}.", "Show the {c} of {n}, sorted {o}.", "Give the {c} of all {n} {o}.", "Sort the {c} of {n} {o}."))
        if how.startswith(("in", "from")):
            text = text.replace(", sorted {o}", ", {o}")
        else:
            text = text.replace("{n} {o}", "{n}, sorted {o}") if not text.startswith("Sort") else text
        return text.replace("{c}", asked).replace("{n}", noun).replace("{o}", how), query(
            table, (entity(table),), found.where, order=term(table, column), descending=descending
        )

    return skeleton


def beyond_average(draw: Draw) -> Drawn:
    table = draw.pick(TABLE_WEIGHTS)
    column, above = numeric(draw, table), draw.chance(0.6)
    one, noun = column_words(draw, table, column)[0], nouns(draw, table)[1]
    side = draw.pick(("above", "higher than", "greater than") if above else ("below", "lower than", "less than"))
    found = phrase(draw, table, (draw.pick(SIMPLE),) if draw.chance(0.5) else ())
    link = " and" if found.after else ""
    inner = Query((term(table, column, "AVG"),), (table,))
    where = (*found.where, condition(table, column, ">" if above else "<", inner))
    text = draw.pick(("Which {n} have a {c} {s} average?", "Find the {e} of {n}{l} with a {c} {s} average.", "Show the {e} of all {n}{l} whose {c} is {s} the average.", "Name the {n}{l} whose {c} is {s} the average."))
    if side.endswith("than"):
        side += " the" if "{s} average" in text else ""
    if link and text.startswith("Which"):
        text = "Which {n} also have a {c} {s} average?"
    if text.count("a {c}") and one[0] in "aeiou":
        text = text.replace("a {c}", "an {c}")
    text = text.replace("{e}", column_words(draw, table, ENTITY[table])[1]).replace("{l}", link)
    return text.replace("{n}", found.noun(noun)).replace("{c}", one).replace("{s}", side), query(table, (entity(table),), where)


def full_name(draw: Draw, table: str) -> str:
    """Return a name or title."""
    if table == "branches":
        return draw.pick(values.BRANCH_NAMES)
    first, second = (
        (values.TITLE_FIRST, values.TITLE_SECOND) if table == "books" else (values.FIRST_NAMES, values.LAST_NAMES)
    )
    return f"{draw.pick(first)} {draw.pick(second)}"


SAME = {
    ("authors", "country"): ("from the same country as {}", "who share their country with {}"),
    ("books", "genre"): ("in the same genre as {}", "of the same genre as {}"),
    ("books", "language"): ("in the same language as {}", "written in the language of {}"),
    ("members", "city"): ("living in the same city as {}", "who share their city with {}"),
    ("branches", "city"): ("in the same city as {}", "that share their city with {}"),
}
THAN = {
    ("authors", "born"): (("born after {}", "younger than {}"), ("born before {}", "older than {}")),
    ("authors", "prizes"): (("with more prizes than {}", "who won more prizes than {}"), ("with fewer prizes than {}", "who won fewer prizes than {}")),
    ("books", "pages"): (("longer than {}", "with more pages than {}"), ("shorter than {}", "with fewer pages than {}")),
    ("books", "year"): (("newer than {}", "published after {}"), ("older than {}", "published before {}")),
    ("members", "age"): (("older than {}", "who are older than {}"), ("younger than {}", "who are younger than {}")),
    ("members", "joined"): (("who joined after {}", "who signed up after {}"), ("who joined before {}", "who signed up before {}")),
    ("branches", "staff"): (("with more staff than {}", "employing more people than {}"), ("with fewer staff than {}", "employing fewer people than {}")),
    ("branches", "opened"): (("newer than {}", "opened after {}"), ("older than {}", "opened before {}")),
}


def as_another(draw: Draw) -> Drawn:
    table, column = draw.pick(tuple(SAME) + tuple(THAN))
    name = full_name(draw, table)
    operator, words = "=", SAME.get((table, column), ())
    if not words:
        above = draw.chance(0.5)
        operator, words = (">", THAN[table, column][0]) if above else ("<", THAN[table, column][1])
    inner = Query((term(table, column),), (table,), (condition(table, ENTITY[table], "=", name),))
    found = Phrase(table, "", draw.pick(words).replace("{}", name), (condition(table, column, operator, inner),), "AND")
    return rows(draw, found)


def fact(draw: Draw) -> Drawn:
    table = draw.pick(NAMED)
    name = full_name(draw, table)
    column = draw.pick([one for one in TABLES[table] if (table, one) in wordings.COLUMNS and one != ENTITY[table]])
    noun, said = nouns(draw, table)[0], column_words(draw, table, column)[0]
    text = draw.pick(("What is the {c} of {v}?", "Show the {c} of the {n} {v}.", "Give the {c} of {v}.", "Find the {c} of the {n} {v}."))
    if table in ("authors", "members"):
        text = text.replace("of {v}", "of the {n} {v}")
    return text.replace("{c}", said).replace("{n}", noun).replace("{v}", name), query(
        table, (term(table, column),), (condition(table, ENTITY[table], "=", name),)
    )


def joined(draw: Draw, kinds: int = 1) -> tuple[str, str, str, Phrase]:
    """Return a table, one that it refers to, the words between them and a phrase of the second."""
    child, parent = draw.pick(tuple(wordings.BELONGS))
    return child, parent, draw.pick(wordings.BELONGS[child, parent]), phrase(
        draw, parent, tuple(draw.pick(SIMPLE) for _ in range(kinds))
    )


def parent_noun(draw: Draw, child: str, parent: str, words: str, found: Phrase, many: str) -> str:
    """Return "books by authors from Spain"."""
    return f"{many} {words} {found.noun(nouns(draw, parent)[1])}"


def join_rows(draw: Draw) -> Drawn:
    child, parent, words, found = joined(draw)
    many = parent_noun(draw, child, parent, words, found, nouns(draw, child)[1])
    if draw.chance(0.7):
        text, select = shown(draw, child)
    else:
        column = numeric(draw, child)
        text, select = draw.pick(VALUES).replace("{c}", column_words(draw, child, column)[1]), (term(child, column),)
    return text.replace("{n}", many), query(child, select, found.where, (parent,))


def join_two(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of filtered rows that refer to rows with a number of filters."""

    def skeleton(draw: Draw) -> Drawn:
        child, parent, words, found = joined(draw, filters)
        own = draw_filter(draw, child, draw.pick(SIMPLE))
        if not own.before:
            raise Rejected
        many = f"{own.before} {parent_noun(draw, child, parent, words, found, nouns(draw, child)[1])}"
        where = (own.condition, *found.where)
        text, select = shown(draw, child)
        return text.replace("{n}", many), query(child, select, where, (parent,))

    return skeleton


def join_count(draw: Draw) -> Drawn:
    child, parent, words, found = joined(draw)
    many = parent_noun(draw, child, parent, words, found, nouns(draw, child)[1])
    return draw.pick(COUNTS).replace("{n}", many), query(child, (term(child, None, "COUNT"),), found.where, (parent,))


def join_aggregate(draw: Draw) -> Drawn:
    child, parent, words, found = joined(draw)
    said, value = aggregated(draw, draw.pick(("AVG", "MAX", "MIN", "SUM")), child)
    many = parent_noun(draw, child, parent, words, found, nouns(draw, child)[1])
    return draw.pick(ASK_VALUE).replace("{a}", said).replace("{n}", many), query(child, (value,), found.where, (parent,))


def join_by_name(draw: Draw) -> Drawn:
    child, parent = draw.pick((("books", "authors"), ("loans", "members"), ("copies", "books"), ("copies", "branches"), ("members", "branches"), ("loans", "books")))
    name, words = full_name(draw, parent), draw.pick(wordings.BELONGS[child, parent])
    if child == "books" and words == "from":
        raise Rejected
    if parent == "branches":
        name = f"the {name} branch"
    value = name.removeprefix("the ").removesuffix(" branch")
    many = f"{nouns(draw, child)[1]} {words} {name}"
    where = (condition(parent, ENTITY[parent], "=", value),)
    how = draw.rng.random()
    if how < 0.5:
        text, select = shown(draw, child)
        return text.replace("{n}", many), query(child, select, where, (parent,))
    if how < 0.7:
        return draw.pick(COUNTS).replace("{n}", many), query(child, (term(child, None, "COUNT"),), where, (parent,))
    column = numeric(draw, child)
    text = draw.pick(VALUES).replace("{c}", column_words(draw, child, column)[1])
    return text.replace("{n}", many), query(child, (term(child, column),), where, (parent,))


def owners(draw: Draw, owner: str, owned: str) -> str:
    """Return the words from a table to one that refers to it."""
    return draw.pick(wordings.OWNED[owner, owned]).replace("{who}", wordings.WHO[owner])


def join_owner(draw: Draw) -> Drawn:
    """Rows of a table by what refers to them; each once."""
    owner, owned = draw.pick((("authors", "books"), ("members", "loans"), ("branches", "copies"), ("books", "copies"), ("books", "loans"), ("branches", "members")))
    found = phrase(draw, owned, (draw.pick(SIMPLE),))
    many = f"{nouns(draw, owner)[1]} {owners(draw, owner, owned)} {found.noun(nouns(draw, owned)[1])}"
    return draw.pick(ROWS).replace("{n}", many), query(owner, (entity(owner),), found.where, (owned,), distinct=True)


FAR = (
    ("members", "books", ("who borrowed", "who took out", "who have read")),
    ("branches", "books", ("that hold", "that keep", "with copies of", "that stock")),
    ("loans", "authors", ("of books by", "for books by", "of works by")),
    ("copies", "authors", ("of books by", "of works by", "of books written by")),
    ("loans", "branches", ("by members of", "made by members of", "by readers at")),
)
"""Two tables with one between, and the words from the first to the second."""


def join_far(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of rows joined through a table between."""

    def skeleton(draw: Draw) -> Drawn:
        main, far, words = draw.pick(FAR)
        found = phrase(draw, far, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        many = f"{nouns(draw, main)[1]} {draw.pick(words)} {found.noun(nouns(draw, far)[1])}"
        once = main in ("members", "branches")
        if draw.chance(0.5):
            value = term(main, KEY_OF[main], "COUNT", True) if once else term(main, None, "COUNT")
            return draw.pick(COUNTS).replace("{n}", many), query(main, (value,), found.where, (far,))
        return draw.pick(ROWS).replace("{n}", many), query(main, (entity(main),), found.where, (far,), distinct=once)

    return skeleton


KEY_OF = {table: columns[0] for table, columns in TABLES.items()}


def owned_pair(draw: Draw) -> tuple[str, str, str, str]:
    """Return a table, one that refers to it, and words for their rows."""
    owner, owned = draw.pick(tuple(wordings.OWNED))
    return owner, owned, nouns(draw, owner)[0], nouns(draw, owned)[1]


def join_group(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton that counts what refers to each row."""

    def skeleton(draw: Draw) -> Drawn:
        owner, owned, one, _ = owned_pair(draw)
        found = phrase(draw, owned, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        text = draw.pick(("How many {n} does each {g} have?", "For each {g}, count the {n}.", "For every {g}, show the name and the number of {n}.", "Show each {g} with its number of {n}."))
        if owner == "books":
            text = text.replace("the name and", "the title and")
        if owner in ("authors", "members"):
            text = text.replace("its number", "the number")
        select = (entity(owner), term(owner, None, "COUNT"))
        return text.replace("{n}", found.noun(nouns(draw, owned)[1])).replace("{g}", one), query(
            owner, select, found.where, (owned,), group=Column(owner, ENTITY[owner])
        )

    return skeleton


def join_most(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of the row that most others refer to."""

    def skeleton(draw: Draw) -> Drawn:
        owner, owned, one, _ = owned_pair(draw)
        found = phrase(draw, owned, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        limit = draw.pick((1, 1, 2, 3, 4, 5))
        noun, many = found.noun(nouns(draw, owned)[1]), nouns(draw, owner)[1]
        text = draw.pick(
            ("Which {g} has the most {n}?", "Find the {g} with the most {n}.", "Name the {g} with the largest number of {n}.", "Show the {g} that has the most {n}.")
            if limit == 1
            else ("Which {k} {g} have the most {n}?", "Find the {k} {g} with the most {n}.", "Name the top {k} {g} by number of {n}.", "Show the {k} {g} that have the most {n}.")
        )
        if owner in ("authors", "members"):
            text = text.replace(" that ", " who ")
        text = text.replace("{n}", noun).replace("{g}", one if limit == 1 else many).replace("{k}", str(limit))
        return text, query(
            owner, (entity(owner),), found.where, (owned,), group=Column(owner, ENTITY[owner]),
            order=term(owner, None, "COUNT"), descending=True, limit=limit,
        )  # fmt: skip

    return skeleton


def join_having(filters: int) -> Callable[[Draw], Drawn]:
    """Return the skeleton of the rows that enough others refer to."""

    def skeleton(draw: Draw) -> Drawn:
        owner, owned, _, _ = owned_pair(draw)
        found = phrase(draw, owned, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        operator, words = draw.pick(((">", "more than {}"), (">", "over {}"), (">=", "at least {}")))
        least, many = draw.number(2, 8), nouns(draw, owner)[1]
        who = owners(draw, owner, owned)
        text = draw.pick(("Which {g} are there {w} {k} {n}?", "List the {g} {w} {k} {n}.", "Find the {g} {w} {k} {n}.", "Name all {g} {w} {k} {n}."))
        text = text.replace("{g} are there {w}", f"{many} have") if text.startswith("Which") else text
        text = text.replace("{g}", many).replace("{w}", who).replace("{k}", words.replace("{}", str(least)))
        having = Condition(term(owner, None, "COUNT"), operator, least)
        return text.replace("{n}", found.noun(nouns(draw, owned)[1])), query(
            owner, (entity(owner),), found.where, (owned,), group=Column(owner, ENTITY[owner]), having=having
        )

    return skeleton


def join_group_value(draw: Draw) -> Drawn:
    child, parent = draw.pick((("books", "authors"), ("members", "branches"), ("copies", "branches"), ("loans", "members"), ("copies", "books"), ("loans", "books")))
    column = draw.pick((label(draw, parent), ENTITY[parent]))
    said, value = aggregated(draw, draw.pick(("AVG", "AVG", "MAX", "SUM")), child)
    words = draw.pick(wordings.BELONGS[child, parent])
    one = nouns(draw, parent)[0]
    if column == ENTITY[parent]:
        group = f"each {one}"
        text = draw.pick(("What is the {a} of {n} {w} {g}?", "Show the {a} of {n} {w} {g}.", "Find the {a} of the {n} {w} {g}.", "Give the {a} of all {n} {w} {g}."))
    else:
        group = f"for each {one} {column_words(draw, parent, column)[0]}"
        text = draw.pick(("What is the {a} of {n} {g}?", "Show the {a} of {n} {g}.", "Find the {a} of the {n} {g}.", "Give the {a} of {n} {g}."))
    text = text.replace("{a}", said).replace("{n}", nouns(draw, child)[1]).replace("{w}", words).replace("{g}", group)
    return text, query(child, (term(parent, column), value), (), (parent,), group=Column(parent, column))


PARENT_OF = {("books", "authors"): "author", ("copies", "books"): "book", ("loans", "members"): "member", ("members", "branches"): "branch", ("copies", "branches"): "branch", ("loans", "books"): "book"}  # fmt: skip


def join_superlative(draw: Draw) -> Drawn:
    """A column of the row that the first row in an order refers to: "the author of the longest book"."""
    child, parent = draw.pick(tuple(PARENT_OF))
    found = phrase(draw, child, (draw.pick(SIMPLE),) if draw.chance(0.6) else ())
    column, greatest = draw.pick(tuple(wordings.CLEAR_SUPERLATIVES[child]))
    words = draw.pick(wordings.CLEAR_SUPERLATIVES[child][column, greatest])
    if words.split()[0] in found.before.split():
        raise Rejected
    noun = found.noun(nouns(draw, child)[0], one=True)
    asked = draw.pick([ENTITY[parent]] * 3 + [one for one in TABLES[parent] if (parent, one) in wordings.COLUMNS])
    thing = nouns(draw, parent)[0]
    if asked != ENTITY[parent]:
        thing = f"{column_words(draw, parent, asked)[0]} of the {thing}"
    text = draw.pick(("What is the {t} of the {s} {n}?", "Find the {t} of the {s} {n}.", "Show the {t} of the {s} {n}.", "Name the {t} of the {s} {n}."))
    if text.startswith("What") and parent in ("authors", "members") and asked == ENTITY[parent]:
        text = text.replace("What", "Who", 1)
    return text.replace("{t}", thing).replace("{s}", words).replace("{n}", noun), query(
        child, (term(parent, asked),), found.where, (parent,), order=term(child, column), descending=greatest, limit=1
    )


def membership(negated: bool, inner_filters: int = 1, filters: int = 0) -> Callable[[Draw], Drawn]:
    """Return the skeleton of the rows that some, or no, row refers to."""

    def skeleton(draw: Draw) -> Drawn:
        owner, owned = draw.pick(tuple(wordings.OWNED))
        own = phrase(draw, owner, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        bare = negated and not filters and draw.chance(0.3)
        found = phrase(draw, owned, () if bare else tuple(draw.pick(SIMPLE) for _ in range(inner_filters)))
        if any(one.term.column and one.term.column.table != owned for one in found.where):
            raise Rejected
        column = KEYS[owned, owner]
        inner = Query((term(owned, column),), (owned,), found.where)
        some = ("with no", "without any", "that have no", "lacking") if negated else ("with at least one", "that have at least one", "with one or more", "that have one or more")
        words = draw.pick(some).replace("that", wordings.WHO[owner])
        single = words.endswith("one")
        plural = found.noun(nouns(draw, owned)[0 if single else 1], one=single)
        many = f"{own.noun(nouns(draw, owner)[1])} {words} {plural}"
        where = (*own.where, condition(owner, column, "NOT IN" if negated else "IN", inner),)
        if draw.chance(0.35):
            return draw.pick(COUNTS).replace("{n}", many), query(owner, (term(owner, None, "COUNT"),), where)
        asked = draw.pick((ENTITY[owner], numeric(draw, owner)))
        if asked == ENTITY[owner]:
            text, select = shown(draw, owner)
            return text.replace("{n}", many), query(owner, select, where)
        text = draw.pick(VALUES).replace("{c}", column_words(draw, owner, asked)[1])
        return text.replace("{n}", many), query(owner, (term(owner, asked),), where)

    return skeleton


ALIKE = (
    ("city", "members", "city", "branches", "city"),
    ("city", "branches", "city", "members", "city"),
    ("genre", "books", "genre", "books", "genre"),
    ("language", "books", "language", "books", "language"),
    ("country", "authors", "country", "authors", "country"),
    ("city", "members", "city", "members", "city"),
    ("name", "authors", "name", "authors", "name"),
    ("title", "books", "title", "books", "title"),
)
PLURAL = {"city": "cities", "genre": "genres", "language": "languages", "country": "countries", "name": "names", "title": "titles"}


def combined(operator: str, words: tuple[str, ...], filters: int = 1) -> Callable[[Draw], Drawn]:
    """Return the skeleton of a set operation between two lists."""

    def skeleton(draw: Draw) -> Drawn:
        name, first, first_column, second, second_column = draw.pick(ALIKE)
        if name in ("name", "title") and operator != "EXCEPT":
            raise Rejected
        one = phrase(draw, first, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        other = phrase(draw, second, tuple(draw.pick(SIMPLE) for _ in range(filters)))
        if first == second and (one.where == other.where or one.where[0].term == other.where[0].term):
            raise Rejected
        if any(c.term.column and c.term.column.table not in (first, second) for c in one.where + other.where):
            raise Rejected
        noun, noun2 = nouns(draw, first)[1], nouns(draw, second)[1]
        text = draw.pick(words).replace("{c}", PLURAL[name])
        text = text.replace("{a}", one.noun(noun)).replace("{b}", other.noun(noun2))
        right = query(second, (term(second, second_column),), other.where)
        return text, replace(query(first, (term(first, first_column),), one.where), combine=operator, other=right)

    return skeleton


UNION = ("List the {c} of {a} together with those of {b}.", "Which {c} have {a} or {b}?", "Show the {c} of {a} or of {b}.", "Find all {c} of {a} and also of {b}.")
EXCEPT = ("List the {c} of {a} except those of {b}.", "Show the {c} of {a} but not of {b}.", "Find the {c} of {a} without those of {b}.", "Which {c} of {a} are not {c} of {b}?")
INTERSECT = ("Which {c} do {a} share with {b}?", "List the {c} of both {a} and {b}.", "Show the {c} that {a} and {b} have in common.", "Find the {c} shared by {a} and {b}.")

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
