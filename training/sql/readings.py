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


VAGUE = {
    "authors": (
        Ambiguity(
            ("famous", "well-known", "celebrated"),
            ((0.45, ("prizes", ">", 3)), (0.3, ("prizes", ">", 1)), (0.25, ("prizes", ">", 5))),
        ),
        Ambiguity(
            ("young", "contemporary"),
            ((0.45, ("born", ">", 1975)), (0.3, ("born", ">", 1965)), (0.25, ("born", ">", 1985))),
        ),
    ),
    "books": (
        Ambiguity(
            ("recent", "modern", "new"),
            ((0.45, ("year", ">", 2010)), (0.3, ("year", ">", 2000)), (0.25, ("year", ">", 2015))),
        ),
        Ambiguity(
            ("old", "early", "vintage"),
            ((0.45, ("year", "<", 1970)), (0.3, ("year", "<", 1980)), (0.25, ("year", "<", 1960))),
        ),
        Ambiguity(
            ("long", "thick"), ((0.45, ("pages", ">", 400)), (0.3, ("pages", ">", 300)), (0.25, ("pages", ">", 500)))
        ),
        Ambiguity(
            ("short", "thin"), ((0.45, ("pages", "<", 200)), (0.3, ("pages", "<", 150)), (0.25, ("pages", "<", 250)))
        ),
    ),
    "members": (
        Ambiguity(
            ("old", "elderly", "senior"), ((0.45, ("age", ">", 60)), (0.3, ("age", ">", 65)), (0.25, ("age", ">", 70)))
        ),
        Ambiguity(("young", "youthful"), ((0.45, ("age", "<", 25)), (0.3, ("age", "<", 30)), (0.25, ("age", "<", 20)))),
        Ambiguity(
            ("new", "recent"),
            ((0.45, ("joined", ">", 2018)), (0.3, ("joined", ">", 2020)), (0.25, ("joined", ">", 2015))),
        ),
    ),
    "branches": (
        Ambiguity(
            ("big", "large"), ((0.45, ("staff", ">", 20)), (0.3, ("staff", ">", 25)), (0.25, ("staff", ">", 15)))
        ),
        Ambiguity(
            ("old", "historic"),
            ((0.45, ("opened", "<", 1960)), (0.3, ("opened", "<", 1950)), (0.25, ("opened", "<", 1970))),
        ),
    ),
    "loans": (
        Ambiguity(
            ("long", "lengthy"), ((0.45, ("days", ">", 30)), (0.3, ("days", ">", 40)), (0.25, ("days", ">", 20)))
        ),
        Ambiguity(
            ("recent", "new"), ((0.45, ("taken", ">", 2020)), (0.3, ("taken", ">", 2018)), (0.25, ("taken", ">", 2016)))
        ),
    ),
    "copies": (
        Ambiguity(
            ("cheap", "low-priced"), ((0.45, ("price", "<", 10)), (0.3, ("price", "<", 8)), (0.25, ("price", "<", 15)))
        ),
        Ambiguity(
            ("expensive", "costly", "dear"),
            ((0.45, ("price", ">", 20)), (0.3, ("price", ">", 25)), (0.25, ("price", ">", 30))),
        ),
    ),
}
"""Table: adjectives without a number; the meaning is (column, operator, value)."""

SUPERLATIVES = {
    "authors": (
        Ambiguity(
            ("best", "top", "greatest"),
            (
                (0.45, ("", "authors", "prizes", True)),
                (0.3, ("COUNT", "books", None, True)),
                (0.25, ("SUM", "books", "pages", True)),
            ),
        ),
    ),
    "books": (
        Ambiguity(
            ("most popular", "best loved", "favourite"),
            ((0.55, ("COUNT", "loans", None, True)), (0.45, ("COUNT", "copies", None, True))),
        ),
        Ambiguity(
            ("biggest", "largest"), ((0.55, ("", "books", "pages", True)), (0.45, ("COUNT", "copies", None, True)))
        ),
    ),
    "members": (
        Ambiguity(
            ("most active", "keenest", "busiest"),
            ((0.55, ("COUNT", "loans", None, True)), (0.45, ("SUM", "loans", "days", True))),
        ),
        Ambiguity(
            ("most loyal", "most faithful", "top"),
            (
                (0.45, ("", "members", "joined", False)),
                (0.3, ("COUNT", "loans", None, True)),
                (0.25, ("SUM", "loans", "days", True)),
            ),
        ),
    ),
    "branches": (
        Ambiguity(
            ("biggest", "largest", "main"),
            (
                (0.45, ("", "branches", "staff", True)),
                (0.3, ("COUNT", "members", None, True)),
                (0.25, ("COUNT", "copies", None, True)),
            ),
        ),
    ),
    "loans": (
        Ambiguity(
            ("worst", "most serious"), ((0.55, ("", "loans", "fine", True)), (0.45, ("", "loans", "days", True)))
        ),
    ),
    "copies": (),
}
"""Table: superlatives; the meaning is (aggregate, table, column, whether the greatest comes first)."""

