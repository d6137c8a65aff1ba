"""Handlers of the Evaluate tab, and the endpoint for programs. Both run what ``python -m dsbd eval`` runs."""

import hashlib
import json
from collections.abc import Iterator, Sequence
from contextlib import closing
from html import escape
from pathlib import Path
from typing import Any, NamedTuple

import gradio as gr

from dsbd.errors import DsbdError, SettingsError, StoppedError, TaskError
from dsbd.evaluation.evaluation import Step
from dsbd.files import write_file
from dsbd.tasks.records import Question

from ..asked.evaluation import FIXED, OWN, Asked, contenders_of, own_questions, pair_of, tasks_of, write_questions
from ..engine import Engine
from ..host.limits import Limits
from ..jobs import evaluation
from ..pairs.shelf import PAGE
from ..runs.around import BUSY, KEEP, READY
from ..runs.decode import check_pair, settings_from
from ..runs.sentences import alert, in_sentences, sentence
from . import results as evaluate_results

QUESTIONS = "questions.jsonl"
LIMIT = "evaluate_seconds"
GOES_ON = "Press Evaluate again with the same choice to go on."
NOTHING_YET = "No decode was finished yet."


class Kept(NamedTuple):
    """What the visitor evaluates, and where it is kept."""

    asked: Asked
    folder: str


class Frame(NamedTuple):
    """The next state of the tab, in the order of its outputs."""

    table: Any = KEEP
    charts: Any = KEEP
    note: Any = KEEP
    problem: Any = ""
    run: Any = KEEP
    stop: Any = KEEP
    file: Any = KEEP
    kept: Any = KEEP


def ready(note: Any = KEEP, problem: Any = "") -> Frame:
    """The tab as it is, ready for the next evaluation."""
    return Frame(note=note, problem=problem, **READY)


def run(engine: Engine, session: str, pair: str, *choice: Any) -> Iterator[Frame]:
    """Evaluate on the pair of this key; one frame for every decode, the last with table, chart and file.

    ``choice``: task, name of the visitor's questions, methods, grid, its values, questions, seeds, new tokens,
    temperature, beams.
    """
    kept = None
    try:
        with engine.visit(session, LIMIT) as stop:
            kept = chosen(engine, session, pair, *choice)
            with closing(engine.run(evaluation(engine.limits, kept.asked, kept.folder), stop)) as steps:
                for step in steps:
                    yield going(step, kept)
        yield shown(kept, "Done. Every figure is measured here, now, on this machine.")
    except StoppedError as error:
        yield ready(str(error)) if kept is None else shown(kept, str(error))
    except DsbdError as error:
        yield ready("", alert(sentence(error)))


def chosen(
    engine: Engine,
    session: str,
    pair: str,
    task: Any,
    own: Any,
    methods: Any,
    grid: Any,
    values: Any,
    questions: Any,
    seeds: Any,
    new_tokens: Any,
    temperature: Any,
    beams: Any,
) -> Kept:
    """The visitor's choice, checked, and its folder. Raises: SettingsError, TaskError."""
    shared = {name: value for name, value in zip(FIXED, (temperature, beams), strict=True) if name != grid}
    contenders = contenders_of(methods, grid, values, shared)
    return _kept(engine, session, pair, task, own, contenders, questions, seeds, new_tokens or None)


def _kept(
    engine: Engine,
    session: str,
    pair: str,
    task: Any,
    own: Any,
    contenders: Sequence[Any],
    questions: Any,
    seeds: Any,
    new_tokens: Any,
) -> Kept:
    known = [name for _, name in tasks_of(engine.pairs)]
    if task not in known:
        raise SettingsError(f"task is {str(task)[:60]!r}; with these models choose from {', '.join(known)}")
    pair = pair_of(task, pair, engine.pairs)
    path = str(_own_path(engine, session, own)) if task == OWN else None
    asked = Asked(pair, task, path, tuple(contenders), questions, seeds, new_tokens)
    folder = engine.folders.of(session, {"pair": pair, **asked.exam().asked()})
    return Kept(asked, str(folder))


def bring_questions(engine: Engine, session: str, path: str | None) -> tuple[str | None, str, str]:
    """Take the visitor's own questions.

    Returns:
        Their name, what to say of them, and what was wrong, as markup.
    """
    if path is None:
        return None, "", ""
    try:
        questions = own_questions(path, engine.limits)
        return keep_questions(engine, session, questions), _said(questions), ""
    except DsbdError as error:
        return None, "", alert(sentence(error))


def keep_questions(engine: Engine, session: str, questions: Sequence[Question]) -> str:
    """Write questions to a folder of the visitor, and return the name to ask for them. Raises: DsbdError."""
    whole = json.dumps([(one.id, one.prompt, one.references) for one in questions])
    name = hashlib.sha256(whole.encode()).hexdigest()
    write_questions(questions, engine.folders.of(session, {"questions": name}) / QUESTIONS)
    return name


def _own_path(engine: Engine, session: str, name: Any) -> Path:
    if not isinstance(name, str):
        raise TaskError("there is no file of questions yet; upload a .jsonl or .csv file, or choose another task")
    path = engine.folders.of(session, {"questions": name}) / QUESTIONS
    if not path.is_file():
        raise TaskError("the file of questions has expired on this page; upload it again")
    return path


