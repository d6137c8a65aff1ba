"""A race: a contest in which each contender has a lane: its decode of the first prompt that took the middle time.

``race`` needs the models; ``make_race`` needs only what they did, so it can run in another process.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from dsbd.errors import SettingsError
from dsbd.evaluation.lanes import LaneWatch, lane_of
from dsbd.evaluation.make_tables import ScoredRun, make_table, score_run, speed_ratios
from dsbd.evaluation.race_records import Answer, Lane, Race, RacedPrompt, Racer, Ratio
from dsbd.evaluation.statistics import clustered_mean
from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.contenders import BASELINE, OPPONENTS, Contender, require_count
from dsbd.measure.bench.contest import Contest, Turn, plain_prompts
from dsbd.measure.bench.driver import ContestProgress, require_runnable, run_contest
from dsbd.measure.bench.records import Run
from dsbd.models.pair import Pair
from dsbd.tasks.task import Question, Task

MAX_ROUNDS = 100


@dataclass(frozen=True)
class RaceRuns:
    """What the models did: plain data that can cross to another process."""

    contest: Contest
    """With nothing ``auto``."""
    runs: Sequence[Run]
    """Of all contenders, as far as they are made."""
    lanes: Mapping[str, Lane]


def race(
    pair: Pair,
    contenders: Sequence[Contender],
    prompts: Sequence[str],
    rounds: int = 3,
    stop: Callable[[], bool] | None = None,
) -> Iterator[ContestProgress]:
    """Run every contender ``rounds`` times on every prompt; closing the iterator stops it.

    Args:
        pair: the models.
        contenders: each with another name; of ``dsbd.measure.bench.contenders``.
        prompts: at least one, all different.
        rounds: 1 or more; the seeds of a prompt count up from the settings' seed.
        stop: asked inside the runs; once it returns True the race ends with a StoppedError.

    Yields:
        Progress as :func:`~dsbd.measure.bench.driver.run_contest` does; its ``runs`` are the :class:`RaceRuns` so far,
        for :func:`make_race`.

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
    answers, watches = AnswersFile(), dict[tuple[str, int], LaneWatch]()

    def watching(turn: Turn) -> list[LaneWatch]:
        if turn.prompt != contest.prompts[0]:
            return []
        watches[turn.contender.name, turn.seed] = watch = LaneWatch()
        return [watch]

    for step in run_contest(pair, contest, answers, stop=stop, watching=watching):
        yield replace(step, runs=_so_far(contest, answers, watches) if step.done else None)


def _so_far(contest: Contest, answers: AnswersFile, watches: Mapping[tuple[str, int], LaneWatch]) -> RaceRuns:
    contest = replace(contest, contenders=answers.with_auto(contest.contenders))
    lanes = dict[str, Lane]()
    for contender in contest.contenders:
        own = [run for run in answers.runs
               if (run.contender, run.question) == (contender.name, contest.prompts[0].id)]  # fmt: skip
        if own:
            middle = sorted(own, key=lambda run: run.seconds)[(len(own) - 1) // 2]
            is_ours = contender.method not in OPPONENTS
            lanes[contender.name] = watches[contender.name, middle.seed].lane() if is_ours else lane_of(middle)
    return RaceRuns(contest, answers.runs, lanes)


def make_race(
    raced: RaceRuns,
    task: Task | None = None,
    questions: Sequence[Question] = (),
    conditions: Mapping[str, Any] | None = None,
) -> Race:
    """Score the runs and compare the contenders; needs no model.

    With several prompts, intervals are over prompts, clustered as the task says; with one prompt they are over its
    seeds. There is one of ``questions`` for each prompt, in order.
    """
    contest = raced.contest
    scored = {one.name: _scored(one, raced, task, questions) for one in contest.contenders}
    table = make_table(
        [one for own in scored.values() for _, one in own],
        task=task.name if task else "",
        metric=task.main_metric if task else None,
        higher_is_better=task.metrics.get(task.main_metric or "", False) if task else False,
        baselines=[one.name for one in contest.contenders if one.method == BASELINE][:1],
        conditions=conditions,
    )
    baseline = next(iter(table.baselines), None)
    base = scored.get(baseline or "", [])
    racers = [
        Racer(
            row=row,
            ratio=None if one.name == baseline else _ratio(scored[one.name], base),
            lane=raced.lanes.get(one.name),
            answers=tuple(_answer(place, scored_run) for place, scored_run in scored[one.name]),
        )
        for one, row in zip(contest.contenders, table.rows, strict=True)
    ]
    golds = [question.references[0] if question.references else "" for question in questions]
    golds += [""] * (len(contest.prompts) - len(golds))
    return Race(
        prompts=tuple(RacedPrompt(text=one.text, gold=gold) for one, gold in zip(contest.prompts, golds, strict=True)),
        task=table.task or None,
        metric=table.metric,
        higher_is_better=table.higher_is_better,
        rounds=contest.rounds,
        baseline=baseline,
        racers=tuple(racers),
        conditions=table.conditions,
    )


def _scored(
    contender: Contender, raced: RaceRuns, task: Task | None, questions: Sequence[Question]
) -> list[tuple[int, ScoredRun]]:
    """Score the runs of a contender, each with the place of its prompt.

    Intervals are over ``question``: the prompt, or of a single prompt the seed.
    """
    prompts, found = raced.contest.prompts, []
    places = {prompt.id: place for place, prompt in enumerate(prompts)}
    for run in sorted(raced.runs, key=lambda run: (places[run.question], run.round)):
        if run.contender == contender.name:
            place = places[run.question]
            question = questions[place] if questions else None
            one = ScoredRun(contender, run)
            if task is not None and question is not None:
                one = score_run(contender, run, task, question)
            unit = run.question if len(prompts) > 1 else str(run.seed)
            cluster = question.cluster if question is not None and len(prompts) > 1 else unit
            found.append((place, replace(one, run=replace(run, question=unit, cluster=cluster))))
    return found


def _answer(place: int, scored: ScoredRun) -> Answer:
    return Answer(
        prompt=place,
        seed=scored.run.seed,
        text=scored.run.text,
        answer=scored.answer,
        right=None if scored.score is None else scored.score == 1.0,
        reason=scored.reason,
    )


def _ratio(scored: Sequence[tuple[int, ScoredRun]], base: Sequence[tuple[int, ScoredRun]]) -> Ratio | None:
    """Return the geometric mean of the speed ratios; None where there is none."""
    groups = speed_ratios([one for _, one in scored], [one for _, one in base])
    logs = [(math.log(value), cluster) for cluster, group in enumerate(groups) for value in group]
    return Ratio.from_logs(clustered_mean(*zip(*logs, strict=True))) if logs else None


def _require_race(contest: Contest) -> None:
    names = [contender.name for contender in contest.contenders]
    if not names:
        raise SettingsError("no decoder is chosen; choose one or more")
    for what, chosen in (("decoders", names), ("prompts", [prompt.text for prompt in contest.prompts])):
        if len(set(chosen)) < len(chosen):
            raise SettingsError(f"{what} name one twice; name each once")
    require_count("rounds", contest.rounds, MAX_ROUNDS)
