"""Handlers of the Race tab."""

import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from html import escape
from typing import Any, NamedTuple

from dsbd.assets import asset_path
from dsbd.errors import DsbdError, SettingsError, StoppedError
from dsbd.evaluation.race import RaceProgress, RaceRuns, make_race
from dsbd.evaluation.races import Race, read_race
from dsbd.settings import DecodingSettings
from dsbd.tasks.records import Question, Task
from visualize import race_figure
from visualize.scenes.race import label_of

from ..asked.form import FIELDS, check_prompt, plain_value
from ..decodes import messages
from ..engine import Engine
from ..jobs import race_of
from ..pairs.shelf import PAGE
from ..runs.around import BUSY, KEEP, READY
from ..runs.sentences import alert, sentence
from .choice import contenders_of
from .markup import empty_stage, race_markup
from .task import task_of

RECORDED_RACES = {"bundled/target": "stories", "bundled:sql/target": "sql"}
"""Names of the files in ``assets/races``, by target model."""
UNFINISHED = "The figures of an unfinished race are not shown."
MEASURED = (
    "Measured here, now: after a warm-up the decoders took turns, {runs}. The lanes are one run more of each, recorded."
)
RECORDED = "A recorded race, measured on {machine}; nothing has run here yet. Press Race."
BEFORE = "What stands below is from before this race."
NOTHING = "Nothing has run yet. Press Race: after a warm-up the decoders take turns, so that a slow minute hits all."


class Frame(NamedTuple):
    """The next state of the tab, in the order of its outputs."""

    stage: Any = KEEP
    charts: Any = KEEP
    note: Any = KEEP
    problem: Any = ""
    run: Any = KEEP
    stop: Any = KEEP


class Opening(NamedTuple):
    """What the tab shows before anything has run."""

    stage: str
    charts: str
    note: str


def opening(target: str) -> Opening:
    """The recorded race of a target model, or a plain picture of what will come."""
    path = asset_path(f"races/{RECORDED_RACES.get(target, target)}.json")
    if target not in RECORDED_RACES or not path.is_file():
        return Opening(empty_stage(), "", NOTHING)
    race = read_race(json.loads(path.read_text(encoding="utf-8")))
    note = RECORDED.format(machine=escape(_machine(race)))
    return Opening(race_markup(race, task_of(target), is_recorded=True), charts(race), note)


def _machine(race: Race) -> str:
    machine = race.conditions.get("machine", {})
    return f"{machine.get('gpu') or machine.get('processor') or 'another machine'}, {machine.get('threads')} threads"


def ready(note: Any = KEEP, problem: Any = "") -> Frame:
    """The tab as it is, ready for the next race."""
    return Frame(note=note, problem=problem, **READY)


def run(
    engine: Engine,
    session: str,
    source: Any,
    prompt: Any,
    questions: Any,
    racers: Any,
    more: Any,
    runs: Any,
    max_new_tokens: Any,
    *values: Any,
    pair: str = PAGE,
) -> Iterator[Frame]:
    """Race; one frame per piece of progress, the last with lanes, texts, table and scatter."""
    try:
        with engine.visit(session, "compare_seconds") as stop:
            contenders = contenders_of(chosen(racers, more), shared_settings(values, max_new_tokens))
            task = task_of(engine.pairs.target_id(pair)) if source == "task" else None
            asked = questions_of(task, questions) if task else ()
            prompts = [one.prompt for one in asked] or [check_prompt(prompt, engine.limits)]
            with closing(engine.run(race_of(engine.limits, prompts, contenders, whole(runs), pair), stop)) as steps:
                for progress in steps:
                    yield going(progress) if progress.runs is None else done(progress.runs, task, asked)
    except StoppedError as error:
        yield ready(f"{error} {UNFINISHED}")
    except DsbdError as error:
        yield ready("", alert(sentence(error)))


def going(progress: RaceProgress) -> Frame:
    """A race on its way."""
    who = escape(label_of(progress.name)) if progress.name else "trying out forests for auto"
    bar = f'<progress value="{progress.done}" max="{progress.total}" aria-label="Runs done"></progress>'
    said = f"Run {progress.done} of {progress.total}, warm-up and lanes included: {who}. {BEFORE}"
    return Frame(note=f"{bar}<span>{said}</span>", **BUSY)


def done(raced: RaceRuns, task: Task | None, questions: Sequence[Question]) -> Frame:
    """Everything a race has to show."""
    race = make_race(raced, task, questions)
    times = "once" if race.rounds == 1 else f"{race.rounds} times"
    on = "" if len(race.prompts) == 1 else f" on each of {len(race.prompts)} questions"
    frame = ready(MEASURED.format(runs=f"{times}{on}"))
    return frame._replace(stage=race_markup(race, task), charts=charts(race))


def charts(race: Race) -> str:
    """The scatter of quality against speed."""
    return messages.figures([(race_figure(race, theme="light"), race_figure(race, theme="dark"))])


def shared_settings(values: Sequence[Any], max_new_tokens: Any) -> DecodingSettings:
    """The settings of the Play tab, every field of it: each method reads its own. Raises: SettingsError."""
    given = {field.name: plain_value(field, value) for field, value in zip(FIELDS, values, strict=True)}
    return DecodingSettings(**{**given, "max_new_tokens": max_new_tokens})


def questions_of(task: Task, ids: Any) -> tuple[Question, ...]:
    """The chosen questions, in the task's order. Raises: SettingsError."""
    by_id = {question.id: question for question in task.questions()}
    if not isinstance(ids, (list, tuple)) or not ids:
        raise SettingsError("no question is chosen; choose one or more, or take your own prompt")
    for one in ids:
        if one not in by_id:
            raise SettingsError(f"question is {one!r}; choose among those of the list")
    return tuple(question for id, question in by_id.items() if id in ids)


def chosen(*groups: Any) -> list[Any]:
    """The decoders of all groups. Raises: SettingsError."""
    for group in groups:
        if not isinstance(group, (list, tuple)):
            raise SettingsError(f"decoders is a {type(group).__name__}; give a list of names")
    return [name for group in groups for name in group]


def whole(runs: Any) -> int:
    """The number of runs. Raises: SettingsError."""
    if isinstance(runs, bool) or not isinstance(runs, int) or runs < 1:
        raise SettingsError(f"runs is {runs!r}; allowed are whole numbers from 1")
    return runs
