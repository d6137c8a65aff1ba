"""What the decoders wrote, question by question: as markup, and as a file to take away. Every text is escaped here."""

import base64
import json
from collections.abc import Sequence
from html import escape
from typing import Any

from dsbd.contest.records import Answer, Race
from dsbd.contest.sandbox import Row
from dsbd.contest.task import Task
from visualize.race import compared, label_of
from visualize.tokens import flowing

from .questions import rows_of

ROWS_SHOWN = 6
CELL = 40
"""Characters of a value."""
RIGHT = {
    "sql": "A query is right if it gives the rows of the right query on every database of the task.",
    "jsonl": "An answer is right if it is one of the right answers, whatever its case and its spaces.",
}


def is_scored(race: Race) -> bool:
    return any(answer.right is not None for racer in race.racers for answer in racer.answers)


def answers_markup(race: Race, task: Task | None) -> str:
    """Return every question, with what each decoder answered first. With a task, its queries show their rows."""
    if is_scored(race):
        title, hint = "The answers", f"{RIGHT.get(race.task or '', '')} Shown: the first run of each."
    else:
        other = f" Marked: what differs from {escape(label_of(race.baseline).lower())}." if race.baseline else ""
        title = "The texts"
        hint = (
            f"The first run of each, same seed.{other} Texts are drawn at random, so they differ even where the law is "
            "the same."
        )
    places = range(len(race.prompts))
    shown = next((place for place in places if _is_disputed(race, place)), 0)
    parts = "".join(_question(race, task, place, is_open=place == shown) for place in places)
    return (
        f'<section class="race-part"><h2>{title}</h2><p class="race-hint">{hint} {_download(race)}</p>{parts}</section>'
    )


def answer_records(race: Race) -> list[dict[str, Any]]:
    """Return every run as plain data: decoder, prompt, seed and text; with a task also answer and right or wrong."""
    found = []
    for racer in race.racers:
        for one in racer.answers:
            prompt = race.prompts[one.prompt]
            record = {"decoder": racer.name, "prompt": prompt.text, "seed": one.seed, "text": one.text}
            if one.right is not None:
                record |= {"answer": one.answer, "gold": prompt.gold, "right": one.right, "reason": one.reason}
            found.append(record)
    return found


def _download(race: Race) -> str:
    """A link that contains the file, so that the server need not keep it."""
    lines = "".join(json.dumps(record) + "\n" for record in answer_records(race))
    packed = base64.b64encode(lines.encode()).decode()
    return f'<a download="race.jsonl" href="data:application/jsonl;base64,{packed}">All answers as JSON lines</a>'


def _is_disputed(race: Race, place: int) -> bool:
    """True where some runs were right and some were wrong."""
    return len({answer.right for _, answers in _answers(race, place) for answer in answers}) > 1


def _answers(race: Race, place: int) -> list[tuple[str, list[Answer]]]:
    """The answers of each decoder to a prompt; decoders without an answer are left out."""
    each = [(racer.name, [one for one in racer.answers if one.prompt == place]) for racer in race.racers]
    return [(name, answers) for name, answers in each if answers]


def _question(race: Race, task: Task | None, place: int, *, is_open: bool) -> str:
    prompt, answers = race.prompts[place], _answers(race, place)
    base = next((own[0].text for name, own in answers if name == race.baseline), None)
    cards = [_scored_card("Right answer", "gold", prompt.gold, "", task)] if prompt.gold else []
    for name, own in answers:
        if own[0].right is None:
            cards.append(_text_card(label_of(name), own[0].text, base))
        else:
            cards.append(_scored_card(label_of(name), *_verdict(own), task))
    texts = f'<div class="race-texts">{"".join(cards)}</div>'
    if len(race.prompts) == 1 and not prompt.gold:
        return texts
    every = [answer for _, own in answers for answer in own]
    right = sum(bool(answer.right) for answer in every)
    tally = f" <small>{right} of {len(every)} runs right</small>" if prompt.gold else ""
    return (
        f'<details class="race-question"{" open" if is_open else ""}><summary><span translate="no">'
        f"{escape(question_line(prompt.text))}</span>{tally}</summary>{texts}</details>"
    )


def _verdict(own: Sequence[Answer]) -> tuple[str, str, str]:
    """The mark of the first answer, the answer, and a line about it and its seeds."""
    first = own[0]
    right = sum(bool(answer.right) for answer in own)
    said = "Right" if first.right else f"Wrong: {first.reason or 'another answer'}"
    seeds = "" if len(own) == 1 else f" ({right} of {len(own)} seeds right)"
    return "right" if first.right else "wrong", first.answer, f"{said}{seeds}"


def _scored_card(label: str, mark: str, answer: str, said: str, task: Task | None) -> str:
    sign = {"right": "✓ ", "wrong": "✗ ", "gold": ""}[mark]
    line = f'<p class="race-mark {mark}">{sign}{escape(said)}</p>' if said else ""
    return (
        f'<article class="{mark}"><h3>{escape(label)}</h3>{line}<code dir="auto">{escape(flowing(answer))}</code>'
        f"{rows_markup(rows_of(task, answer))}</article>"
    )


def _text_card(label: str, text: str, base: str | None) -> str:
    pieces = ""
    for piece in compared(text, text if base is None else base):
        words = escape(flowing(piece.text))
        pieces += f"<mark>{words}</mark>" if piece.differs else words
    return f'<article><h3>{escape(label)}</h3><p dir="auto" translate="no">{pieces.strip()}</p></article>'


def rows_markup(rows: Sequence[Row] | str | None) -> str:
    """Return a result table, or the error of its query."""
    if rows is None:
        return ""
    if isinstance(rows, str):
        return f'<p class="race-rows-note">No rows: {escape(flowing(rows))}</p>'
    if not rows:
        return '<p class="race-rows-note">No rows.</p>'
    shown = "".join(f"<tr>{''.join(f'<td>{_cell(value)}</td>' for value in row)}</tr>" for row in rows[:ROWS_SHOWN])
    more = len(rows) - ROWS_SHOWN
    rest = f'<p class="race-rows-note">and {more} more rows</p>' if more > 0 else ""
    return f'<div class="race-rows" translate="no"><table><tbody>{shown}</tbody></table></div>{rest}'


def _cell(value: object) -> str:
    text = "NULL" if value is None else str(value)
    return escape(flowing(text if len(text) <= CELL else f"{text[:CELL]}…"))


def question_line(prompt: str) -> str:
    """Return the question in a prompt: the line that begins with ``Q:``, else the first line."""
    lines = [line for line in prompt.splitlines() if line.strip()]
    asked = [line for line in lines if line.startswith("Q:")]
    return (asked or lines or [""])[0].removeprefix("Q:").strip()[:160]
