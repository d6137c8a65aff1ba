"""A race: contenders on the same prompts, interleaved after a warm-up, and then one recorded decode each.

The figures come from runs that are not recorded. The lanes come from runs of their own, so recording costs the figures
nothing. What needs the models and what only needs their runs are two functions, so that each can run elsewhere.
"""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from dsbd.api import planning
from dsbd.errors import SettingsError
from dsbd.evaluation.lanes import run_lane
from dsbd.evaluation.races import Answer, Lane, Prompt, Race, Racer, Ratio, race_of
from dsbd.evaluation.scoring import baseline_of
from dsbd.evaluation.statistics import Scores, paired_difference
from dsbd.evaluation.tabulate import Answer as Figures
from dsbd.evaluation.tabulate import make_table
from dsbd.measure.bench.contenders import Contender, Contest
from dsbd.measure.bench.prepare import require_runnable, resolve_auto
from dsbd.measure.bench.records import Run
from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.bench.schedule import measure, runs_of
from dsbd.measure.bench.summary import known
from dsbd.methods import has_auto
from dsbd.models.pair import Pair
from dsbd.tasks.records import Question, Task

MAX_ROUNDS = 100


@dataclass(frozen=True)
class RaceRuns:
    """What the models did: plain data that can cross to another process."""

    contest: Contest
    """With nothing ``auto``."""
    runs: Mapping[str, Sequence[Sequence[Run | None]]]
    """By contender: prompts x rounds."""
    lanes: Mapping[str, Lane]


@dataclass(frozen=True)
class RaceProgress:
    """How far a race is; the last one has the runs."""

    done: int
    total: int
    name: str
    """Of the contender that has just run; empty while ``auto`` is measured."""
    runs: RaceRuns | None = None


def race(
    pair: Pair,
    contenders: Sequence[Contender],
    prompts: Sequence[str],
    rounds: int = 3,
    stop: Callable[[], bool] | None = None,
) -> Iterator[RaceProgress]:
    """Run every contender ``rounds`` times on every prompt, then once more for its lane; closing the iterator stops it.

    Args:
        pair: the models.
        contenders: each with a name of its own; of ``dsbd.measure.bench.contenders``.
        prompts: at least one, all different.
        rounds: 1 or more; the seeds of a prompt count up from the settings' seed.
        stop: asked inside the runs; once it returns True the race ends with a StoppedError.

    Yields:
        Progress after each warm-up, run and lane; the last has the runs, for :func:`make_race`.

    Raises:
        SettingsError: nothing to run, a repeated name or prompt, or rounds out of range.
        PairError: a contender drafts and the pair has no draft model.
        PromptError: a prompt does not fit the models.
        StoppedError: ``stop`` returned True.
    """
    contest = Contest(tuple(contenders), tuple(prompts), rounds)
    _require_race(contest)
    require_runnable(pair, contest)
    return _race(pair, contest, stop)


def _race(pair: Pair, contest: Contest, stop: Callable[[], bool] | None) -> Iterator[RaceProgress]:
    each = len(contest.contenders)
    total, done, results = contest.total + 2 * each, 0, ResultsFile()
    for contender in contest.contenders:
        if has_auto(contender.settings):
            for _ in planning(pair, contest.prompts[0], contender.settings, stop=stop):
                yield RaceProgress(0, total, "")
    contest = resolve_auto(pair, contest, results)
    for step in measure(pair, contest, results, stop=stop):
        done += 1
        yield RaceProgress(done, total, step.contender.name)
    lanes = {}
    for contender in contest.contenders:
        lanes[contender.name] = run_lane(pair, contender, contest.prompts[0], contest.seed(contender, 0), stop)
        done += 1
        if done < total:
            yield RaceProgress(done, total, contender.name)
    yield RaceProgress(total, total, contest.contenders[-1].name, RaceRuns(contest, runs_of(contest, results), lanes))


