"""The answers to a task's questions as markup: each decoder's query, right or wrong, its rows beside the right ones."""

from collections.abc import Sequence
from html import escape

from dsbd.evaluation.races import Answer, Race, Racer
from dsbd.tasks.records import Task
from dsbd.tasks.sql.execution import Row
from visualize.scenes.race import label_of
from visualize.scenes.tokens import flowing

from .task import rows_of

ROWS_SHOWN = 6
CELL = 40
"""Characters of a value."""


def answers_markup(race: Race, task: Task | None) -> str:
    """Every question, with the right answer and what each decoder answered first."""
    places = range(len(race.prompts))
    shown = next((place for place in places if _is_disputed(race.racers, place)), 0)
    parts = "".join(_question(race, task, place, is_open=place == shown) for place in places)
    return (
        '<section class="race-part"><h2>The answers</h2><p class="race-hint">A query is right if it gives the rows of '
        f"the right query on every database of the task. Shown: the first run of each.</p>{parts}</section>"
    )


def _is_disputed(racers: Sequence[Racer], place: int) -> bool:
    """True where some runs were right and some were wrong."""
    return len({answer.right for racer in racers for answer in racer.answers if answer.prompt == place}) > 1


def _question(race: Race, task: Task | None, place: int, *, is_open: bool) -> str:
    prompt = race.prompts[place]
    cards = [_card("Right answer", "gold", prompt.gold, "", task)]
    for racer in race.racers:
        own = [answer for answer in racer.answers if answer.prompt == place]
        if own:
            cards.append(_card(label_of(racer.name), *_verdict(own), task))
    return (
        f'<details class="race-question"{" open" if is_open else ""}><summary>{escape(short(prompt.text))} '
        f"<small>{_tally(race.racers, place)}</small></summary>"
        f'<div class="race-texts">{"".join(cards)}</div></details>'
    )


def _tally(racers: Sequence[Racer], place: int) -> str:
    own = [answer for racer in racers for answer in racer.answers if answer.prompt == place]
    return f"{sum(bool(answer.right) for answer in own)} of {len(own)} runs right"


def _verdict(own: Sequence[Answer]) -> tuple[str, str, str]:
    """The mark of the first answer, its query, and a line about it and its seeds."""
    first = own[0]
    right = sum(bool(answer.right) for answer in own)
    said = "Right" if first.right else f"Wrong: {first.reason or 'another answer'}"
    seeds = "" if len(own) == 1 else f" ({right} of {len(own)} seeds right)"
    return "right" if first.right else "wrong", first.answer, f"{said}{seeds}"


def _card(label: str, mark: str, query: str, said: str, task: Task | None) -> str:
    sign = {"right": "✓ ", "wrong": "✗ ", "gold": ""}[mark]
    line = f'<p class="race-mark {mark}">{sign}{escape(said)}</p>' if said else ""
    return (
        f'<article class="{mark}"><h3>{escape(label)}</h3>{line}<code dir="auto">{escape(flowing(query))}</code>'
        f"{rows_markup(rows_of(task, query))}</article>"
    )


def rows_markup(rows: Sequence[Row] | str | None) -> str:
    """A result table, or the error of its query."""
    if rows is None:
        return ""
    if isinstance(rows, str):
        return f'<p class="race-rows-note">No rows: {escape(flowing(rows))}</p>'
    if not rows:
        return '<p class="race-rows-note">No rows.</p>'
    shown = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows[:ROWS_SHOWN])
    more = len(rows) - ROWS_SHOWN
    rest = f'<p class="race-rows-note">and {more} more rows</p>' if more > 0 else ""
    return f'<div class="race-rows"><table><tbody>{shown}</tbody></table></div>{rest}'


def _cell(value: object) -> str:
    text = "NULL" if value is None else str(value)
    return escape(flowing(text if len(text) <= CELL else f"{text[:CELL]}…"))


def short(prompt: str) -> str:
    """The question of a task's prompt: its last line but one, without the mark before it."""
    lines = [line for line in prompt.splitlines() if line.strip()]
    return (lines[-2] if len(lines) > 1 else lines[-1] if lines else "").removeprefix("Q:").strip()
