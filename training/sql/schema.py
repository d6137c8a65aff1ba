"""The library's schema: six tables, their columns, and which column joins which two tables."""

TABLES = {
    "authors": ("author_id", "name", "country", "born", "prizes"),
    "books": ("book_id", "title", "author_id", "genre", "language", "year", "pages"),
    "members": ("member_id", "name", "city", "age", "joined", "branch_id"),
    "branches": ("branch_id", "name", "city", "opened", "staff"),
    "copies": ("copy_id", "book_id", "branch_id", "state", "price"),
    "loans": ("loan_id", "member_id", "book_id", "taken", "days", "fine"),
}
ENTITY = {table: columns[1] if columns[1] in ("name", "title") else columns[0] for table, columns in TABLES.items()}
"""Table: the column that says which row is meant."""

TEXT = {"name", "title", "country", "genre", "language", "city", "state"}
NULLABLE = {("authors", "country"), ("books", "language"), ("members", "city"), ("copies", "state"), ("loans", "fine")}

KEYS = {
    ("books", "authors"): "author_id",
    ("copies", "books"): "book_id",
    ("copies", "branches"): "branch_id",
    ("members", "branches"): "branch_id",
    ("loans", "members"): "member_id",
    ("loans", "books"): "book_id",
}
"""(table that refers, table referred to): the column that both have."""

VIA = {
    frozenset(("authors", "loans")): "books",
    frozenset(("authors", "copies")): "books",
    frozenset(("books", "branches")): "copies",
    frozenset(("books", "members")): "loans",
    frozenset(("loans", "branches")): "members",
}
"""Two tables with no common column: the table between them."""


def key(first: str, second: str) -> str:
    """Return the column that joins two neighbouring tables; KeyError if they have none."""
    return KEYS[first, second] if (first, second) in KEYS else KEYS[second, first]


def chain(first: str, second: str) -> tuple[str, ...]:
    """Return the tables from one to the other, each joined to the one before."""
    if first == second:
        return (first,)
    between = VIA.get(frozenset((first, second)))
    return (first, between, second) if between else (first, second)


def definition(table: str) -> str:
    """Return the CREATE TABLE statement of a table."""
    parents = {column: parent for (child, parent), column in KEYS.items() if child == table}
    columns = []
    for position, column in enumerate(TABLES[table]):
        kind = "TEXT" if column in TEXT else "INTEGER"
        rule = " PRIMARY KEY" if position == 0 else "" if (table, column) in NULLABLE else " NOT NULL"
        refers = f" REFERENCES {parents[column]} ({column})" if column in parents else ""
        columns.append(f"{column} {kind}{rule}{refers}")
    return f"CREATE TABLE {table} ({', '.join(columns)})"
