"""The markup of a race: lanes on one clock, texts side by side, the table. Every text is escaped here."""

from collections.abc import Callable, Sequence
from functools import lru_cache
from html import escape

from dsbd.contest.contenders import TRANSFORMERS
from dsbd.contest.records import Answer, Lane, Mean, Race, Racer, Ratio
from dsbd.contest.sql import Row, run_query
from dsbd.contest.task import Task
from dsbd.contest.tasks import Library, load_task
from dsbd.errors import QueryError
from visualize.race import (
    BUSY_WORDS,
    HEIGHT,
    MEANINGS,
    WIDTH,
    answers_said,
    bar_paths,
    busy_of,
    headline_of,
    label_of,
    lanes_of,
    led_by,
    meaning_of,
    passes_said,
    quality_said,
    seconds_of,
    tick_path,
)  # fmt: skip
from visualize.tokens import flowing
from visualize.words import Words

from .form import SQL
from .parts import figures_table

NOT_MEASURED = "<small>not measured</small>"
SHORTEST_PLAY = 5.0
"""Seconds that a race plays at least, unless it is even longer in truth: it is slowed down, and says so."""
ROWS_SHOWN = 6
CELL = 40
"""Characters of a value."""
RIGHT = {
    "sql": "A query is right if it gives the rows of the right query on every database of the task.",
    "jsonl": "An answer is right if it is one of the right answers, whatever its case and its spaces.",
}


def race_markup(race: Race, task: Task | None, *, is_recorded: bool = False) -> str:
    """Return everything of a race but the scatter. A recorded race does not play by itself.

    With a task, the queries of the answers show their rows.
    """
    by_heat, seconds, lead = lanes_of(race), seconds_of(race), led_by(race)
    badge = '<span class="race-badge">recorded</span>' if is_recorded else ""
    plays = "" if is_recorded else " data-plays"
    means = f'<p class="race-means">{escape(meaning_of(race))}</p>'
    heats = "".join(
        f'<h3 class="race-heat">{heat.capitalize()}</h3>'
        f'<ol class="race-lanes">{"".join(_lane(race, *one) for one in lanes if one[0] not in (lead or ()))}</ol>'
        for heat, lanes in by_heat.items()
    )
    if lead is not None:
        first = "".join(_lane(race, racer, racer.lane) for racer in lead if racer.lane is not None)
        heats = (
            f'<ol class="race-lanes">{first}</ol>{_axis_and_legend(race)}'
            f'<details class="race-fold"><summary>How sure?</summary>{means}</details>'
            f'<details class="race-fold"><summary>The other decoders</summary>{heats}</details>'
        )
    else:
        heats = f"{means}{heats}{_axis_and_legend(race)}"
    return (
        f'<section class="{"race" if by_heat else "race-part"}" data-seconds="{seconds:.4f}"{plays} aria-label="Race">'
        f'<p class="race-asked" translate="no">{badge} {escape(question_line(race.prompts[0].text))}</p>'
        f'<h2 class="race-headline">{escape(headline_of(race)) or "The race"}</h2>'
        f"{_transport(seconds) + heats if by_heat else means}</section>{answers_markup(race, task)}{table_markup(race)}"
    )


def _transport(seconds: float) -> str:
    slower = max(1.0, SHORTEST_PLAY / seconds)
    return (
        f'<div class="race-transport" data-slower="{slower:.3f}">'
        '<button type="button" class="race-play">Play back</button>'
        '<input type="range" class="race-scrub" min="0" max="1000" value="1000" aria-label="Time of the race">'
        f'<output class="race-clock">{seconds:.2f} s</output><span class="race-said">'
        f"{'as measured' if slower == 1 else f'shown {slower:.0f} × slower than measured'}</span></div>"
    )


def _lane(race: Race, racer: Racer, ran: Lane) -> str:
    label, whole = label_of(racer.name), seconds_of(race)
    passes, tokens = len(ran.landings), sum(landing.tokens for landing in ran.landings)
    counted = Words().counted
    rest = f" in {counted('passes', passes)}" if ran.has_phases else "; passes not told apart"
    counts = counted("tokens", tokens) + rest
    said = " · ".join(filter(None, (passes_said(racer, race), answers_said(racer))))
    landed = "".join(
        f'<span data-at="{one.seconds / whole:.5f}" data-tokens="{one.tokens}">{escape(flowing(one.text))}</span>'
        for one in ran.landings
    )
    return (
        f'<li class="race-lane{" ours" if racer.row.method == "dsbd" else ""}" data-ends="{ran.seconds / whole:.5f}"'
        f"{'' if ran.has_phases else ' data-unphased'}>"
        f'<div class="race-head"><h4>{escape(label)}</h4><span class="race-said">{escape(said)}</span>'
        f'<span class="race-count">{escape(counts)} · {ran.seconds:.2f} s</span></div>'
        f"{_track(ran, whole, f'{label}: {ran.seconds:.2f} s, {counts}')}"
        f'<p class="race-landed" dir="auto" translate="no">{landed}</p>'
        f'<p class="race-meaning">{escape(MEANINGS.get(racer.name, ""))}</p></li>'
    )


