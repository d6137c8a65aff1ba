"""Races: lanes add up to the decode and are among the measured runs, intervals are those of their slow twins."""

import math
import statistics

import pytest
from dsbd.evaluation.lanes import LaneWatch
from dsbd.evaluation.race import RaceRuns, make_race, race
from dsbd.evaluation.race_records import read_race
from dsbd.measure.bench.contenders import contenders
from dsbd.measure.bench.contest import Contest, plain_prompts

import dsbd
from dsbd.errors import SettingsError
from tests.evaluation.quiz import Quiz
from tests.measure.bench.made_up import made_up_run
from tests.toy_pair import toy_pair

NAMES = ["sampling", "beam_sampling", "dsbd:same-law", "hf_sampling"]
VALUES = {"max_new_tokens": [6], "draft_depth": [2], "draft_width": [3]}


@pytest.fixture(scope="module")
def runs() -> RaceRuns:
    """Three decoders of ours and one of transformers, on one prompt, twice."""
    steps = list(race(toy_pair(), contenders(NAMES, VALUES), ["Once"], 2))
    assert [step.done for step in steps] == [0] * 4 + list(range(9))
    assert [step.runs is None for step in steps] == [True] * 5 + [False] * 8
    assert [step.doing for step in steps] == ["warm-up"] * 4 + ["decode"] * 9
    return steps[-1].runs


def made_up(speeds: dict[str, list[list[int]]], prompts: tuple[str, ...] = ("Once",), **changes) -> RaceRuns:
    """A race with given tokens per second: prompts x rounds."""
    racing, asked = contenders(list(speeds), {}), plain_prompts(prompts)
    figures = {"text": "yes 0", "seconds": 1.5, "prefill_seconds": 0.5, "target_calls": 4} | changes
    made = [
        made_up_run(speed, contender=one.name, question=prompt.id, cluster=prompt.id, round=seed, seed=seed, **figures)
        for one, rows in zip(racing, speeds.values(), strict=True)
        for prompt, row in zip(asked, rows, strict=True)
        for seed, speed in enumerate(row)
    ]
    return RaceRuns(Contest(racing, asked, len(next(iter(speeds.values()))[0])), made, {})


def ratio_of(raced: RaceRuns, name: str):
    return next(one for one in make_race(raced).racers if one.name == name).ratio


def test_a_lane_is_the_decode_on_its_own_clock():
    """Catches phases that overlap or are missed, and tokens that land too early, too often or not at all."""
    settings = dsbd.DecodingSettings(max_new_tokens=12, draft_depth=2, draft_width=3)
    watch = LaneWatch()
    result = dsbd.decode(toy_pair(), "Once", settings, observers=[watch])
    lane = watch.lane()
    assert [one.start for one in lane.stretches] == [0.0, *(one.end for one in lane.stretches[:-1])]
    assert lane.seconds == pytest.approx(result.stats.seconds)
    for phase in ("prefill", "draft", "score", "verify", "commit"):
        spent = sum(one.end - one.start for one in lane.stretches if one.phase == phase)
        assert spent == pytest.approx(getattr(result.stats, f"{phase}_seconds"))
    assert sum(one.tokens for one in lane.landings) == result.stats.layers
    assert len(lane.landings) == result.stats.iterations
    assert lane.text == result.text
    ends = [one.end for one in lane.stretches if one.phase == "commit"]
    assert [one.seconds for one in lane.landings] == pytest.approx(ends)


def test_everybody_runs_as_often_as_asked_and_has_a_lane(runs):
    result = make_race(runs)
    assert [racer.name for racer in result.racers] == ["sampling", "beam_sampling", "dsbd same-law", "hf_sampling"]
    for racer in result.racers:
        assert len(racer.answers) == 2
        (shown,) = [answer for answer in racer.answers if answer.seed == racer.lane.seed]
        assert racer.lane.text == shown.text
        assert racer.lane.has_phases == (racer.name != "hf_sampling")
    assert result.baseline == "beam_sampling"
    assert result.racers[1].ratio is None


def test_a_lane_is_the_measured_run_that_took_the_middle_time(runs):
    """Catches a lane that says another ratio than the figures beside it."""
    for name, lane in runs.lanes.items():
        seconds = {run.seed: run.seconds for run in runs.runs if run.contender == name}
        assert seconds[lane.seed] == min(seconds.values())  # of two runs
        assert lane.seconds == pytest.approx(seconds[lane.seed], rel=0.2, abs=0.01)


def test_plain_data_and_back(runs):
    result = make_race(runs)
    assert read_race(result.to_dict()) == result
    assert read_race(result) is result
    with pytest.raises(ValueError, match="dsbd-race/1"):
        read_race({"format": "other"})
    with pytest.raises(ValueError, match="rounds"):
        read_race(result.to_dict() | {"rounds": "many"})


def test_the_interval_over_prompts_averages_their_seeds_first():
    """Catches seeds that count as if they were further prompts: the interval would be too narrow."""
    ours, theirs = [[30, 44], [36, 39], [50, 41]], [[20, 21], [25, 24], [26, 20]]
    raced = made_up({"sampling": ours, "beam_sampling": theirs}, ("a", "b", "c"))
    found = ratio_of(raced, "sampling")
    logs = [
        statistics.fmean(map(math.log, a)) - statistics.fmean(map(math.log, b))
        for a, b in zip(ours, theirs, strict=True)
    ]
    half = 4.3027 * statistics.stdev(logs) / math.sqrt(3)
    assert found.high == pytest.approx(math.exp(statistics.fmean(logs) + half), rel=1e-4)


def test_without_a_baseline_nothing_is_compared():
    result = make_race(made_up({"sampling": [[20, 21]], "greedy": [[20, 21]]}))
    assert result.baseline is None
    assert [racer.ratio for racer in result.racers] == [None, None]


def test_answers_are_scored_by_the_task():
    task = Quiz()
    questions = task.questions(2)
    prompts = tuple(question.prompt for question in questions)
    raced = made_up({"sampling": [[20], [20]], "beam_sampling": [[20], [20]]}, prompts)
    result = make_race(raced, task, questions)
    assert [answer.right for answer in result.racers[0].answers] == [True, False]
    assert result.racers[0].answers[1].reason == "another text"
    assert [prompt.gold for prompt in result.prompts] == ["yes 0", "yes 1"]
    assert (result.task, result.metric, result.higher_is_better) == ("quiz", "exact", True)
    assert result.racers[0].row.right is not None


@pytest.mark.parametrize(
    ("names", "prompts", "rounds", "said"),
    [
        ([], ["Once"], 1, "no decoder is chosen"),
        (["sampling"], ["a", "a"], 1, "prompts"),
        (["sampling"], ["a"], 0, "rounds"),
    ],
)
def test_what_cannot_race(names, prompts, rounds, said):
    racing = contenders(names, VALUES) if names else ()
    with pytest.raises(SettingsError, match=said):
        race(toy_pair(), racing, prompts, rounds)
