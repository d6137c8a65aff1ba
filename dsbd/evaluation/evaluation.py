"""An evaluation: a contest on the questions of tasks. Ctrl-C keeps what is done."""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

from dsbd.errors import SettingsError
from dsbd.evaluation.exam import Exam, make_exam
from dsbd.evaluation.report import Report, make_report
from dsbd.measure.bench.contenders import DEFAULT_METHODS, contenders
from dsbd.measure.bench.contest import ContestPrompt
from dsbd.measure.bench.driver import ContestRun
from dsbd.models.pair import Pair
from dsbd.settings import DecodingSettings
from dsbd.tasks.task import Task


def evaluate(
    pair: Pair,
    tasks: Sequence[str | Task],
    output: str | Path | None = None,
    methods: Sequence[str] = DEFAULT_METHODS,
    *,
    data: Mapping[str, str] | None = None,
    limit: int | None = None,
    seeds: int = 1,
    chat: bool = False,
    **settings: Any,
) -> Report:
    """Answer the questions of tasks with several decoders in turn, and score the answers.

    Every decode is in the file as soon as it is made. The same call continues where an earlier one was stopped, by
    Ctrl-C for example; then the report says that it is not complete.

    Args:
        pair: from :func:`dsbd.load_pair`.
        tasks: names such as ``"sql"``, or your own tasks.
        output: a file for the answers; docs/evaluation.md describes it. None keeps them in memory.
        methods: names of the bench, such as ``"dsbd:same-law"``, ``"beam_sampling"`` or ``"hf_beam_sampling"``.
        data: where a task's data is, by the task's name.
        limit: only the first questions of each task.
        seeds: how often every question is answered.
        chat: apply the model's chat template.
        settings: fields of :class:`dsbd.DecodingSettings`, for every method that reads them; a list is a sweep. Without
            ``max_new_tokens`` each task has its own.

    Raises:
        SettingsError: a value is unknown or out of range, or the file has other answers.
        TaskError: a task's data is missing or damaged.
        PairError: a method drafts and the pair has no draft model.
        PromptError: a question does not fit the models.
        ModelError: a model returns logits that are not numbers, or memory runs out.
    """
    known = [field.name for field in fields(DecodingSettings) if field.name != "method"]
    for name in settings:
        if name not in known:
            raise SettingsError(f"there is no setting {name!r}; settings are {', '.join(known)}")
    values = {name: value if isinstance(value, list) else [value] for name, value in settings.items()}
    exam = make_exam(
        tasks,
        contenders(methods, values),
        data=data,
        limit=limit,
        seeds=seeds,
        max_new_tokens=settings.get("max_new_tokens"),
        chat=chat,
    )
    evaluation = Evaluation(pair, exam, output)
    evaluation.run()
    return make_report(evaluation.answers, [run.task for run in exam.runs])


class Evaluation(ContestRun):
    """Contenders on tasks, with one pair; errors are those of :class:`~dsbd.measure.bench.driver.ContestRun`.

    Args:
        pair: the models.
        exam: which contenders answer which questions.
        output: a file for the answers; one that exists is continued. None keeps them in memory.
    """

    def __init__(self, pair: Pair, exam: Exam, output: str | Path | None = None) -> None:
        pair.require_whole("an evaluation")
        super().__init__(pair, replace(exam, prompts=tuple(_fitted(pair, exam))), output)


def _fitted(pair: Pair, exam: Exam) -> Iterator[ContestPrompt]:
    """Yield the prompts of an exam, shortened by the rule of their task where the models have no room for them.

    Those that are read into a memory stay whole.
    """

    def tokens_of(text: str) -> int:
        return len(pair.encode(text, chat=exam.chat))

    asked = [(run, question) for run in exam.runs for question in run.questions]
    for prompt, (run, question) in zip(exam.prompts, asked, strict=True):
        room = pair.room_after(run.max_new_tokens)
        if room < 1:
            raise SettingsError(
                f"max_new_tokens of task {run.name} is {run.max_new_tokens}, and the models' context leaves no "
                "room for a prompt; lower max_new_tokens"
            )
        text = prompt.text
        if not pair.reads(tokens_of(text), run.max_new_tokens):
            text = run.task.fit(question, tokens_of, room)
        yield replace(prompt, text=text, shortened=text != prompt.text)