def _track(lane: Lane, whole: float, said: str) -> str:
    """What a decoder is busy with, and where tokens land, on the clock."""
    paths = "".join(f'<path class="race-{busy}" d="{path}"/>' for busy, path in bar_paths(lane, whole).items())
    return (
        f'<div class="race-track"><svg viewBox="0 0 {WIDTH} {HEIGHT}" preserveAspectRatio="none" role="img" '
        f'aria-label="{escape(said)}">{paths}<path class="race-tick" d="{tick_path(lane, whole)}"/></svg></div>'
    )


def _axis_and_legend(race: Race) -> str:
    marks = "".join(f"<span>{seconds_of(race) * part / 4:.2f} s</span>" for part in range(5))
    items = "".join(f'<li><i class="race-{name}"></i>{BUSY_WORDS[name]}</li>' for name in busy_of(race))
    tick = '<li><i class="race-tick"></i>tokens land; the longer the tick, the more</li>'
    return f'<div class="race-axis" aria-hidden="true">{marks}</div><ul class="race-legend">{items}{tick}</ul>'


def table_markup(race: Race) -> str:
    """The figures, one row for each decoder."""
    columns: list[tuple[str, Callable[[Racer], str]]] = [
        ("Tokens/s", lambda racer: _mean(racer.row.tokens_per_second, 1, 0.0)),
        ("× beam sampling", lambda racer: "1" if racer.name == race.baseline else _mean(racer.ratio, 2, 0.0)),
        ("Large model's passes", lambda racer: _number(_passes(racer), 1)),
        ("Tokens a pass", lambda racer: _number(racer.row.layers_per_iteration, 2)),
        ("Perplexity", lambda racer: _mean(racer.row.perplexity, 2, 1.0)),
    ]
    if is_scored(race):
        columns.append(("Right", _right))
    rows = "".join(_row(racer, columns) for racer in race.racers)
    heads = ["Decoder", *(title for title, _ in columns)]
    over = "questions" if len(race.prompts) > 1 else "seeds"
    return (
        '<section class="race-part"><h2>The figures</h2>'
        f'<p class="race-hint">Means, with 95 % intervals over {over} in small type. Speed leaves the reading of the '
        "prompt out, passes count it. Perplexity is the large model's own view of a text: less is likelier.</p>"
        f"{figures_table('Figures of the race', heads, rows)}{_verdicts(race)}</section>"
    )


def _row(racer: Racer, columns: list[tuple[str, Callable[[Racer], str]]]) -> str:
    """One decoder; each cell holds its column's title, which stands beside it on a narrow screen."""
    cells = "".join(f'<td data-head="{title}">{cell(racer)}</td>' for title, cell in columns)
    ours = " class=ours" if racer.row.method == "dsbd" else ""
    return f'<tr{ours}><th scope="row">{escape(label_of(racer.name))}</th>{cells}</tr>'


def _verdicts(race: Race) -> str:
    """How good the answers were beside the baseline's; decoders of which the same is said share a line."""
    by_words: dict[str, list[str]] = {}
    for racer in race.racers:
        if said := quality_said(racer, race):
            by_words.setdefault(said, []).append(label_of(racer.name))
    if not by_words or race.baseline is None:
        return ""
    lines = "".join(f"<li>{escape('; '.join(labels))}: {escape(said)}.</li>" for said, labels in by_words.items())
    beside = escape(label_of(race.baseline).lower())
    return f'<p class="race-hint">Quality beside {beside}:</p><ul class="race-verdicts">{lines}</ul>'


def _mean(found: Mean | Ratio | None, digits: int, least: float) -> str:
    """A mean or median and its interval; it cannot be below ``least``."""
    if found is None:
        return NOT_MEASURED
    middle = f"{found.median if isinstance(found, Ratio) else found.mean:.{digits}f}"
    if found.low is None or found.high is None:
        return middle
    return f"{middle} <small>{max(found.low, least):.{digits}f} to {found.high:.{digits}f}</small>"


