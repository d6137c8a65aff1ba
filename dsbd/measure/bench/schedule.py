"""Measuring contenders against each other: warmed up, interleaved, gone on with where it was left."""

import random
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace

from dsbd.decoder import decode
from dsbd.decoder import plan as plan_auto
from dsbd.errors import PairError, SettingsError
from dsbd.measure.bench.acceptance import LayerWatch
from dsbd.measure.bench.contenders import OPPONENTS, BenchPlan, Contender
from dsbd.measure.bench.results_file import Journal, key
from dsbd.measure.bench.run import Run, measure_run
from dsbd.measure.energy import Meter
from dsbd.measure.hardware import measure_costs
from dsbd.models.pair import Pair

WARM_UP_TOKENS = 8
WATCHED_PROMPTS = 3
FORWARD_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


@dataclass(frozen=True)
class Step:
    """A warm-up (``run`` None) or a run that has just been done."""

    contender: Contender
    run: Run | None
    missing: int
    """Runs still to be done."""


def require_runnable(pair: Pair, plan: BenchPlan) -> None:
    """Find out before anything is measured what cannot be.

    Raises:
        SettingsError: no prompt.
        PromptError: a prompt does not fit the models.
        PairError: a contender drafts and the pair has no draft model.
    """
    if not plan.prompts:
        raise SettingsError("there is no prompt; give a file with one prompt a line")
    for contender in plan.contenders:
        if contender.drafts and pair.draft is None:
            raise PairError(f"{contender.name} needs a draft model; load one, or leave it out of the methods")
    longest = max(contender.settings.max_new_tokens for contender in plan.contenders)
    for prompt in plan.prompts:
        pair.require_room(len(pair.encode(prompt)), longest)


def settle(pair: Pair, plan: BenchPlan, journal: Journal) -> BenchPlan:
    """The plan with every ``auto`` resolved, by trials off the clock; a journal that is gone on with keeps its own."""
    return replace(plan, contenders=tuple(_settled(pair, one, plan.prompts[0], journal) for one in plan.contenders))


def _settled(pair: Pair, contender: Contender, prompt: str, journal: Journal) -> Contender:
    if not contender.drafts or not contender.settings.is_auto:
        return contender
    name = f"plan {key(contender, '', 0)}"
    if journal.cost(name) is None:
        found = plan_auto(pair, prompt, contender.settings)
        journal.add_cost(name, {"values": found.values, "sentence": found.sentence})
    kept = journal.cost(name)
    return replace(contender, settings=replace(contender.settings, **kept["values"]), plan=kept["sentence"])


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


def learn_acceptance(pair: Pair, plan: BenchPlan, journal: Journal) -> Iterator[Contender]:
    """Whole decodes of each drafting contender, off the clock, watched for what layers pass; once per journal."""
    for contender in plan.contenders:
        if contender.drafts and contender.method not in OPPONENTS and journal.cost(acceptance_name(contender)) is None:
            watch = LayerWatch()
            for prompt in plan.prompts[:WATCHED_PROMPTS]:
                decode(pair, prompt, contender.settings, observers=[watch])
            journal.add_cost(acceptance_name(contender), watch.summary())
            yield contender


def acceptance_name(contender: Contender) -> str:
    """Under which name the journal keeps a contender's acceptance."""
    return f"acceptance {key(contender, '', 0)}"


def learn_costs(pair: Pair, journal: Journal) -> None:
    """Time the forwards and the bandwidth of this machine, once per journal."""
    if journal.cost("forwards") is None:
        journal.add_cost("forwards", measure_costs(pair, FORWARD_SIZES))


def runs_of(plan: BenchPlan, journal: Journal) -> dict[str, list[list[Run | None]]]:
    """By contender's name: prompts x turns, None where not measured yet."""
    return {
        contender.name: [
            [journal.find(contender, prompt, plan.seed(contender, turn)) for turn in range(plan.rounds)]
            for prompt in plan.prompts
        ]
        for contender in plan.contenders
    }
