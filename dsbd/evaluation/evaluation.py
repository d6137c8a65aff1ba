"""An evaluation from the first warm-up to its last decode, step by step or saying how far it is.

Ctrl-C and a stop keep what is done.
"""

import hashlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, timezone
from itertools import groupby
from pathlib import Path
from typing import Any

from dsbd.errors import PairError, SettingsError
from dsbd.evaluation.exams import auto_facts, with_auto
from dsbd.evaluation.predict import predict
from dsbd.evaluation.processes import Processes
from dsbd.evaluation.records import Exam, Job
from dsbd.evaluation.store import FORMAT, Store
from dsbd.measure.bench.bench import meters_of
from dsbd.measure.bench.contenders import Contender, Contest
from dsbd.measure.bench.prepare import conditions_of, resolve_auto
from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.bench.schedule import WARM_UP_TOKENS
from dsbd.measure.energy import Meter
from dsbd.models.pair import Pair
from dsbd.progress import Progress

AUTO = "auto"


@dataclass(frozen=True)
class Step:
    """How far an evaluation is."""

    done: int
    total: int
    """Decodes of this process; where it is the only one, those of earlier calls count too."""
    doing: str
    """The task and the contender of the decode that comes next; ``warm-up`` before the first."""


class Evaluation:
    """Contenders on tasks, with one pair.

    Args:
        pair: the models.
        exam: what is asked of whom.
        folder: where everything goes; an evaluation with the same settings goes on there.
        processes: that share the work; None is this one alone.

    Raises:
        DsbdError: a contender cannot run on this pair, a prompt does not fit, or the folder has another evaluation.
    """

    def __init__(self, pair: Pair, exam: Exam, folder: str | Path, processes: Processes | None = None) -> None:
        pair.require_whole("an evaluation")
        self._processes = processes or Processes()
        shared = self._processes.count > 1
        self._pair, self._exam = pair, exam
        _require_draft(pair, exam.contenders)
        self._prompts = _fitted(pair, exam)
        self._store = Store(folder, self._processes.number if shared else None)
        self._store.take_all(self._processes.gather(self._store.predictions))
        self._store.begin(head_of(pair, exam), write=self._processes.is_main)

    @property
    def store(self) -> Store:
        """Everything predicted so far."""
        return self._store

    @property
    def shortened(self) -> int:
        """How many prompts had to be shortened."""
        return sum(
            self._prompts[run.name, question.id] != question.prompt
            for run in self._exam.runs
            for question in run.questions
        )

    def run(self) -> bool:
        """Decode what is missing; returns False where Ctrl-C stopped it."""
        try:
            with Progress("auto", "decode", shown=self._processes.is_main) as progress:
                for step in self.steps():
                    progress.show(step.doing, step.done, step.total)
        except KeyboardInterrupt:
            if self._processes.count > 1:
                raise  # the others cannot be waited for; what is done is in the folder
            return False
        return True

    def steps(self, stop: Callable[[], bool] | None = None) -> Iterator[Step]:
        """Decode what is missing; closing the iterator ends it after a decode, and what is done is kept.

        Args:
            stop: asked before each forward of a model; once it returns True the evaluation ends inside a decode. Only
                ``transformers`` is not asked.

        Yields:
            A step before the warm-ups, before each decode, and after the last; none where nothing is missing.

        Raises:
            StoppedError: ``stop`` returned True.
            ModelError: a model returns logits that are not numbers, or memory runs out.
        """
        yield from self._decode(self._resolved(stop), stop)
        self._store.take_all(self._processes.gather(self._store.predictions))
        if self._processes.is_main:
            self._store.merge([job.key for job in self._exam.jobs()])

    def _decode(self, exam: Exam, stop: Callable[[], bool] | None) -> Iterator[Step]:
        known = {prediction.key for prediction in self._store.predictions}
        jobs = [job for job in exam.jobs() if job.key not in known]
        mine = self._share(jobs)
        if not mine:
            return
        pair, processes = self._pair, self._processes
        meters = self._meters()
        total = len(mine) if processes.count > 1 else exam.total
        done = total - len(mine)
        yield Step(done, total, "warm-up")
        waiting = {job.contender.name for job in mine}
        for contender in exam.contenders:
            if contender.name in waiting:
                self._warm_up(next(job for job in mine if job.contender.name == contender.name), stop)
        for job in mine:
            yield Step(done, total, f"{job.run.name} {job.contender.name}")
            prompt = self._prompts[job.run.name, job.question.id]
            self._store.add(predict(pair, job, prompt, meters, processes.on_this_machine, exam.chat, stop))
            done += 1
        yield Step(done, total, f"{mine[-1].run.name} {mine[-1].contender.name}")

    def _share(self, jobs: Sequence[Job]) -> list[Job]:
        """Return the jobs of this process: whole questions, in an order that spreads the tasks over the processes."""
        if self._processes.count == 1:
            return list(jobs)
        groups = [list(group) for _, group in groupby(jobs, key=_question)]
        groups.sort(key=lambda group: hashlib.sha256(repr(_question(group[0])).encode()).digest())
        return [job for group in self._processes.share(groups) for job in group]

    def _meters(self) -> dict[str, Meter]:
        """Return the meters; a processor that several processes share has none, because it counts all of them."""
        meters = meters_of(self._pair)
        if self._processes.on_this_machine > 1:
            meters.pop("cpu_package", None)
        return meters

    def _warm_up(self, job: Job, stop: Callable[[], bool] | None) -> None:
        settings = job.contender.settings
        short = replace(settings, max_new_tokens=min(WARM_UP_TOKENS, settings.max_new_tokens))
        shorter = replace(job, contender=replace(job.contender, settings=short))
        predict(self._pair, shorter, self._prompts[job.run.name, job.question.id], chat=self._exam.chat, stop=stop)

    def _resolved(self, stop: Callable[[], bool] | None) -> Exam:
        """Return the exam with every ``auto`` resolved: once, by the first process, then as the folder says."""
        exam, store = self._exam, self._store
        if not any(one.drafts and one.settings.is_auto for one in exam.contenders):
            return exam
        assert store.head is not None, "the evaluation has begun"
        found: list[dict[str, Any]] = [store.head[AUTO]] if AUTO in store.head else []
        if not found and self._processes.is_main:
            run = exam.runs[0]
            prompt = self._prompts[run.name, run.questions[0].id]
            contest = Contest(tuple(exam.at_limit(one, run) for one in exam.contenders), (prompt,), 1)
            resolved = resolve_auto(self._pair, contest, ResultsFile(), stop).contenders
            found = [{one.name: auto_facts(one) for one in resolved if one.auto_reason is not None}]
            store.note(**{AUTO: found[0]})
        facts = self._processes.gather(found)[0]
        store.head[AUTO] = facts
        return replace(exam, contenders=with_auto(exam.contenders, facts))


