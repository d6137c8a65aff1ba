"""A bench: a contest for speed on plain prompts, with our beam sampling timed alone before and after it."""

import statistics
from collections.abc import Iterator
from dataclasses import replace

from dsbd.evaluation.make_tables import ScoredRun, baselines_of, make_table
from dsbd.evaluation.report import Report
from dsbd.evaluation.tables import PROMPTS
from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.contenders import BASELINE, Contender
from dsbd.measure.bench.contest import Contest
from dsbd.measure.bench.driver import ContestProgress, ContestRun
from dsbd.measure.bench.records import Control
from dsbd.measure.bench.run import timed
from dsbd.measure.openmp import openmp_runtimes
from dsbd.models.pair import Pair
from dsbd.settings import DecodingSettings

CONTROL_PROMPTS = 3
"""The control decodes this many prompts of the contest."""
CONTROL_REPEATS = 3


class Bench(ContestRun):
    """A contest on plain prompts; arguments and errors are those of :class:`~dsbd.measure.bench.driver.ContestRun`."""

    def report(self) -> Report:
        """Return the table of everything measured so far."""
        return bench_report(self.contest, self.answers)

    def steps(self) -> Iterator[ContestProgress]:
        """Yield the progress of what is missing, and of the control before and after it."""
        at = ContestProgress(0, self.contest.total, "control")
        if all(self.answers.find(turn) is not None for turn in self.contest.turns()):
            return
        yield at
        before = control_milliseconds(self.pair, self.contest)
        yield from super().steps()
        yield replace(at, done=self.contest.total)
        after = control_milliseconds(self.pair, self.contest)
        self.answers.add(Control(before=before, after=after, openmp_runtimes=len(openmp_runtimes())))


def bench_report(contest: Contest, answers: AnswersFile) -> Report:
    """Return the table of the answers so far."""
    contenders = answers.with_auto(contest.contenders)
    scored = [ScoredRun(one, run) for one in contenders for run in answers.runs if run.contender == one.name]
    complete, control = len(answers.runs) >= contest.total, _control(contest, answers)
    notes = [*(control.notes() if control else []), *([] if complete else ["Not complete: some decodes are missing."])]
    table = make_table(
        scored,
        task=PROMPTS,
        metric=None,
        note=" ".join(notes).removesuffix("."),
        baselines=baselines_of(contenders),
        conditions=answers.head.get("conditions"),
    )
    return Report(complete, {PROMPTS: table} if scored else {}, control=control)


def control_milliseconds(pair: Pair, contest: Contest) -> float:
    """Return the milliseconds per token of our beam sampling on the first prompts, after a warm-up."""
    contender, means = control_of(contest), []
    for prompt in contest.prompts[:CONTROL_PROMPTS]:
        turn = contest.turn(prompt, contender)
        runs = [timed(pair, turn.contender, prompt.text, turn.seed, chat=contest.chat, until=prompt.until)
                for _ in range(1 + CONTROL_REPEATS)]  # fmt: skip
        means.append(statistics.median(1000 * run.seconds / run.hypotheses.layers for run in runs[1:]))
    return statistics.fmean(means)


def control_of(contest: Contest) -> Contender:
    """Return our beam sampling as the contest has it; if it has none, with four beams and as many new tokens."""
    own = [one for one in contest.contenders if one.method == BASELINE]
    tokens = contest.contenders[0].settings.max_new_tokens
    return own[0] if own else Contender(BASELINE, BASELINE, DecodingSettings(method=BASELINE, max_new_tokens=tokens))


def _control(contest: Contest, answers: AnswersFile) -> Control | None:
    """Return the medians over the sessions, beside the contest's own decodes of the control's prompts."""
    if not answers.controls:
        return None
    turns = [contest.turn(prompt, control_of(contest)) for prompt in contest.prompts[:CONTROL_PROMPTS]]
    same = [run.milliseconds_per_token for run in map(answers.find, turns) if run is not None]
    return Control(
        before=statistics.median(one.before for one in answers.controls),
        after=statistics.median(one.after for one in answers.controls),
        row=statistics.fmean(same) if same else None,
        openmp_runtimes=max(one.openmp_runtimes for one in answers.controls),
    )
