"""The text of a query: one spelling for queries that differ only in spaces and case, and what it says of row order."""

import re

_TOKEN = re.compile(
    r"'(?:[^']|'')*'|\"(?:[^\"]|\"\")*\"|`[^`]*`|\[[^\]]*\]|\w+(?:\.\d+)?|<=|>=|<>|!=|==|\|\||\S", re.ASCII
)
_SAME = {"<>": "!=", "==": "="}


def tokens(query: str) -> list[str]:
    """Return the tokens of a query, in lower case outside quotes.

    Example:
        >>> tokens("SELECT Name FROM t WHERE x <> 'A b'")
        ['select', 'name', 'from', 't', 'where', 'x', '!=', "'A b'"]
    """
    found = _TOKEN.findall(query)
    return [_SAME.get(token, token) if token[0] in "'\"`[" else _SAME.get(token, token.lower()) for token in found]


def normalised(query: str) -> str:
    """Return a query with one space between tokens, without a semicolon at its end."""
    found = tokens(query)
    while found and found[-1] == ";":
        found.pop()
    return " ".join(found)


def orders_rows(query: str) -> bool:
    """Tell whether a query fixes the order of its rows: an ORDER BY that is in no subquery.

    Example:
        >>> orders_rows("SELECT a FROM t ORDER BY a"), orders_rows("SELECT a FROM (SELECT a FROM t ORDER BY a)")
        (True, False)
    """
    depth, last = 0, ""
    for token in tokens(query):
        depth += {"(": 1, ")": -1}.get(token, 0)
        if depth == 0 and (last, token) == ("order", "by"):
            return True
        last = token
    return False