def head_of(pair: Pair, exam: Exam) -> dict[str, Any]:
    """Return what is written about an evaluation, as plain data."""
    now = datetime.now(timezone.utc)
    return {
        "format": FORMAT,
        "date": now.timestamp(),
        "date_id": now.replace(tzinfo=None).isoformat().replace(":", "-"),
        "asked": exam.asked(),
        "conditions": conditions_of(pair, exam.contenders),
        "tokenizer": {name: _special(pair.tokenizer, name) for name in ("pad", "eos", "bos")},
        "context": pair.target.context_size,
        "chat_template": getattr(pair.tokenizer, "chat_template", None) if exam.chat else None,
    }


def _special(tokenizer: Any, name: str) -> list[str | None]:
    """Return a special token and its id, as lm-evaluation-harness writes them."""
    return [getattr(tokenizer, f"{name}_token", None), str(getattr(tokenizer, f"{name}_token_id", None))]


def _question(job: Job) -> tuple[int, str, str]:
    return (job.turn, job.run.name, job.question.id)


def _require_draft(pair: Pair, contenders: Sequence[Contender]) -> None:
    for contender in contenders:
        if contender.drafts and pair.draft is None:
            raise PairError(f"{contender.name} needs a draft model; load one, or leave it out of the methods")


def _fitted(pair: Pair, exam: Exam) -> dict[tuple[str, str], str]:
    """Return the prompt of each question, shortened by the task's own rule where the models have no room for it."""
    found = {}
    for run in exam.runs:
        room = pair.room_after(run.max_new_tokens)
        if room < 1:
            raise SettingsError(
                f"max_new_tokens of task {run.name} is {run.max_new_tokens}, and the models' context leaves no "
                "room for a prompt; lower max_new_tokens"
            )
        for question in run.questions:
            prompt = run.task.fit(question, lambda text: len(pair.encode(text, chat=exam.chat)), room)
            found[run.name, question.id] = prompt
    return found
