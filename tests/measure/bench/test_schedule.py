"""Measuring on the toy pair: interleaved, every prompt with every seed."""

from collections import Counter

from dsbd.measure.bench.results_file import Journal
from dsbd.measure.bench.schedule import measure
from tests.measure.bench.plans import plan_of
from tests.toy_pair import toy_pair


def test_every_contender_runs_every_prompt_with_seeds_in_turn():
    plan, journal = plan_of(seed=7), Journal()
    steps = list(measure(toy_pair(), plan, journal))
    runs = [step.run for step in steps if step.run is not None]
    assert len(steps) == len(plan.contenders) + plan.total
    assert Counter((run.contender, run.prompt, run.seed) for run in runs) == Counter(
        (contender.name, prompt, seed) for contender in plan.contenders for prompt in plan.prompts for seed in (7, 8)
    )
    assert [step.missing for step in steps][-plan.total :] == list(range(plan.total))[::-1]
    places = [(run.prompt, run.seed) for run in runs]
    assert places == sorted(places, key=places.index)  # interleaved: a prompt's contenders follow each other
    assert sum(run.contender == runs[0].contender for run in runs[:2]) == 1
