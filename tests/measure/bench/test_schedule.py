"""Measuring on the toy pair: interleaved, every prompt with every seed."""

from collections import Counter

from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.bench.schedule import measure
from tests.measure.bench.contests import contest_of
from tests.toy_pair import toy_pair


def test_every_contender_runs_every_prompt_with_seeds_in_turn():
    contest, results = contest_of(seed=7), ResultsFile()
    steps = list(measure(toy_pair(), contest, results))
    runs = [step.run for step in steps if step.run is not None]
    assert len(steps) == len(contest.contenders) + contest.total
    assert Counter((run.contender, run.prompt, run.seed) for run in runs) == Counter(
        (contender.name, prompt, seed)
        for contender in contest.contenders
        for prompt in contest.prompts
        for seed in (7, 8)
    )
    assert [step.missing for step in steps][-contest.total :] == list(range(contest.total))[::-1]
    places = [(run.prompt, run.seed) for run in runs]
    assert places == sorted(places, key=places.index)  # interleaved: a prompt's contenders follow each other
    assert sum(run.contender == runs[0].contender for run in runs[:2]) == 1
