"""The one driver of every contest: resolves ``auto``, warms up, then decodes what is missing, contenders in turn.

The bench, the evaluation and the race of the page all run on it.
"""

from collections.abc import Callable, Generator, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

import torch

from dsbd.api import planning
from dsbd.auto import Plan
from dsbd.conditions import conditions
from dsbd.errors import PairError, SettingsError
from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.contenders import FOREIGN, OPPONENTS, Contender
from dsbd.measure.bench.contest import Contest, Turn, limited
from dsbd.measure.bench.foreign import engine_of
from dsbd.measure.bench.records import ResolvedAuto
from dsbd.measure.bench.run import measure_turn
from dsbd.measure.energy import Meter
from dsbd.models.pair import Pair
from dsbd.progress import ProgressLine
from dsbd.session import Observer

WARM_UP_TOKENS = 8


@dataclass(frozen=True)
class ContestProgress:
    """How far a contest is."""

    done: int
    total: int
    """Decodes, those of earlier calls included."""
    doing: str
    """What comes next: ``auto``, ``warm-up``, ``decode`` or ``control``."""
    name: str = ""
    """Of the contender."""
    runs: Any = None
    """What a race has run so far; None before its first decode, and in other contests."""


class ContestRun:
    """A contest on one pair, whose answers are kept in a file.

    Args:
        pair: the models.
        contest: what is measured; ``auto`` is resolved first.
        output: a file for the answers; one that exists is continued. None keeps them in memory.

    Raises:
        DsbdError: something in the contest cannot run on this pair, or the file has other answers.
    """

    def __init__(self, pair: Pair, contest: Contest, output: str | Path | None = None) -> None:
        pair.require_whole("a contest")
        require_runnable(pair, contest)
        self.pair, self.contest = pair, contest
        self.answers = AnswersFile(output)
        """Everything decoded so far."""
        self.answers.begin(contest.asked(), conditions_of(pair, contest.contenders))

    @property
    def read(self) -> int:
        """How many prompts are read into the pair's memory, by one contender or more."""
        if self.pair.memory is None:
            return 0
        sizes = [(prompt, len(self.pair.encode(prompt.text, self.contest.chat))) for prompt in self.contest.prompts]
        return sum(
            any(
                self.pair.reads(size, self.contest.turn(prompt, one).contender.settings.max_new_tokens)
                for one in self.contest.contenders
            )
            for prompt, size in sizes
        )

    @property
    def shortened(self) -> int:
        """How many prompts had to be shortened."""
        return sum(prompt.shortened for prompt in self.contest.prompts)

    def run(self) -> bool:
        """Decode what is missing and say on stderr how far it is; returns False where Ctrl-C stopped it."""
        try:
            with ProgressLine("starting", "decode") as bar:
                for step in self.steps():
                    bar.show(f"{step.doing} {step.name}".strip(), step.done, step.total)
        except KeyboardInterrupt:
            return False
        return True

    def steps(self) -> Iterator[ContestProgress]:
        """Yield the progress of what is missing."""
        return run_contest(self.pair, self.contest, self.answers, metered=True)


def require_runnable(pair: Pair, contest: Contest) -> None:
    """Check everything that could stop a contest later.

    Raises:
        SettingsError: there is no prompt, or ``mjgd`` would have too many blocks to search.
        PromptError: a prompt does not fit the models.
        PairError: a contender drafts and the pair has no draft model, an opponent cannot run the target here, or a
            prompt is to be read into a memory and there is an opponent, which cannot.
    """
    if not contest.prompts:
        raise SettingsError("there is no prompt; give a file with one prompt per line")
    for contender in contest.contenders:
        if contender.drafts and pair.draft is None:
            raise PairError(f"{contender.name} needs a draft model; load one, or leave it out of the methods")
        if contender.method in FOREIGN:
            engine_of(pair, contender.method)
    for prompt in contest.prompts:
        size = len(pair.encode(prompt.text, contest.chat))
        for one in contest.contenders:
            new_tokens = contest.turn(prompt, one).contender.settings.max_new_tokens
            pair.require_fitting(size, new_tokens)
            if one.method in OPPONENTS and pair.reads(size, new_tokens):
                raise PairError(
                    f"{one.name} cannot read a prompt into a memory, and prompt {prompt.id} of {size:,} tokens goes "
                    f"beyond the context; leave {one.method} out of the methods, or load the pair without a memory"
                )