def _said(questions: Sequence[Question]) -> str:
    count = "1 question" if len(questions) == 1 else f"{len(questions):,} questions"
    kind = "with right answers" if questions[0].references else "without right answers: perplexity is measured"
    first = " ".join(questions[0].prompt.split())
    return f'<p role="status">{count}, {kind}. The first: “{escape(first[:120])}”</p>'


def going(step: Step, kept: Kept) -> Frame:
    """An evaluation on its way."""
    doing = "Warming up" if step.doing == "warm-up" else _doing(step.doing)
    bar = f'<progress value="{step.done}" max="{step.total}" aria-label="Decodes done"></progress>'
    words = f"<span>{step.done} of {step.total} decodes. {escape(doing)} …</span>"
    return Frame(note=f"{bar}{words}", kept=kept, **BUSY)


def _doing(words: str) -> str:
    _, _, contender = words.partition(" ")
    return evaluate_results.label_of(contender)


def shown(kept: Kept, why: str) -> Frame:
    """Table, chart and file of what was decoded so far."""
    folder = Path(kept.folder)
    try:
        report = evaluate_results.scored(folder, kept.asked)
        file = evaluate_results.packed(folder, kept.asked)
    except SettingsError as error:
        nothing = "has no prediction yet" in str(error) or "has no evaluation.json" in str(error)
        return ready(f"{why} {NOTHING_YET}") if nothing else ready(why, alert(sentence(error)))
    except DsbdError as error:
        return ready(why, alert(sentence(error)))
    note = why if report.complete else f"{why} The table holds what was decoded so far. {GOES_ON}"
    frame = ready(note)._replace(table=evaluate_results.tables(report), charts=evaluate_results.charts(report))
    return frame._replace(file=gr.update(value=file, visible=True), kept=kept)


def evaluate(
    engine: Engine,
    session: str,
    task: Any,
    methods: Any,
    questions: Any = 10,
    seeds: Any = 1,
    grid: Any = None,
    settings: Any = None,
    examples: Any = None,
    pair: Any = PAGE,
) -> dict[str, Any]:
    """Ask decoders the questions of a task and score the answers: the endpoint for programs.

    The same call goes on where an earlier one of the same client came to the page's time limit.

    Args:
        task: "stories"; "sql" where its models are loaded; or "jsonl" for ``examples``.
        methods: such as "beam_sampling", "dsbd:same-law" and "dsbd:defaults" (dynamic width).
        questions: how many, the first of the task.
        seeds: how often every question is asked.
        grid: one setting and its values, such as {"width_threshold": [0.5, 0.9]}.
        settings: fields of DecodingSettings by name, for every method that reads them.
        examples: with task "jsonl": objects with ``prompt``, and all or none with ``references``.
        pair: "page", "bundled:stories" or "bundled:sql"; "sql" is always answered by the last.

    Returns:
        ``complete``, ``tables`` by task (rows with means, 95 % intervals and differences), and ``results``: for each
        contender the JSON of lm-evaluation-harness.
    """
    with in_sentences(), engine.visit(session, LIMIT) as stop:
        own = _own_examples(engine, session, examples) if task == OWN else None
        contenders = _contenders_asked(methods, grid, settings, engine.limits)
        tokens = None if settings is None else settings.get("max_new_tokens")
        kept = _kept(engine, session, check_pair(pair), task, own, contenders, questions, seeds, tokens)
        try:
            for _ in engine.run(evaluation(engine.limits, kept.asked, kept.folder), stop):
                pass
        except StoppedError:
            if stop.is_revoked:
                raise
        report = evaluate_results.scored(Path(kept.folder), kept.asked)
        found = [json.loads(path.read_text(encoding="utf-8")) for path in report.files if path.suffix == ".json"]
        return {"complete": report.complete, "tables": report.to_dict()["tables"], "results": found}


def _contenders_asked(methods: Any, grid: Any, settings: Any, limits: Limits) -> Sequence[Any]:
    asked = vars(settings_from(settings, limits))
    shared = {name: asked[name] for name in settings or {} if name not in ("method", "max_new_tokens")}
    if grid is None:
        return contenders_of(methods, "", "", shared)
    if not isinstance(grid, dict) or len(grid) != 1:
        raise SettingsError('grid is one setting and its values, such as {"width_threshold": [0.5, 0.9]}')
    ((field, values),) = grid.items()
    return contenders_of(methods, field, values, {name: value for name, value in shared.items() if name != field})


def _own_examples(engine: Engine, session: str, examples: Any) -> str:
    if not isinstance(examples, list) or not examples:
        raise TaskError('examples is a list of objects such as {"prompt": "Q: …", "references": ["…"]}')
    raw = engine.folders.of(session, {"examples": examples}) / QUESTIONS
    try:
        write_file(raw, "".join(json.dumps(one) + "\n" for one in examples))
    except OSError as error:
        raise TaskError(f"the examples cannot be kept: {error.strerror or error}; try again later") from None
    return keep_questions(engine, session, own_questions(raw, engine.limits))
