"""Questions to SQL: scored by execution, against slow twins, chance, and the official comparison; hardness by hand."""

import gzip
import json
import random
from itertools import permutations

import pytest

from dsbd.contest import sql
from dsbd.contest.hardness import Counts, counts, hardness
from dsbd.contest.sql import DATABASES, SPIDER_HEAD, Library, Spider, normalised, orders_rows, same_rows
from dsbd.contest.tasks import load_task
from dsbd.errors import TaskError
from tests.contest.made_up import chance, mean_score, write_database

BOOKS = [
    {"id": "q1", "question": "How many books?", "sql": "SELECT COUNT(*) FROM books", "skeleton": "count"},
    {"id": "q2", "question": "How many titles?", "sql": "SELECT COUNT(title) FROM books", "skeleton": "count"},
    {"id": "q3", "question": "Titles by length?", "sql": "SELECT title FROM books ORDER BY pages", "skeleton": "order"},
    {"id": "q4", "question": "The titles?", "sql": "SELECT title FROM books", "skeleton": "projection"},
    {"id": "q5", "question": "Mean length?", "sql": "SELECT AVG(pages) FROM books", "skeleton": "average"},
]
"""q1 and q2 have the same answer everywhere; the rows of q3 answer q4 too, but not the other way round."""
SCHEMA = {
    "db_id": "shop",
    "table_names_original": ["books", "shelves"],
    "column_names_original": [[-1, "*"], [0, "book_id"], [0, "title"], [0, "pages"], [1, "book_id"], [1, "place"]],
    "column_types": ["text", "number", "text", "number", "number", "text"],
    "primary_keys": [1],
    "foreign_keys": [[4, 1]],
}
SHOP = [
    {"db_id": "shop", "question": "How many books?", "query": "SELECT count(*) FROM books"},
    {"db_id": "shop", "question": "How many  titles?", "query": "SELECT count(title) FROM books ;"},
    {"db_id": "shop", "question": "Titles and pages?", "query": "SELECT title, pages FROM books"},
    {"db_id": "shop", "question": "In order?", "query": "SELECT title, pages FROM books ORDER BY pages"},
    {"db_id": "attic", "question": "Pages?", "query": "SELECT pages FROM books WHERE pages > 150"},
]


def write_library(folder):
    (folder / "databases").mkdir()
    for place, name in enumerate(DATABASES):
        write_database(folder / "databases" / f"{name}.sqlite", [300 + place, 200, 100 + place, 400])
    lines = [
        json.dumps({**one, "prompt": f"Q: {one['question']}", "hardness": "easy", "split": "iid"}) for one in BOOKS
    ]
    (folder / "test.jsonl").write_text("\n".join(lines) + "\n", encoding="utf-8")
    return folder


def write_spider(folder, packed=False):
    for name, pages in (("shop", [200, 100, 300]), ("attic", [100, 200, 200])):
        (folder / "database" / name).mkdir(parents=True)
        write_database(folder / "database" / name / f"{name}.sqlite", pages)
    for name, content in (("dev.json", SHOP), ("tables.json", [SCHEMA, {**SCHEMA, "db_id": "attic"}])):
        raw = json.dumps(content).encode()
        (folder / (f"{name}.gz" if packed else name)).write_bytes(gzip.compress(raw) if packed else raw)
    return folder


@pytest.fixture(scope="module")
def folders(tmp_path_factory):
    return write_library(tmp_path_factory.mktemp("library")), write_spider(tmp_path_factory.mktemp("spider"))


@pytest.fixture(scope="module")
def tasks(folders):
    return {"library": Library("test", folders[0]), "spider": Spider(folders[1])}


@pytest.mark.parametrize("name", ["library", "spider"])
def test_right_answers_score_all_and_shuffled_ones_what_chance_gives(tasks, name):
    """By chance: each of 5 gets its own answer 1 time in 5; the two counts swap; rows in order answer any order."""
    assert (mean_score(tasks[name]), mean_score(tasks[name], metric="exact_match")) == (1.0, 1.0)
    assert chance(tasks[name]) == pytest.approx((5 + 2 + 1) / 25)
    assert chance(tasks[name], "exact_match") == pytest.approx(5 / 25)


