"""The markup of a race: lanes on one clock, texts side by side, the table (``race.html``, which escapes every text)."""

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from markupsafe import Markup

from dsbd.bench.records import Race, load_race
from dsbd.bench.sql import QueryLimits, Row, run_query
from dsbd.bench.task import Task
from dsbd.bench.tasks import Library, load_task
from dsbd.errors import QueryError
from dsbd.util import SMOLLM2, asset_path
from visualize import race as drawing
from visualize.files import TEMPLATES
from visualize.race import label_of
from visualize.tokens import flowing
from visualize.words import Words

from .form import SQL

RECORDED = {SQL: "Questions to SQL", SMOLLM2: "Chat: a text to correct, guesses copied", "bundled:stories": "Stories"}
SHORTEST_PLAY = 5.0
"""Seconds that a race plays at least, unless it is even longer in truth: it is slowed down, and says so."""
ROWS_SHOWN, CELL = 6, 41
"""Rows of a result, and characters of a value."""


def race_markup(race: Race, task: Task | None, *, is_recorded: bool = False) -> str:
    """Return everything of a race but the scatter. A recorded race does not play by itself.

    With a task, the queries of the answers show their rows.
    """
    seconds = drawing.seconds_of(race)
    return TEMPLATES.get_template("page/race.html").render(
        race=race,
        task=task,
        is_recorded=is_recorded,
        seconds=seconds,
        slower=max(1.0, SHORTEST_PLAY / seconds),
        groups=drawing.groups_of(race),
        drawing=drawing,
        counted=Words().counted,
        rows_of=rows_of,
        rows_markup=rows_markup,
    )


def rows_markup(rows: Sequence[Row] | str | None, most: int = ROWS_SHOWN) -> Markup:
    """Return a result table, whose first row holds its headings, or the error of its query."""
    return Markup(TEMPLATES.get_template("page/rows.html").render(rows=rows, most=most, cell=CELL))


def question_line(prompt: str) -> str:
    """Return the question in a prompt: the line that begins with ``Q:``, else the first line."""
    lines = [line for line in prompt.splitlines() if line.strip()]
    questions = [line for line in lines if line.startswith("Q:")]
    return (questions or lines or [""])[0].removeprefix("Q:").strip()[:160]


@lru_cache
def recorded_race(pair: str) -> Race:
    """Return the race that comes with a pair of :data:`RECORDED`."""
    return load_race(asset_path(f"races/{pair.rpartition(':')[2]}.json"))


def describe_recorded(pair: str) -> str:
    """Return how fast guesses were in a pair's recorded race beside beam sampling, without a full stop."""
    race = recorded_race(pair)
    row = drawing.guessing_row(race)
    if row is None or row.ratio is None or row.ratio.low is None or row.ratio.high is None:
        return ""
    prompts = len(race.questions)
    where = f"on average over {prompts} prompts raced" if prompts > 1 else "raced on one prompt"
    return f"{where}: {drawing.describe_speed(row.ratio.low, row.ratio.high)}"


def paying_points() -> list[dict[str, Any]]:
    """Return for each recorded race the tokens that a pass brings, and its cost in passes without guesses."""
    named = ((words.partition(":")[0], drawing.guessing_row(recorded_race(pair))) for pair, words in RECORDED.items())
    return [
        {"title": title, "tokens": row.layers_per_iteration, "cost": row.layers_per_iteration / row.ratio.median}
        for title, row in named
        if row is not None and row.ratio is not None and row.layers_per_iteration
    ]


@lru_cache
def task_of(pair: str) -> Task:
    """Return the bundled task of a pair: questions to SQL for the pair that writes it, else stories."""
    return load_task("sql" if pair == SQL else "stories")


def rows_of(task: Task | None, query: str) -> list[Row] | str | None:
    """Return headings and rows of a query on the task's first database, or why it has none; None: no query is run."""
    if not isinstance(task, Library) or not query:
        return None
    try:
        return run_query(task.databases[0], query, QueryLimits(names=True))
    except QueryError as error:
        return str(error)


TEMPLATES.filters |= {"flowing": flowing, "label": label_of, "question": question_line}
