"""What the Race tab shows, and when."""

from collections.abc import Iterator, Sequence
from contextlib import closing
from html import escape
from typing import Any, NamedTuple

from dsbd.assets import asset_path
from dsbd.contest.records import Progress, Race, load_race
from dsbd.errors import DsbdError, SettingsError, StoppedError
from dsbd.settings import DecodingSettings
from visualize import race_figure
from visualize.race import label_of

from ..asked.form import FIELDS, plain_value
from ..decodes import messages
from ..engine import Engine
from ..jobs import race_of
from ..runs.around import BUSY, KEEP, READY
from ..runs.sentences import alert, sentence
from .choice import grid_of, racers_of_page
from .markup import race_markup
from .questions import Asked, asked_of, task_of, whole

LIMIT = "evaluate_seconds"
"""The setting that limits the time of a race."""
RECORDED_RACES = {"bundled/target": "stories", "bundled:sql/target": "sql"}
"""Names of the files in ``assets/races``, by target model."""
MEASURED = "Measured here, now: after a warm-up the decoders took turns, {runs}. A lane is the run of middle time."
UNFINISHED = "Shown is what ran until then."
RECORDED = "A recorded race, measured on {machine}; nothing has run here yet. Press Race."
BEFORE = "What stands below is from before this race."
NOTHING = (
    "Nothing has run yet. Press Race: after a warm-up the decoders take turns, so that a slow minute hits all. Then "
    "lanes on one clock show what each was busy with, and a table how fast and how good it was."
)


class Frame(NamedTuple):
    """The next state of the tab, in the order of its outputs."""

    stage: Any = KEEP
    charts: Any = KEEP
    note: Any = KEEP
    problem: Any = ""
    run: Any = KEEP
    stop: Any = KEEP


def opening(target: str) -> tuple[str, str, str]:
    """Return stage, charts and note before anything has run: the recorded race of a target model, if there is one."""
    if target not in RECORDED_RACES:
        return "", "", NOTHING
    race = load_race(asset_path(f"races/{RECORDED_RACES[target]}.json"))
    machine = race.conditions.get("machine", {})
    named = f"{machine.get('gpu') or machine.get('processor') or 'another machine'}, {machine.get('threads')} threads"
    return race_markup(race, task_of(target), is_recorded=True), charts(race), RECORDED.format(machine=escape(named))


def run(
    engine: Engine,
    session: str,
    pair: str,
    source: Any,
    prompt: Any,
    own: Any,
    count: Any,
    racers: Any,
    more: Any,
    runs: Any,
    grid: Any,
    max_new_tokens: Any,
    *values: Any,
) -> Iterator[Frame]:
    """Race on the pair of this key; yield a frame for every run, the last with lanes, texts, table and scatter."""
    latest = asked = None
    try:
        with engine.visit(session, LIMIT) as stop:
            asked = asked_of(source, prompt, own, count, engine.pairs.target_id(pair), engine.limits)
            names = [name for group in (racers, more) for name in _names(group)]
            contenders = racers_of_page(names, shared_settings(values, max_new_tokens), grid_of(grid))
            job = race_of(engine.limits, asked.prompts, contenders, whole("runs", runs), pair, asked.task)
            with closing(engine.run(job, stop)) as steps:
                for step in steps:
                    if isinstance(step, Race):
                        latest = step
                    else:
                        yield going(step)
            assert latest is not None, "it is the last step"
            yield shown(latest, asked, MEASURED.format(runs=_times(latest)))
    except StoppedError as error:
        if latest is None or asked is None:
            yield Frame(note=f"{error} Nothing had run yet.", **READY)
        else:
            yield shown(latest, asked, f"{error} {UNFINISHED}")
    except DsbdError as error:
        yield Frame(note="", problem=alert(sentence(error)), **READY)


def _names(group: Any) -> Sequence[Any]:
    if not isinstance(group, (list, tuple)):
        raise SettingsError(f"decoders is a {type(group).__name__}; give a list of names")
    return group


def _times(race: Race) -> str:
    rounds, prompts = race.rounds, len(race.prompts)
    times = "once" if rounds == 1 else f"{rounds} times"
    return times if prompts == 1 else f"{times} on each of {prompts} questions"


def going(progress: Progress) -> Frame:
    who = "trying out forests for auto" if progress.doing == "auto" else escape(label_of(progress.name))
    bar = f'<progress value="{progress.done}" max="{progress.total}" aria-label="Runs done"></progress>'
    said = f"{progress.done} of {progress.total} runs done: {who}. {BEFORE}"
    return Frame(note=f"{bar}<span>{said}</span>", **BUSY)


def shown(race: Race, asked: Asked, note: str) -> Frame:
    """Everything that some runs have to show."""
    return Frame(race_markup(race, asked.task), charts(race), note, **READY)


def charts(race: Race) -> str:
    """Return the scatter of quality against speed, as a message."""
    return messages.figures([(race_figure(race, theme="light"), race_figure(race, theme="dark"))])


def shared_settings(values: Sequence[Any], max_new_tokens: Any) -> DecodingSettings:
    """Return the settings of the Play tab, every field of it: each method reads its fields. Raises: SettingsError."""
    given = {field.name: plain_value(field, value) for field, value in zip(FIELDS, values, strict=True)}
    return DecodingSettings(**{**given, "max_new_tokens": max_new_tokens})
