"""The endpoint ``/evaluate``, a race for programs; and the sentence that tells callers of ``/compare`` to use it."""

from typing import Any

import gradio as gr

from dsbd.contest.records import Race
from dsbd.contest.task import Task
from dsbd.contest.tasks import OwnQuestions, load_task, questions_of
from dsbd.errors import SettingsError, StoppedError, TaskError

from ..engine import Engine
from ..host.limits import Limits
from ..jobs import race_of
from ..pairs.shelf import PAGE
from ..parts.wiring import ON_GPU, session_of
from ..runs.decode import check_pair, settings_from
from ..runs.sentences import in_sentences
from .answers import answer_records
from .choice import grid_of, racers_of_program
from .handlers import LIMIT
from .questions import check_questions, first_questions, whole

OWN = "jsonl"
TASKS = ("stories", "sql", OWN)
SQL_PAIR = "bundled:sql"
GONE = (
    "/compare is gone; call /evaluate, which compares decoders too: "
    'task "jsonl", examples [{"prompt": "Once upon a time"}], methods ["dsbd", "beam_sampling"].'
)


def offer_evaluate(engine: Engine) -> None:
    """Add the endpoint to the page that is being built."""

    def evaluate(
        request: gr.Request,
        task: str,
        methods: list[str],
        questions: int = 10,
        seeds: int = 1,
        grid: dict[str, list[float]] | None = None,
        settings: dict[str, Any] | None = None,
        examples: list[dict[str, Any]] | None = None,
        pair: str = PAGE,
    ) -> dict[str, Any]:
        """Let decoders answer the questions of a task, or your prompts, and compare their answers and their speed.

        Args:
            task: "stories"; "sql", which its bundled pair answers; or "jsonl" for ``examples``.
            methods: such as "beam_sampling", "dsbd:same-law" and "dsbd" (dynamic width).
            questions: how many, the first of the task.
            seeds: how often every question is asked.
            grid: one setting and its values, such as {"width_threshold": [0.5, 0.9]}.
            settings: fields of DecodingSettings by name, for every method that reads them.
            examples: with task "jsonl": objects with ``prompt``, and all or none with ``references``.
            pair: "page", "bundled:stories" or "bundled:sql".

        Returns:
            ``complete`` (false where the time limit was reached), ``tables`` by task (a row for each decoder with
            means, 95 % intervals and differences), and ``answers``, one for each run.
        """
        with in_sentences(), engine.visit(session_of(request), LIMIT) as stop:
            chosen = _task(task, examples, engine.limits)
            asked, key = first_questions(chosen, questions), SQL_PAIR if task == "sql" else check_pair(pair)
            racers = racers_of_program(methods, _values(settings, chosen, engine.limits) | grid_of(grid))
            job = race_of(engine.limits, asked.prompts, racers, whole("seeds", seeds), key, asked.task)
            race = None
            try:
                for step in engine.run(job, stop):
                    race = step if isinstance(step, Race) else None
            except StoppedError:
                if stop.is_revoked or race is None:
                    raise
            assert race is not None, "it is the last step"
        tables = {chosen.name: _plain_table(race)}
        return {"complete": race.complete, "tables": tables, "answers": answer_records(race)}

    def compare() -> None:
        raise gr.Error(GONE, print_exception=False)

    gr.api(evaluate, api_name="evaluate", **ON_GPU)
    gr.api(compare, api_name="compare", api_visibility="undocumented")


def _plain_table(race: Race) -> dict[str, Any]:
    plain = race.to_dict()
    table = {name: plain[name] for name in ("metric", "higher_is_better", "baseline")}
    return table | {"rows": [racer["row"] for racer in plain["racers"]]}


def _task(task: Any, examples: Any, limits: Limits) -> Task:
    if task not in TASKS:
        raise SettingsError(f"task is {str(task)[:60]!r}; choose among {', '.join(TASKS)}")
    if task != OWN:
        return load_task(task)
    if not isinstance(examples, list) or not examples:
        raise TaskError('examples is a list of objects such as {"prompt": "Q: …", "references": ["…"]}')
    return OwnQuestions(check_questions(questions_of("examples", list(enumerate(examples, 1))), limits))


def _values(settings: Any, task: Task, limits: Limits) -> dict[str, list[Any]]:
    """The settings that a program gives; the number of tokens is the task's unless it is given."""
    checked = settings_from(settings, limits)
    given = {name: [getattr(checked, name)] for name in settings or {} if name != "method"}
    return {"max_new_tokens": [task.max_new_tokens]} | given
