"""The words of the pages around a viewer, in every language that the viewer speaks."""

import json
from functools import lru_cache

from visualize.pages import page_file


def page_words(language: str) -> dict[str, str]:
    """The table of one language. Raises: ValueError for a language without one."""
    tables = _tables()
    if language not in tables:
        raise ValueError(f"no words for language {language!r}; there are {', '.join(sorted(tables))}")
    return tables[language]


@lru_cache
def _tables() -> dict[str, dict[str, str]]:
    tables: dict[str, dict[str, str]] = json.loads(page_file("words.json"))
    return tables
