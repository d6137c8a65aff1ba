"""Before anything is measured: what cannot run is found, ``auto`` is resolved, costs and acceptance are learnt."""

from collections.abc import Iterator
from dataclasses import replace

from dsbd.api import decode
from dsbd.api import plan as plan_auto
from dsbd.errors import PairError, SettingsError
from dsbd.measure.bench.acceptance import LayerWatch
from dsbd.measure.bench.contenders import OPPONENTS, BenchPlan, Contender
from dsbd.measure.bench.results_file import Journal, key
from dsbd.measure.hardware import measure_costs
from dsbd.models.pair import Pair

WATCHED_PROMPTS = 3
FORWARD_SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


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
