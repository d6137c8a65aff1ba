"""Makes an exam of what a user names, and again of what a folder says was asked."""

from collections.abc import Mapping, Sequence
from typing import Any

from dsbd.errors import SettingsError
from dsbd.evaluation.records import Exam, TaskRun
from dsbd.measure.bench.contenders import OPPONENTS, Contender
from dsbd.settings import AUTO_FIELDS, DecodingSettings
from dsbd.tasks.records import Task
from dsbd.tasks.registry import TASKS, load_task

MAX_SEEDS = 1000
RESOLVED_FIELDS = (*AUTO_FIELDS, "depth_costs")
"""The settings that trials of ``auto`` may set."""


def make_exam(
    tasks: Sequence[str | Task],
    contenders: Sequence[Contender],
    *,
    data: Mapping[str, str] | None = None,
    limit: int | None = None,
    seeds: int = 1,
    max_new_tokens: int | None = None,
    chat: bool = False,
) -> Exam:
    """Return the exam.

    Args:
        tasks: names of :data:`dsbd.tasks.registry.TASKS`, or tasks of your own; each once.
        contenders: what decodes.
        data: where a task's data is, by the task's name; a task that is not named has bundled data.
        limit: only the first questions of each task, in the task's own order.
        seeds: how often every question is answered.
        max_new_tokens: instead of what each task allows.
        chat: apply the model's chat template.

    Raises:
        SettingsError: an unknown or repeated name, a number out of range, or data for a task that is not asked for.
        TaskError: a task's data is missing or damaged.
    """
    names = [task if isinstance(task, str) else task.name for task in tasks]
    _require_tasks(names, tasks, data or {})
    _require_count("limit", limit, None)
    _require_count("seeds", seeds, MAX_SEEDS)
    runs = []
    for name, task in zip(names, tasks, strict=True):
        place = (data or {}).get(name)
        asked = load_task(task, place) if isinstance(task, str) else task
        runs.append(_run(name, asked, place, limit, max_new_tokens))
    return Exam(tuple(runs), tuple(contenders), seeds, limit, chat)


def exam_of(head: Mapping[str, Any], tasks: Sequence[Task] = ()) -> Exam:
    """Return the exam that the head of a folder asks for, with ``auto`` as it was resolved.

    Args:
        head: of :class:`~dsbd.evaluation.store.Store`.
        tasks: tasks of your own that were asked; the others are loaded again.

    Raises:
        SettingsError: the questions are not those that were asked.
        TaskError: a task's data is missing or damaged.
    """
    asked, own = head["asked"], {task.name: task for task in tasks}
    runs = []
    for name, facts in asked["tasks"].items():
        task = own.get(name) or load_task(name, facts["data"])
        run = _run(name, task, facts["data"], asked["limit"], facts["max_new_tokens"])
        if run.digest != facts["digest"]:
            raise SettingsError(
                f"the questions of task {name} are not those that were asked: its data has changed; bring back the "
                "data, or decode again into another folder"
            )
        runs.append(run)
    found = with_auto([_contender(name, facts) for name, facts in asked["contenders"].items()], head.get("auto", {}))
    return Exam(tuple(runs), found, asked["seeds"], asked["limit"], asked["chat"])


def auto_facts(contender: Contender) -> dict[str, Any]:
    """Return what a contender's ``auto`` resolved to, as plain data."""
    values = {name: getattr(contender.settings, name) for name in RESOLVED_FIELDS}
    return {"values": values, "reason": contender.auto_reason}


def with_auto(contenders: Sequence[Contender], facts: Mapping[str, Any]) -> tuple[Contender, ...]:
    """Return the contenders with what ``auto`` resolved to; see :func:`auto_facts`."""
    return tuple(_resolved(one, facts[one.name]) if one.name in facts else one for one in contenders)


def _resolved(contender: Contender, facts: Mapping[str, Any]) -> Contender:
    settings = DecodingSettings(**vars(contender.settings) | _tuples(facts["values"]))
    return Contender(contender.name, contender.method, settings, facts["reason"])


def _contender(name: str, facts: Mapping[str, Any]) -> Contender:
    values = dict(facts)
    method = values.pop("method")
    return Contender(name, method, DecodingSettings(**_tuples(values) | {"method": OPPONENTS.get(method, method)}))


def _tuples(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return values of settings as they were before they were JSON."""
    return {name: tuple(value) if isinstance(value, list) else value for name, value in values.items()}


def _run(name: str, task: Task, data: str | None, limit: int | None, max_new_tokens: int | None) -> TaskRun:
    questions = task.questions()
    length = task.max_new_tokens if max_new_tokens is None else max_new_tokens
    return TaskRun(name, task, data, tuple(questions[:limit]), len(questions), length)


def _require_tasks(names: Sequence[str], tasks: Sequence[str | Task], data: Mapping[str, str]) -> None:
    known = ", ".join(sorted(TASKS))
    if not names:
        raise SettingsError(f"tasks is empty; choose from {known}")
    for name, task in zip(names, tasks, strict=True):
        if isinstance(task, str) and name not in TASKS:
            raise SettingsError(f"tasks names {name!r}; choose from {known}")
    if len(set(names)) < len(names):
        raise SettingsError(f"tasks are {', '.join(names)}; name each once")
    for name in data:
        if name not in names:
            raise SettingsError(f"data is given for {name!r}, which is not asked for; tasks are {', '.join(names)}")


def _require_count(name: str, value: int | None, most: int | None) -> None:
    if value is None:
        return
    if isinstance(value, bool) or not isinstance(value, int) or value < 1 or (most is not None and value > most):
        raise SettingsError(f"{name} is {value!r}; allowed are whole numbers from 1{f' to {most}' if most else ''}")