HEDGES = {
    "since": Ambiguity(("since {}", "from {} on", "from {} onwards"), ((0.6, ">="), (0.4, ">"))),
    "by": Ambiguity(("by {}", "up to {}", "until {}"), ((0.6, "<="), (0.4, "<"))),
    "around": Ambiguity(("around {}", "about {}", "in or near {}"), ((0.55, 5), (0.45, 2))),
}
"""Words before a year; the meaning is an operator, or how many years to each side."""

SHOW = {
    "authors": ((0.45, ("name",)), (0.3, ("name", "country")), (0.25, ("name", "born"))),
    "books": ((0.45, ("title",)), (0.3, ("title", "year")), (0.25, ("title", "genre"))),
    "members": ((0.45, ("name",)), (0.3, ("name", "city")), (0.25, ("name", "age"))),
    "branches": ((0.45, ("name",)), (0.3, ("name", "city")), (0.25, ("name", "staff"))),
    "copies": ((0.55, ("copy_id",)), (0.45, ("copy_id", "price"))),
    "loans": ((0.55, ("loan_id",)), (0.45, ("loan_id", "days"))),
}
"""Table: the columns meant where a question asks for rows and names no column ("Show the books in Greek.")."""

ORIGIN = {
    "members": ((0.55, ("members", "city")), (0.45, ("branches", "city"))),
    "books": ((0.55, ("books", "language")), (0.45, ("authors", "country"))),
}
"""Table: the column meant by "members from Oslo" and "Spanish books"."""

REPEATS = ((0.55, True), (0.45, False))
"""Whether each value is wanted once where a question asks for a column of few values ("List the genres of ...")."""


def rates() -> dict[str, tuple[tuple[float, object], ...]]:
    """Return every ambiguity under a name of its own."""
    found: dict[str, tuple[tuple[float, object], ...]] = {}
    for kind, tables in (("vague", VAGUE), ("superlative", SUPERLATIVES)):
        for table, ambiguities in tables.items():
            for one in ambiguities:
                found[f"{kind}.{table}.{one.words[0]}"] = one.readings
    found |= {f"hedge.{name}": one.readings for name, one in HEDGES.items()}
    found |= {f"show.{table}": readings for table, readings in SHOW.items()}
    found |= {f"origin.{table}": readings for table, readings in ORIGIN.items()}
    return found | {"repeats": REPEATS}


RATES = rates()


def described(meaning: object) -> str:
    """Return a meaning in words of SQL."""
    if isinstance(meaning, bool):
        return "DISTINCT" if meaning else "all"
    if isinstance(meaning, int):
        return f"± {meaning} years"
    if isinstance(meaning, tuple) and len(meaning) == 4:
        aggregate, table, column, greatest = meaning
        term = f"{aggregate}({column or '*'}) of {table}" if aggregate else f"{column}"
        return f"{term}, {'greatest' if greatest else 'least'} first"
    if isinstance(meaning, tuple) and len(meaning) == 3 and meaning[1] in ("<", ">"):
        return " ".join(map(str, meaning))
    return ", ".join(meaning) if isinstance(meaning, tuple) else str(meaning)


def table() -> str:
    """Return a Markdown table of every ambiguity, its words and its readings with their rates."""
    words = {
        f"{kind}.{owner}.{one.words[0]}": one.words
        for kind, owners in (("vague", VAGUE), ("superlative", SUPERLATIVES))
        for owner, ambiguities in owners.items()
        for one in ambiguities
    } | {f"hedge.{name}": one.words for name, one in HEDGES.items()}
    lines = ["| ambiguity | words | readings |", "|---|---|---|"]
    for name, found in RATES.items():
        said = ", ".join(words.get(name, ())).replace("{}", "1990") or "(no words of its own)"
        means = "; ".join(f"{rate:.0%} {described(meaning)}" for rate, meaning in found)
        lines.append(f"| {name} | {said} | {means} |")
    return "\n".join(lines)