@pytest.mark.parametrize(
    ("task", "id", "answer", "reason"),
    [
        ("library", "q1", "SELECT 4", ""),
        ("library", "q4", "SELECT title FROM books ORDER BY title DESC", ""),
        ("library", "q3", "SELECT title FROM books", "other rows on library"),
        ("library", "q5", "SELECT 250.0", "other rows on sibling-1"),
        ("library", "q5", "SELECT AVG(pages), 1 FROM books", "other rows on library"),
        ("library", "q5", "SELECT AVG(page) FROM books", "error: no such column: page"),
        ("spider", "spider-2", "SELECT pages, title FROM books", ""),
        ("spider", "spider-3", "SELECT pages, title FROM books ORDER BY pages", ""),
        ("spider", "spider-3", "SELECT title, pages FROM books ORDER BY pages DESC", "other rows"),
        ("spider", "spider-4", "SELECT pages FROM books WHERE pages > = 200", ""),
        ("spider", "spider-4", "SELECT DISTINCT pages FROM books WHERE pages > 150", "other rows"),
        ("spider", "spider-4", "SELECT page FROM books", "error: no such column: page"),
    ],
)
def test_answers_are_scored_by_their_rows(tasks, task, id, answer, reason):
    """Catches luck on one database, a comparison of sets or of columns in order, and a reason that is lost."""
    question = next(one for one in tasks[task].questions() if one.id == id)
    metrics, said = tasks[task].score(question, answer)
    assert (metrics["execution_accuracy"], said) == (float(not reason), reason)


def test_prompts_and_what_results_are_split_by(tasks, folders, tmp_path, monkeypatch):
    """Catches packed files that are read otherwise, and a schema that is cut within a table."""
    ordered = {one.id: one for one in tasks["library"].questions()}["q3"]
    assert (dict(ordered.fields), ordered.cluster) == (
        {"split": "iid", "hardness": "easy", "skeleton": "order"},
        "order",
    )
    question = {one.id: one for one in tasks["spider"].questions()}["spider-1"]
    books = "books (book_id number, title text, pages number; key book_id)\n"
    shelves = "shelves (book_id number, place text; book_id refers to books.book_id)\n"
    assert question.prompt == f"{SPIDER_HEAD}{books}{shelves}Question: How many titles?\nSQL:"
    assert question.references == ("SELECT count(title) FROM books",)
    assert (question.cluster, dict(question.fields)) == ("shop", {"db_id": "shop", "hardness": "easy"})
    fitted = tasks["spider"].fit(question, len, len(question.prompt) - 10)
    assert fitted == f"{SPIDER_HEAD}{books}Question: How many titles?\nSQL:"
    assert tasks["spider"].answer(" SELECT 1\nFROM books; SELECT 2") == "SELECT 1\nFROM books"
    assert Spider(write_spider(tmp_path, packed=True)).questions() == tasks["spider"].questions()
    monkeypatch.setattr(sql, "hub_folder", lambda hub_id, patterns: folders[1])
    assert Spider("owner/name").questions() == tasks["spider"].questions()