def _right(racer: Racer) -> str:
    told, share = f"{_rights(racer.answers)} of {len(racer.answers)}", racer.row.quality
    if share is None or share.low is None or share.high is None:
        return told
    return f"{told} <small>{100 * share.low:.0f} to {100 * share.high:.0f} %</small>"


def _rights(answers: Sequence[Answer]) -> int:
    return sum(bool(answer.right) for answer in answers)


def _passes(racer: Racer) -> float | None:
    """Passes without that of the prompt, which only in transformers brings a token."""
    calls = racer.row.target_calls
    return calls if calls is None or racer.row.method in TRANSFORMERS else calls - 1


def _number(value: float | None, digits: int) -> str:
    return NOT_MEASURED if value is None else f"{value:.{digits}f}"


def is_scored(race: Race) -> bool:
    return any(answer.right is not None for racer in race.racers for answer in racer.answers)


def answers_markup(race: Race, task: Task | None) -> str:
    """Return every question, with what each decoder answered first. With a task, its queries show their rows."""
    if is_scored(race):
        title, hint = "The answers", f"{RIGHT.get(race.task or '', '')} Shown: the first run of each."
    else:
        title = "The texts"
        hint = "The first run of each, same seed. Texts are drawn at random, so they differ even under one law."
    parts = "".join(_question(race, task, place, is_open=place == 0) for place in range(len(race.prompts)))
    return f'<section class="race-part"><h2>{title}</h2><p class="race-hint">{hint}</p>{parts}</section>'


def _answers(race: Race, place: int) -> list[tuple[str, list[Answer]]]:
    """The answers of each decoder to a prompt; decoders without an answer are left out."""
    each = [(racer.name, [one for one in racer.answers if one.prompt == place]) for racer in race.racers]
    return [(name, answers) for name, answers in each if answers]


def _question(race: Race, task: Task | None, place: int, *, is_open: bool) -> str:
    prompt, answers = race.prompts[place], _answers(race, place)
    cards = [_scored_card("Right answer", "gold", prompt.gold, "", task)] if prompt.gold else []
    for name, own in answers:
        if own[0].right is None:
            cards.append(_text_card(label_of(name), own[0].text))
        else:
            cards.append(_scored_card(label_of(name), *_verdict(own), task))
    texts = f'<div class="race-texts">{"".join(cards)}</div>'
    if len(race.prompts) == 1 and not prompt.gold:
        return texts
    every = [answer for _, own in answers for answer in own]
    tally = f" <small>{_rights(every)} of {len(every)} runs right</small>" if prompt.gold else ""
    return (
        f'<details class="race-question"{" open" if is_open else ""}><summary><span translate="no">'
        f"{escape(question_line(prompt.text))}</span>{tally}</summary>{texts}</details>"
    )


def _verdict(own: Sequence[Answer]) -> tuple[str, str, str]:
    """The mark of the first answer, the answer, and a line about it and its seeds."""
    first = own[0]
    said = "Right" if first.right else f"Wrong: {first.reason or 'another answer'}"
    seeds = "" if len(own) == 1 else f" ({_rights(own)} of {len(own)} seeds right)"
    return "right" if first.right else "wrong", first.answer, f"{said}{seeds}"


def _scored_card(label: str, mark: str, answer: str, said: str, task: Task | None) -> str:
    sign = {"right": "✓ ", "wrong": "✗ ", "gold": ""}[mark]
    line = f'<p class="race-mark {mark}">{sign}{escape(said)}</p>' if said else ""
    return (
        f'<article class="{mark}"><h3>{escape(label)}</h3>{line}<code dir="auto">{escape(flowing(answer))}</code>'
        f"{rows_markup(rows_of(task, answer))}</article>"
    )


def _text_card(label: str, text: str) -> str:
    return (
        f'<article><h3>{escape(label)}</h3><p dir="auto" translate="no">{escape(flowing(text)).strip()}</p></article>'
    )


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


@lru_cache
def task_of(pair: str) -> Task:
    """Return the bundled task of a pair: questions to SQL for the pair that writes it, else stories."""
    return load_task("sql" if pair == SQL else "stories")


def rows_of(task: Task | None, query: str) -> list[Row] | str | None:
    """Return the rows of a query on the task's first database, or why it has none; None where no query is run."""
    if not isinstance(task, Library) or not query:
        return None
    try:
        return run_query(task.databases[0], query)
    except QueryError as error:
        return str(error)