def make_race(
    raced: RaceRuns,
    task: Task | None = None,
    questions: Sequence[Question] = (),
    conditions: Mapping[str, Any] | None = None,
) -> Race:
    """Score the runs and compare the contenders; needs no model.

    With several prompts, intervals are over prompts, clustered as the task says, with the seeds of a prompt averaged.
    With one prompt, intervals are over its seeds.

    Args:
        raced: from :func:`race`.
        task: what scores the answers; None for prompts without right answers.
        questions: of the task, one for each prompt, in order.
        conditions: machine, versions and models, to be kept with the race.
    """
    contest = raced.contest
    answers = {one.name: _answers(contest, raced.runs[one.name], task, questions) for one in contest.contenders}
    figures = [found for one in contest.contenders for found in _figures(one, raced, answers[one.name], questions)]
    table = make_table(
        figures,
        task=task.name if task else "",
        metric=task.main_metric if task else None,
        higher_is_better=task.metrics[task.main_metric] if task and task.main_metric else False,
        baseline=baseline_of(contest.contenders),
        conditions=conditions,
    )
    speeds, clusters = _speeds(figures), {found.question: found.cluster for found in figures}
    racers = tuple(
        Racer(
            name=one.name,
            row=row,
            target_calls=statistics.fmean(run.target_calls for run in known(raced.runs[one.name])),
            ratio=_ratio(speeds, one.name, table.baseline, clusters),
            lane=raced.lanes.get(one.name),
            answers=answers[one.name],
            auto_reason=one.auto_reason,
        )
        for one, row in zip(contest.contenders, table.rows, strict=True)
    )
    golds = [question.references[0] for question in questions] or [""] * len(contest.prompts)
    prompts = tuple(Prompt(text=text, gold=gold) for text, gold in zip(contest.prompts, golds, strict=True))
    return race_of(table, racers, prompts, contest.rounds)


def _answers(
    contest: Contest, runs: Sequence[Sequence[Run | None]], task: Task | None, questions: Sequence[Question]
) -> tuple[Answer, ...]:
    found = []
    for place, row in enumerate(runs):
        for run in known([row]):
            if task is None:
                found.append(Answer(prompt=place, seed=run.seed, text=run.text))
                continue
            answer = task.answer(run.text)
            score = task.score(questions[place], answer)
            right = None if task.main_metric is None else score.metrics[task.main_metric] == 1.0
            found.append(
                Answer(prompt=place, seed=run.seed, text=run.text, answer=answer, right=right, reason=score.reason)
            )
    return tuple(found)


def _figures(
    contender: Contender, raced: RaceRuns, answers: Sequence[Answer], questions: Sequence[Question]
) -> Iterator[Figures]:
    """Yield one record for each run; its question is what intervals are over."""
    several = len(raced.contest.prompts) > 1
    runs = known(raced.runs[contender.name])
    for run, answer in zip(runs, answers, strict=True):
        unit = str(answer.prompt if several else run.seed)
        yield Figures(
            contender=contender.name,
            method=contender.method,
            settings=contender.settings,
            question=unit,
            cluster=questions[answer.prompt].cluster if several and questions else unit,
            seed=run.seed,
            score=None if answer.right is None else float(answer.right),
            perplexity=run.perplexity,
            layers=run.layers,
            seconds=run.seconds - run.prefill_seconds,
            iterations=run.iterations,
            mean_width=run.mean_width,
        )


def _speeds(figures: Sequence[Figures]) -> dict[str, Scores]:
    """Return the logarithms of tokens per second, by contender and by what intervals are over."""
    found: dict[str, dict[str, list[float]]] = {}
    for one in figures:
        speed = math.log(one.layers / max(one.seconds, 1e-9))
        found.setdefault(one.contender, {}).setdefault(one.question, []).append(speed)
    return dict(found)


def _ratio(speeds: Mapping[str, Scores], name: str, baseline: str | None, clusters: Mapping[str, str]) -> Ratio | None:
    if baseline is None or name == baseline:
        return None
    found = paired_difference(speeds[name], speeds[baseline], clusters)
    return None if found is None else Ratio.from_logs(found)


def _require_race(contest: Contest) -> None:
    names = [contender.name for contender in contest.contenders]
    if not names:
        raise SettingsError("nobody races; choose one decoder or more")
    for what, chosen in (("decoders", names), ("prompts", contest.prompts)):
        if len(set(chosen)) < len(chosen):
            raise SettingsError(f"{what} name one twice; name each once")
    rounds = contest.rounds
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= MAX_ROUNDS:
        raise SettingsError(f"rounds is {rounds!r}; allowed are whole numbers from 1 to {MAX_ROUNDS}")
