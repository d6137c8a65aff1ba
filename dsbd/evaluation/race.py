"""A race: a contest whose contenders decode the first prompt once more at the end, recorded, each for its lane.

The figures come from decodes that are not recorded, so recording costs them nothing. What needs the models and what
only needs their runs are two functions, so that each can run elsewhere.
"""

import math
import statistics
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dsbd.errors import SettingsError
from dsbd.evaluation.lanes import run_lane
from dsbd.evaluation.make_tables import ScoredRun, baseline_of, make_table, score_run
from dsbd.evaluation.race_records import Answer, Lane, Race, RacedPrompt, Racer, Ratio
from dsbd.evaluation.statistics import Scores, paired_difference
from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.contenders import Contender
from dsbd.measure.bench.contest import Contest, plain_prompts
from dsbd.measure.bench.driver import ContestProgress, require_runnable, run_contest
from dsbd.measure.bench.records import Run
from dsbd.measure.bench.summary import known
from dsbd.models.pair import Pair
from dsbd.tasks.records import Question, Task

MAX_ROUNDS = 100


@dataclass(frozen=True)
class RaceRuns:
    """What the models did: plain data that can cross to another process."""

    contest: Contest
    """With nothing ``auto``."""
    runs: Mapping[str, Sequence[Sequence[Run | None]]]
    """By contender: prompts x rounds; None where a decode is still missing."""
    lanes: Mapping[str, Lane]


def race(
    pair: Pair,
    contenders: Sequence[Contender],
    prompts: Sequence[str],
    rounds: int = 3,
    stop: Callable[[], bool] | None = None,
) -> Iterator[ContestProgress]:
    """Run every contender ``rounds`` times on every prompt, then once more for its lane; closing the iterator stops it.

    Args:
        pair: the models.
        contenders: each with another name; of ``dsbd.measure.bench.contenders``.
        prompts: at least one, all different.
        rounds: 1 or more; the seeds of a prompt count up from the settings' seed.
        stop: asked inside the runs; once it returns True the race ends with a StoppedError.

    Yields:
        Progress as :func:`~dsbd.measure.bench.driver.run_contest` does, and after each lane; its ``runs`` are the
        :class:`RaceRuns` so far, for :func:`make_race`.

    Raises:
        SettingsError: nothing to run, a repeated name or prompt, or rounds out of range.
        PairError: a contender drafts and the pair has no draft model.
        PromptError: a prompt does not fit the models.
        StoppedError: ``stop`` returned True.
    """
    contest = Contest(tuple(contenders), plain_prompts(prompts), rounds)
    _require_race(contest)
    require_runnable(pair, contest)
    return _race(pair, contest, stop)


def _race(pair: Pair, contest: Contest, stop: Callable[[], bool] | None) -> Iterator[ContestProgress]:
    answers, lanes = AnswersFile(), dict[str, Lane]()
    total = contest.total + len(contest.contenders)
    for step in run_contest(pair, contest, answers, stop=stop):
        yield replace(step, total=total, runs=_so_far(contest, answers, lanes) if step.done else None)
    for contender in answers.with_auto(contest.contenders):
        turn = contest.turn(contest.prompts[0], contender)
        lanes[contender.name] = run_lane(pair, contender, turn.prompt.text, turn.seed, stop)
        done = contest.total + len(lanes)
        yield ContestProgress(done, total, "lane", contender.name, _so_far(contest, answers, lanes))


def _so_far(contest: Contest, answers: AnswersFile, lanes: Mapping[str, Lane]) -> RaceRuns:
    contest = replace(contest, contenders=answers.with_auto(contest.contenders))
    return RaceRuns(contest, answers.by_prompt(contest), lanes)


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
    scored = {one.name: _scored(one, raced, task, questions) for one in contest.contenders}
    table = make_table(
        [one for own in scored.values() for one in own],
        task=task.name if task else "",
        metric=task.main_metric if task else None,
        higher_is_better=task.metrics.get(task.main_metric or "", False) if task else False,
        baseline=baseline_of(contest.contenders),
        conditions=conditions,
    )
    speeds = {name: _speeds(own) for name, own in scored.items()}
    clusters = {one.run.question: one.run.cluster for own in scored.values() for one in own}
    racers = []
    for one, row in zip(contest.contenders, table.rows, strict=True):
        ratio = None
        if table.baseline is not None and one.name != table.baseline:
            ratio = paired_difference(speeds[one.name], speeds[table.baseline], clusters)
        answers, runs = _answers(raced.runs[one.name], scored[one.name], task), known(raced.runs[one.name])
        racers.append(
            Racer(
                name=one.name,
                row=row,
                target_calls=statistics.fmean(run.target_calls for run in runs),
                ratio=None if ratio is None else Ratio.from_logs(ratio),
                lane=raced.lanes.get(one.name),
                answers=answers,
                auto_reason=one.auto_reason,
            )
        )
    golds = [question.references[0] if question.references else "" for question in questions]
    golds += [""] * (len(contest.prompts) - len(golds))
    return Race(
        prompts=tuple(RacedPrompt(text=one.text, gold=gold) for one, gold in zip(contest.prompts, golds, strict=True)),
        task=table.task or None,
        metric=table.metric,
        higher_is_better=table.higher_is_better,
        rounds=contest.rounds,
        baseline=table.baseline,
        racers=tuple(racers),
        conditions=table.conditions,
    )


def _scored(contender: Contender, raced: RaceRuns, task: Task | None, questions: Sequence[Question]) -> list[ScoredRun]:
    """Score the runs of a contender. Intervals are over ``question``: the prompt, or of a single prompt the seed."""
    several, found = len(raced.contest.prompts) > 1, []
    for place, row in enumerate(raced.runs[contender.name]):
        for run in known([row]):
            unit = run.question if several else str(run.seed)
            cluster = questions[place].cluster if several and questions else unit
            one = ScoredRun(contender, run) if task is None else score_run(contender, run, task, questions[place])
            found.append(replace(one, run=replace(run, question=unit, cluster=cluster)))
    return found


def _answers(
    runs: Sequence[Sequence[Run | None]], scored: Sequence[ScoredRun], task: Task | None
) -> tuple[Answer, ...]:
    places = [place for place, row in enumerate(runs) for _ in known([row])]
    return tuple(
        Answer(
            prompt=place,
            seed=one.run.seed,
            text=one.run.text,
            answer=one.answer,
            right=None if one.score is None else one.score == 1.0,
            reason=one.reason,
        )
        for place, one in zip(places, scored, strict=True)
    )


def _speeds(scored: Sequence[ScoredRun]) -> Scores:
    """Return the logarithms of tokens per second, by what intervals are over."""
    found: dict[str, list[float]] = {}
    for one in scored:
        found.setdefault(one.run.question, []).append(math.log(one.run.tokens_per_second))
    return found


def _require_race(contest: Contest) -> None:
    names = [contender.name for contender in contest.contenders]
    if not names:
        raise SettingsError("no decoder is chosen; choose one or more")
    for what, chosen in (("decoders", names), ("prompts", [prompt.text for prompt in contest.prompts])):
        if len(set(chosen)) < len(chosen):
            raise SettingsError(f"{what} name one twice; name each once")
    rounds = contest.rounds
    if isinstance(rounds, bool) or not isinstance(rounds, int) or not 1 <= rounds <= MAX_ROUNDS:
        raise SettingsError(f"rounds is {rounds!r}; allowed are whole numbers from 1 to {MAX_ROUNDS}")
