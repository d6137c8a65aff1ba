"""Measuring contenders against each other: warmed up, interleaved, gone on with where it was left."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dsbd.measure.bench.contenders import BenchPlan, Contender
from dsbd.measure.bench.records import Run
from dsbd.measure.bench.results_file import Journal
from dsbd.measure.bench.run import measure_run
from dsbd.measure.energy import Meter
from dsbd.models.pair import Pair

WARM_UP_TOKENS = 8


@dataclass(frozen=True)
class Step:
    """A warm-up (``run`` None) or a run that has just been done."""

    contender: Contender
    run: Run | None
    missing: int
    """Runs still to be done."""


def measure(pair: Pair, plan: BenchPlan, journal: Journal, meters: Mapping[str, Meter] | None = None) -> Iterator[Step]:
    """Run what the journal does not hold yet, the order of the contenders shuffled per prompt; closing it stops.

    Args:
        plan: settled, for a plan made within a warm-up of a few tokens would be a poor one.

    Yields:
        A :class:`Step` after each warm-up and each run.
    """
    order = random.Random(0)
    turns = [(turn, prompt) for turn in range(plan.rounds) for prompt in plan.prompts]
    shuffled = [(turn, prompt, order.sample(plan.contenders, len(plan.contenders))) for turn, prompt in turns]
    missing = [
        (contender, prompt, plan.seed(contender, turn))
        for turn, prompt, contenders in shuffled
        for contender in contenders
        if journal.find(contender, prompt, plan.seed(contender, turn)) is None
    ]
    for contender in plan.contenders:
        if any(contender is waiting for waiting, _, _ in missing):
            warm_up(pair, contender, plan.prompts[0])
            yield Step(contender, None, len(missing))
    for done, (contender, prompt, seed) in enumerate(missing, 1):
        run = measure_run(pair, contender, prompt, seed, meters)
        journal.add(contender, run)
        yield Step(contender, run, len(missing) - done)


def warm_up(pair: Pair, contender: Contender, prompt: str) -> None:
    """A short run that is not counted."""
    settings = contender.settings
    short = replace(settings, max_new_tokens=min(WARM_UP_TOKENS, settings.max_new_tokens))
    measure_run(pair, replace(contender, settings=short), prompt, settings.seed)


def runs_of(plan: BenchPlan, journal: Journal) -> dict[str, list[list[Run | None]]]:
    """By contender's name: prompts x turns, None where not measured yet."""
    return {
        contender.name: [
            [journal.find(contender, prompt, plan.seed(contender, turn)) for turn in range(plan.rounds)]
            for prompt in plan.prompts
        ]
        for contender in plan.contenders
    }