def conditions_of(pair: Pair, contenders: Iterable[Contender]) -> dict[str, Any]:
    """Return what figures depend on: machine, versions and models, and the versions of ``opponents`` that run here."""
    found = conditions(pair)
    packages = sorted({FOREIGN[one.method].package for one in contenders if one.method in FOREIGN})
    return found | ({"opponents": {package: version(package) for package in packages}} if packages else {})


def meters_of(pair: Pair) -> list[Meter]:
    """Return a meter for every device that computes."""
    if pair.device.type != "cuda":
        return [Meter()]
    return [Meter(), Meter(torch.cuda.current_device() if pair.device.index is None else pair.device.index)]


def run_contest(
    pair: Pair,
    contest: Contest,
    answers: AnswersFile,
    metered: bool = False,
    stop: Callable[[], bool] | None = None,
    watching: Callable[[Turn], Sequence[Observer]] = lambda turn: (),
) -> Iterator[ContestProgress]:
    """Decode what the answers lack; closing the iterator ends it after a decode, and what is done is kept.

    ``auto`` is resolved once, at the first prompt, and kept in the answers. ``stop`` is asked before each forward of a
    model; opponents are not asked. ``watching`` gives the observers of a turn of one of our decoders.

    Yields:
        Progress before each trial of ``auto``, each warm-up and each decode, and after the last; nothing where no
        decode is missing.

    Raises:
        StoppedError: ``stop`` returned True.
        ModelError: a model returns logits that are not numbers, or memory runs out.
    """
    missing = [turn.key for turn in contest.turns() if answers.find(turn) is None]
    if not missing:
        return
    total, waiting = contest.total, {name for name, *_ in missing}
    at = ContestProgress(total - len(missing), total, "auto")
    yield from resolve_auto(pair, contest, answers, at, stop)
    contest = replace(contest, contenders=answers.with_auto(contest.contenders))
    meters = meters_of(pair) if metered else []
    for contender in contest.contenders:
        if contender.name in waiting:
            yield replace(at, doing="warm-up", name=contender.name)
            turn = contest.turn(contest.prompts[0], contender)
            short = limited(turn.contender, min(WARM_UP_TOKENS, turn.contender.settings.max_new_tokens))
            measure_turn(pair, replace(turn, contender=short), stop=stop, chat=contest.chat)
    for turn in contest.turns():
        if answers.find(turn) is None:
            at = replace(at, doing="decode", name=turn.contender.name)
            yield at
            answers.add(measure_turn(pair, turn, meters, stop, contest.chat, watching(turn)))
            at = replace(at, done=at.done + 1)
    yield at


def resolve_auto(
    pair: Pair, contest: Contest, answers: AnswersFile, at: ContestProgress, stop: Callable[[], bool] | None = None
) -> Iterator[ContestProgress]:
    """Resolve every ``auto`` that the answers do not hold yet, by measuring on the first prompt, and keep it there.

    Raises:
        StoppedError: ``stop`` returned True.
    """
    prompt = contest.prompts[0]
    for contender in contest.contenders:
        if not contender.settings.is_auto or contender.name in answers.auto:
            continue
        settings = contest.turn(prompt, contender).contender.settings
        trials = planning(pair, prompt.text, settings, contest.chat, stop)
        found = yield from _told(trials, replace(at, doing="auto", name=contender.name))
        answers.add(ResolvedAuto(values=dict(found.values), sentence=found.sentence), contender.name)


def _told(trials: Generator[Any, None, Plan | None], at: ContestProgress) -> Generator[ContestProgress, None, Plan]:
    """Yield progress for every trial, and return the plan."""
    while True:
        try:
            next(trials)
        except StopIteration as end:
            plan: Plan = end.value
            return plan
        yield at