def test_a_right_query_that_fails_is_named(tmp_path):
    """Of the bundled task it is an error; in Spider the question counts as wrong, and the reason says why."""
    write_library(tmp_path)
    broken = json.dumps(BOOKS[0] | {"sql": "SELECT x FROM y", "prompt": "", "split": "", "hardness": ""})
    (tmp_path / "test.jsonl").write_text(broken, encoding="utf-8")
    task = load_task("sql", tmp_path)
    with pytest.raises(TaskError, match=r"the right query 'SELECT x FROM y' fails on .*: no such table: y"):
        task.score(task.questions()[0], "SELECT 1")
    write_spider(tmp_path)
    (tmp_path / "dev.json").write_text(json.dumps([{**SHOP[0], "query": "SELECT cover FROM books"}]))
    spider = Spider(tmp_path)
    metrics, reason = spider.score(spider.questions()[0], "SELECT 1")
    assert (metrics["execution_accuracy"], reason) == (0.0, "the right query fails: no such column: cover")


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda folder: (folder / "dev.json").unlink(), r"has no dev\.json and no dev\.json\.gz; give a folder"),
        (lambda folder: (folder / "tables.json").write_text("[]"), "not in the format of Spider"),
        (lambda folder: (folder / "dev.json").write_text("[{}]"), "not in the format of Spider"),
        (lambda folder: (folder / "dev.json").write_text("[]"), "no questions"),
        (
            lambda folder: (folder / "dev.json").write_text(json.dumps([{**SHOP[0], "db_id": "../shop"}])),
            r"names the database '\.\./shop'",
        ),
        (lambda folder: (folder / "database/attic/attic.sqlite").unlink(), r"has no attic/attic\.sqlite"),
    ],
)
def test_damaged_data_of_spider_is_an_error(change, message, tmp_path):
    change(write_spider(tmp_path))
    with pytest.raises(TaskError, match=message):
        Spider(tmp_path)


def test_damaged_data_of_the_library_is_an_error(tmp_path):
    with pytest.raises(TaskError, match=r"needs .*test\.jsonl, which is not there; leave the path out"):
        load_task("sql", tmp_path)
    (write_library(tmp_path) / "validation.jsonl").write_text(json.dumps({"id": "a", "prompt": "b"}))
    with pytest.raises(TaskError, match=r"validation\.jsonl, line 1: there is no 'sql'; it must be a text"):
        load_task("sql_validation", tmp_path)


def slowly(gold, answer, ordered, any_columns):
    """The twin: some order of the columns and of the rows makes every value the same."""

    def close(left, right):
        if left is None or right is None or isinstance(left, str) or isinstance(right, str):
            return left == right
        return abs(left - right) <= (0 if isinstance(left, int) and isinstance(right, int) else 1e-6)

    if len(gold) != len(answer):
        return False
    for columns in permutations(range(len(answer[0]))) if answer and any_columns else [None]:
        turned = answer if columns is None else [tuple(row[column] for column in columns) for row in answer]
        for rows in [turned] if ordered else permutations(turned):
            if all(len(a) == len(b) and all(map(close, a, b)) for a, b in zip(gold, rows, strict=True)):
                return True
    return False


def tables(seed):
    """Return a table, and one like it: shuffled, turned, with noise, with a row changed, or shorter."""
    draw, values = random.Random(seed), [None, 0, 1, 1.0, 1.0 + 5e-7, 1.0 + 5e-6, "1", "a", -2.5]
    count, width = draw.randint(0, 4), draw.randint(1, 3)
    gold = [tuple(draw.choice(values) for _ in range(width)) for _ in range(count)]
    answer = draw.sample(gold, count) if draw.random() < 0.5 else list(gold)
    if draw.random() < 0.5:
        columns = draw.sample(range(width), width)
        answer = [tuple(row[column] for column in columns) for row in answer]
    if draw.random() < 0.4:
        answer = [tuple(x + 1e-7 if isinstance(x, float) else x for x in row) for row in answer]
    if answer and draw.random() < 0.4:
        place = draw.randrange(count)
        answer[place] = tuple(draw.choice(values) for _ in range(width)) if draw.random() < 0.5 else answer[0]
    if answer and draw.random() < 0.1:
        answer.pop()
    return gold, answer


@pytest.mark.parametrize("ordered", [False, True], ids=["any order", "ordered"])
@pytest.mark.parametrize("any_columns", [False, True], ids=["columns in order", "any columns"])
def test_the_comparison_is_its_slow_twin(ordered, any_columns):
    """Catches a comparison of sets, a row paired twice, and columns turned in each row by itself."""
    outcomes = []
    for seed in range(600):
        gold, answer = tables(seed)
        same = same_rows(gold, answer, ordered=ordered, any_columns=any_columns)
        assert same == slowly(gold, answer, ordered, any_columns), (gold, answer)
        outcomes.append(same)
    assert 0.1 < sum(outcomes) / len(outcomes) < 0.9


