"""Orders the runs: first a warm-up, then the contenders interleaved in random order, without those done already."""

import random
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, replace

from dsbd.measure.bench.contenders import Contender, Contest
from dsbd.measure.bench.records import Run
from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.bench.run import measure_run
from dsbd.measure.energy import Meter
from dsbd.models.pair import Pair

WARM_UP_TOKENS = 8


@dataclass(frozen=True)
class Step:
    """A warm-up (``run`` None) or a run that has just ended."""

    contender: Contender
    run: Run | None
    missing: int
    """Number of runs still to do."""


def measure(
    pair: Pair,
    contest: Contest,
    results: ResultsFile,
    meters: Mapping[str, Meter] | None = None,
    stop: Callable[[], bool] | None = None,
) -> Iterator[Step]:
    """Run what the results do not hold yet, the contenders of each prompt in random order; closing it stops.

    Args:
        contest: without ``auto``: a warm-up of a few tokens is too short to resolve it well.
        stop: asked inside the runs of this package's methods; once it returns True they end with a StoppedError.

    Yields:
        A :class:`Step` after each warm-up and each run.
    """
    order = random.Random(0)
    turns = [(turn, prompt) for turn in range(contest.rounds) for prompt in contest.prompts]
    shuffled = [(turn, prompt, order.sample(contest.contenders, len(contest.contenders))) for turn, prompt in turns]
    missing = [
        (contender, prompt, contest.seed(contender, turn))
        for turn, prompt, contenders in shuffled
        for contender in contenders
        if results.find(contender, prompt, contest.seed(contender, turn)) is None
    ]
    for contender in contest.contenders:
        if any(contender is waiting for waiting, _, _ in missing):
            warm_up(pair, contender, contest.prompts[0], stop)
            yield Step(contender, None, len(missing))
    for done, (contender, prompt, seed) in enumerate(missing, 1):
        run = measure_run(pair, contender, prompt, seed, meters, stop)
        results.add(contender, run)
        yield Step(contender, run, len(missing) - done)


def warm_up(pair: Pair, contender: Contender, prompt: str, stop: Callable[[], bool] | None = None) -> None:
    """Make a short run that does not count."""
    settings = contender.settings
    short = replace(settings, max_new_tokens=min(WARM_UP_TOKENS, settings.max_new_tokens))
    measure_run(pair, replace(contender, settings=short), prompt, settings.seed, stop=stop)


def runs_of(contest: Contest, results: ResultsFile) -> dict[str, list[list[Run | None]]]:
    """Return the runs by contender's name: prompts x rounds, None where not measured yet."""
    return {
        contender.name: [
            [results.find(contender, prompt, contest.seed(contender, turn)) for turn in range(contest.rounds)]
            for prompt in contest.prompts
        ]
        for contender in contest.contenders
    }
