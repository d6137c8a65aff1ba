"""Spider's rule of hardness, on queries counted by hand."""

import pytest
from dsbd.tasks.sql.hardness import Counts, counts, hardness

from dsbd.errors import TaskError

DOCUMENTED = {
    "SELECT COUNT(*) FROM cars_data WHERE cylinders > 4": "easy",
    "SELECT country, COUNT(*) FROM cars_data GROUP BY country": "medium",
    "SELECT T1.country_name FROM countries AS T1 JOIN continents AS T2 ON T1.continent = T2.cont_id "
    "WHERE T2.continent = 'Europe' GROUP BY T1.country_name HAVING COUNT(*) >= 3": "hard",
    "SELECT AVG(life_expectancy) FROM country WHERE name NOT IN (SELECT T1.name FROM country AS T1 JOIN "
    "country_language AS T2 ON T1.code = T2.country_code WHERE T2.language = 'English' AND T2.official = 'T')": "extra",
}
"""Queries in the manner of the examples of the rule's authors, and the level that its formula gives."""


@pytest.mark.parametrize("query", DOCUMENTED, ids=range(len(DOCUMENTED)))
def test_queries_in_the_manner_of_the_authors_examples(query):
    assert hardness(query) == DOCUMENTED[query]


COUNTED = {
    "SELECT a FROM t": (0, 0, 0),
    "SELECT a FROM t WHERE b = 1 AND c = 2": (1, 0, 1),
    "SELECT a FROM t WHERE (b = 1 OR c = 2)": (2, 0, 1),
    "SELECT a FROM t WHERE b LIKE 'x%'": (2, 0, 0),
    "SELECT a FROM t WHERE b BETWEEN 1 AND 2": (1, 0, 0),
    "SELECT a FROM t, u WHERE t.x = u.x": (2, 0, 0),
    "SELECT a FROM t JOIN u ON t.x = u.x OR t.y LIKE u.y": (3, 0, 0),
    "SELECT a FROM t JOIN u USING (x) ORDER BY b LIMIT 1": (3, 0, 0),
    "SELECT a, b FROM t GROUP BY a, b": (1, 0, 2),
    "SELECT MIN(a), MAX(a) FROM t": (0, 0, 2),
    "SELECT COUNT(*) FROM t GROUP BY a ORDER BY COUNT(*)": (2, 0, 1),
    "SELECT COUNT(*) FROM t GROUP BY a HAVING COUNT(*) > 1": (1, 0, 0),  # an aggregate of HAVING does not count
    "SELECT COUNT(*) FROM t GROUP BY a HAVING COUNT(*) > 1 AND SUM(b) > 2": (1, 0, 1),  # its AND does
    "SELECT COUNT(*) FROM t WHERE a NOT IN (1, 2)": (1, 0, 1),  # NOT does
    "SELECT COUNT(*) FROM t WHERE a IS NOT NULL": (1, 0, 0),  # but not this one
    "SELECT a FROM t WHERE b IN (SELECT c FROM u WHERE d IN (SELECT e FROM v))": (1, 1, 0),
    "SELECT a FROM t WHERE b > (SELECT AVG(b) FROM t) AND c < (SELECT AVG(c) FROM t)": (1, 2, 1),
    "SELECT a FROM t WHERE b IN (SELECT c FROM u UNION SELECT d FROM v)": (1, 1, 0),
    "SELECT a FROM t WHERE b = 1 EXCEPT SELECT a FROM t WHERE c = 2 OR d = 3 ORDER BY a": (1, 1, 0),
    "SELECT a FROM t UNION SELECT a FROM u UNION SELECT a FROM v": (0, 1, 0),
    "SELECT a FROM (SELECT b AS a FROM t WHERE c = 1)": (0, 0, 0),
}
"""Query: clauses, nested, several."""


@pytest.mark.parametrize("query", COUNTED, ids=range(len(COUNTED)))
def test_what_the_rule_counts(query):
    assert counts(query) == Counts(*COUNTED[query])


@pytest.mark.parametrize("text", ["SELEC a FROM", "DELETE FROM t", ""], ids=["typo", "delete", "empty"])
def test_what_is_no_select_has_no_hardness(text):
    with pytest.raises(TaskError, match="hardness"):
        hardness(text)