@pytest.mark.parametrize(
    ("gold", "answer", "same"),
    [
        ([(b"a",)], [("a",)], False),
        ([(10**12,)], [(10**12 + 1,)], False),
        ([(1e12,)], [(1e12 + 1,)], True),
        ([(float("inf"),)], [(float("inf"),)], True),
        ([], [(1,)], False),
    ],
)
def test_values_that_the_twin_does_not_meet(gold, answer, same):
    assert same_rows(gold, answer, ordered=False) is same


def test_many_columns_do_not_take_long():
    """Catches a search over all orders of ten columns."""
    gold = [tuple(f"{row * column % 7}" for column in range(10)) for row in range(50)]
    assert same_rows(gold, [row[::-1] for row in gold], ordered=False, any_columns=True)
    assert not same_rows(gold, [(*row[1:], "x") for row in gold], ordered=False, any_columns=True)


@pytest.mark.parametrize(
    ("left", "right", "same"),
    [
        ("SELECT a FROM t", "select  A\nfrom T ;", True),
        ("SELECT COUNT( * ) FROM t", "SELECT COUNT(*) FROM t", True),
        ("SELECT a FROM t WHERE b<>1", "SELECT a FROM t WHERE b != 1", True),
        ("SELECT t1.a FROM t", "SELECT t1 . a FROM t", True),
        ("SELECT a FROM t WHERE b = 'X'", "SELECT a FROM t WHERE b = 'x'", False),
        ("SELECT a FROM t WHERE b = 'x  y'", "SELECT a FROM t WHERE b = 'x y'", False),
        ("SELECT a FROM t WHERE b > 1.5", "SELECT a FROM t WHERE b > 15", False),
        ("SELECT 'it''s'", "SELECT 'it' 's'", False),
    ],
)
def test_spaces_and_case_do_not_count_outside_quotes(left, right, same):
    assert (normalised(left) == normalised(right)) is same


@pytest.mark.parametrize(
    ("query", "ordered"),
    [
        ("SELECT a FROM t order\n by a DESC LIMIT 3", True),
        ("SELECT a FROM t WHERE b = (SELECT MAX(b) FROM t) ORDER BY a", True),
        ("SELECT a FROM t WHERE b IN (SELECT b FROM u ORDER BY c LIMIT 1)", False),
        ("SELECT a FROM t WHERE b = 'order by'", False),
        ("SELECT a FROM t)) ORDER BY a", False),
    ],
)
def test_only_an_order_of_the_whole_query_counts(query, ordered):
    assert orders_rows(query) is ordered


DOCUMENTED = {
    "SELECT COUNT(*) FROM cars_data WHERE cylinders > 4": "easy",
    "SELECT country, COUNT(*) FROM cars_data GROUP BY country": "medium",
    "SELECT T1.country_name FROM countries AS T1 JOIN continents AS T2 ON T1.continent = T2.cont_id "
    "WHERE T2.continent = 'Europe' GROUP BY T1.country_name HAVING COUNT(*) >= 3": "hard",
    "SELECT AVG(life_expectancy) FROM country WHERE name NOT IN (SELECT T1.name FROM country AS T1 JOIN "
    "country_language AS T2 ON T1.code = T2.country_code WHERE T2.language = 'English' AND T2.official = 'T')": "extra",
}
"""Queries in the manner of the examples of the rule's authors, and the level that its formula gives."""
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


@pytest.mark.parametrize("query", [*DOCUMENTED, *COUNTED])
def test_hardness_by_hand(query):
    if query in DOCUMENTED:
        assert hardness(query) == DOCUMENTED[query]
    else:
        assert counts(query) == Counts(*COUNTED[query])


@pytest.mark.parametrize("text", ["SELEC a FROM", "DELETE FROM t", ""])
def test_what_is_no_select_has_no_hardness(text):
    with pytest.raises(TaskError, match="hardness"):
        hardness(text)
