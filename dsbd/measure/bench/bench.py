"""A bench: a contest for speed, with what the forwards cost here and how probable it is that draft layers pass."""

import statistics
from collections.abc import Iterator, Sequence
from dataclasses import replace
from pathlib import Path

from dsbd.api import decode
from dsbd.measure.bench.acceptance import AcceptanceWatch
from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.contenders import OPPONENTS
from dsbd.measure.bench.contest import Contest
from dsbd.measure.bench.driver import (
    ContestProgress,
    conditions_of,
    prompts_read,
    require_runnable,
    resolve_auto,
    run_contest,
    take_steps,
)
from dsbd.measure.bench.records import BenchSummary, Control
from dsbd.measure.bench.run import timed
from dsbd.measure.bench.summary import CONTROL_PROMPTS, control_of, summarise
from dsbd.measure.hardware import measure_forwards
from dsbd.measure.openmp import openmp_runtimes
from dsbd.models.pair import Pair

WATCHED_PROMPTS = 3
CONTROL_REPEATS = 3
FORWARD_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class Bench:
    """One contest on one pair.

    Args:
        pair: the models.
        contest: what is measured; ``auto`` is resolved first.
        output: a file for the answers; one that exists is continued. None keeps them in memory.

    Raises:
        DsbdError: something in the contest cannot run on this pair, or the file cannot be continued.
    """

    def __init__(self, pair: Pair, contest: Contest, output: str | Path | None = None) -> None:
        pair.require_whole("a bench")
        require_runnable(pair, contest)
        self._pair, self._contest = pair, contest
        self._answers = AnswersFile(output)
        self._answers.begin(contest.asked(), conditions_of(pair, contest.contenders))

    @property
    def read(self) -> int:
        """How many prompts are read into the pair's memory."""
        return prompts_read(self._pair, self._contest)

    def run(self) -> bool:
        """Measure what is missing; returns False where Ctrl-C stopped it."""
        return take_steps(self._steps())

    def summary(self, baselines: Sequence[str]) -> BenchSummary:
        """Summarise everything measured so far; see :func:`dsbd.measure.bench.summary.summarise`."""
        return summarise(self._contest, self._answers, baselines)

    def _steps(self) -> Iterator[ContestProgress]:
        pair, contest, answers = self._pair, self._contest, self._answers
        at = ContestProgress(0, contest.total, "control")
        if all(answers.find(turn) is not None for turn in contest.turns()):
            return
        yield at
        before = control_milliseconds(pair, contest)
        at = replace(at, doing="forwards")
        if answers.forwards is None:
            yield at
            answers.add(measure_forwards(pair, FORWARD_SIZES))
        yield from resolve_auto(pair, contest, answers, at)
        for name in learn_acceptance(pair, contest, answers):
            yield ContestProgress(0, contest.total, "acceptance", name)
        yield from run_contest(pair, contest, answers, metered=True)
        yield replace(at, doing="control", done=contest.total)
        after = control_milliseconds(pair, contest)
        answers.add(Control(before=before, after=after, openmp_runtimes=len(openmp_runtimes())))


def control_milliseconds(pair: Pair, contest: Contest) -> float:
    """Return the milliseconds per token of our beam sampling on the first prompts, after a warm-up."""
    contender, means = control_of(contest), []
    for prompt in contest.prompts[:CONTROL_PROMPTS]:
        turn = contest.turn(prompt, contender)
        runs = [timed(pair, turn.contender, prompt.text, turn.seed, chat=contest.chat, until=prompt.until)
                for _ in range(1 + CONTROL_REPEATS)]  # fmt: skip
        means.append(statistics.median(1000 * run.seconds / run.hypotheses.layers for run in runs[1:]))
    return statistics.fmean(means)


def learn_acceptance(pair: Pair, contest: Contest, answers: AnswersFile) -> Iterator[str]:
    """Decode some prompts with each drafting contender and keep how probable it is that layers pass.

    Yields:
        The name of each contender before its decodes, unless the answers hold its acceptance already.
    """
    for contender in answers.with_auto(contest.contenders):
        if contender.drafts and contender.method not in OPPONENTS and contender.name not in answers.acceptance:
            yield contender.name
            watch = AcceptanceWatch()
            for prompt in contest.prompts[:WATCHED_PROMPTS]:
                decode(pair, prompt.text, contender.settings, observers=[watch])
            answers.add(watch.summary(), contender.name)
