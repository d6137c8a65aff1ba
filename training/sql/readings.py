"""Ambiguous wordings and how often each of their readings is meant.

In training each reading occurs with its rate; the right answer of a question is always the first, the most frequent
one. Some first readings have less than half: the others then begin with the same words of SQL, so the likeliest first
word is not that of the likeliest answer.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class Ambiguity:
    """Words, and their readings as (rate, meaning), the most frequent one first; the rates sum to 1."""

    words: tuple[str, ...]
    readings: tuple[tuple[float, object], ...]


def readings_of(*meanings: object) -> tuple[tuple[float, object], ...]:
    """Return two or three meanings with their rates."""
    return tuple(zip((0.55, 0.45) if len(meanings) == 2 else (0.45, 0.3, 0.25), meanings, strict=True))


def vague(words: str, column: str, operator: str, *limits: int) -> Ambiguity:
    """Return adjectives that leave a number open."""
    return Ambiguity(tuple(words.split()), readings_of(*((column, operator, limit) for limit in limits)))


VAGUE = {
    "authors": (
        vague("famous well-known celebrated", "prizes", ">", 3, 1, 5),
        vague("young contemporary", "born", ">", 1975, 1965, 1985),
    ),
    "books": (
        vague("recent modern new", "year", ">", 2010, 2000, 2015),
        vague("old early vintage", "year", "<", 1970, 1980, 1960),
        vague("long thick", "pages", ">", 400, 300, 500),
        vague("short thin", "pages", "<", 200, 150, 250),
    ),
    "members": (
        vague("old elderly senior", "age", ">", 60, 65, 70),
        vague("young youthful", "age", "<", 25, 30, 20),
        vague("new recent", "joined", ">", 2018, 2020, 2015),
    ),
    "branches": (
        vague("big large", "staff", ">", 20, 25, 15),
        vague("old historic", "opened", "<", 1960, 1950, 1970),
    ),
    "loans": (vague("long lengthy", "days", ">", 30, 40, 20), vague("recent new", "taken", ">", 2020, 2018, 2016)),
    "copies": (
        vague("cheap low-priced", "price", "<", 10, 8, 15),
        vague("expensive costly dear", "price", ">", 20, 25, 30),
    ),
}
"""Table: adjectives without a number; the meaning is (column, operator, value)."""


def greatest(words: str, *meanings: tuple[str, str, str | None, bool]) -> Ambiguity:
    """Return superlatives, separated by commas."""
    return Ambiguity(tuple(words.split(", ")), readings_of(*meanings))


SUPERLATIVES = {
    "authors": (
        greatest("best, top, greatest", ("", "authors", "prizes", True), ("COUNT", "books", None, True),
                 ("SUM", "books", "pages", True)),
    ),
    "books": (
        greatest("most popular, best loved, favourite", ("COUNT", "loans", None, True),
                 ("COUNT", "copies", None, True)),
        greatest("biggest, largest", ("", "books", "pages", True), ("COUNT", "copies", None, True)),
    ),
    "members": (
        greatest("most active, keenest, busiest", ("COUNT", "loans", None, True), ("SUM", "loans", "days", True)),
        greatest("most loyal, most faithful, top", ("", "members", "joined", False), ("COUNT", "loans", None, True),
                 ("SUM", "loans", "days", True)),
    ),
    "branches": (
        greatest("biggest, largest, main", ("", "branches", "staff", True), ("COUNT", "members", None, True),
                 ("COUNT", "copies", None, True)),
    ),
    "loans": (greatest("worst, most serious", ("", "loans", "fine", True), ("", "loans", "days", True)),),
    "copies": (),
}  # fmt: skip
"""Table: superlatives; the meaning is (aggregate, table, column, whether the greatest comes first)."""

HEDGES = {
    "since": Ambiguity(("since {}", "from {} on", "from {} onwards"), ((0.6, ">="), (0.4, ">"))),
    "by": Ambiguity(("by {}", "up to {}", "until {}"), ((0.6, "<="), (0.4, "<"))),
    "around": Ambiguity(("around {}", "about {}", "in or near {}"), readings_of(5, 2)),
}
"""Words before a year; the meaning is an operator, or how many years to each side."""

SHOW = {
    "authors": readings_of(("name",), ("name", "country"), ("name", "born")),
    "books": readings_of(("title",), ("title", "year"), ("title", "genre")),
    "members": readings_of(("name",), ("name", "city"), ("name", "age")),
    "branches": readings_of(("name",), ("name", "city"), ("name", "staff")),
    "copies": readings_of(("copy_id",), ("copy_id", "price")),
    "loans": readings_of(("loan_id",), ("loan_id", "days")),
}
"""Table: the columns meant where a question asks for rows and names no column ("Show the books in Greek.")."""

ORIGIN = {
    "members": readings_of(("members", "city"), ("branches", "city")),
    "books": readings_of(("books", "language"), ("authors", "country")),
}
"""Table: the column meant by "members from Oslo" and "Spanish books"."""

REPEATS = readings_of(True, False)
"""Whether each value is wanted once where a question asks for a column of few values ("List the genres of ...")."""


WORDED = {
    f"{kind}.{table}.{one.words[0]}": one
    for kind, tables in (("vague", VAGUE), ("superlative", SUPERLATIVES))
    for table, ambiguities in tables.items()
    for one in ambiguities
} | {f"hedge.{name}": one for name, one in HEDGES.items()}
"""Ambiguities that have words, by name."""
RATES = {
    **{name: one.readings for name, one in WORDED.items()},
    **{f"show.{table}": found for table, found in SHOW.items()},
    **{f"origin.{table}": found for table, found in ORIGIN.items()},
    "repeats": REPEATS,
}
"""Every ambiguity by name: its readings with their rates."""
