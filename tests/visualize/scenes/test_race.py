"""A race as a scene, a drawing and a figure: one clock, plain sentences, nothing read as markup."""

from dataclasses import replace

import pytest
from dsbd.evaluation.race import make_race
from dsbd.evaluation.race_records import Landing, Lane, Race, Stretch
from visualize.drawings.race import BAR, WIDTH, bar_paths, tick_path
from visualize.scenes.race import TextPart, compared, quality_said, race_scene

import visualize
from tests.evaluation.test_race import made_up

SPEEDS = {"beam_sampling": [[20, 21, 22]], "dsbd:same-law": [[60, 61, 62]], "sampling": [[10, 10, 10]]}


def lane(end: float, text: str = "one two", phase: str = "score") -> Lane:
    return Lane((Stretch("prefill", 0.0, 0.5), Stretch(phase, 0.5, end)), (Landing(end, 3, text),), 0)


def made(**speeds) -> Race:
    """A race whose beam sampling takes 4 seconds, and all others 2."""
    found = make_race(made_up(speeds))
    racers = tuple(replace(one, lane=lane(4.0 if one.name == "beam_sampling" else 2.0)) for one in found.racers)
    return replace(found, racers=racers)


@pytest.fixture(scope="module")
def race() -> Race:
    return made(**SPEEDS)


def test_all_lanes_share_the_clock_of_the_slowest(race):
    """Catches a lane that is drawn on another clock."""
    scene = race_scene(race.to_dict())
    assert scene.seconds == 4.0
    ends = {one.name: tick_path(one.lane, scene.seconds).split(" ")[0] for one in scene.lanes}
    assert ends == {"sampling": "M500.00", "beam_sampling": "M1000.00", "dsbd same-law": "M500.00"}
    assert scene.busy == ("prefill", "score")


@pytest.mark.parametrize(
    ("ours", "sentence"),
    [
        ([60, 61, 62], "over all runs here: 2.9 × as fast as beam sampling (95 % interval"),
        ([10, 10, 10], "cost more time than they save: 0.48 × the speed of beam sampling"),
        ([18, 25, 21], "In time no clear difference from beam sampling"),
        ([60], "one run is no comparison"),
    ],
    ids=["faster", "slower", "neither", "one run"],
)
def test_the_sentence_says_the_passes_and_then_the_time(ours, sentence):
    """Catches a sentence that claims more, or less, than the interval."""
    found = made(**{"beam_sampling": [[20, 21, 22][: len(ours)]], "dsbd:same-law": [ours]})
    said = race_scene(found).sentence
    assert said.startswith("Guesses save passes of the large model, on every machine: 1 instead of 1 for several texts")
    assert sentence in said


def test_a_lane_is_compared_in_its_own_heat(race):
    """Catches one text that seems to win against several, and a ratio of other runs than the lane that is drawn."""
    heats = race_scene(race).heats
    assert [(heat, [lane.name for lane in lanes]) for heat, lanes in heats] == [
        ("several texts", ["beam_sampling", "dsbd same-law"]),
        ("one text", ["sampling"]),
    ]
    said = {lane.name: lane.said for _, lanes in heats for lane in lanes}
    assert said["sampling"] == said["beam_sampling"] == "without guesses"
    assert said["dsbd same-law"] == "1 passes of the large model instead of 1"
    assert all(lane.quality.startswith("perplexity") for _, lanes in heats for lane in lanes)


def test_quality_says_which_way_is_better(race):
    """Catches a lower perplexity that is called worse."""
    racer = race.racers[1]
    difference = replace(racer.row.difference, of=replace(racer.row.difference.of, mean=-1.0, low=-1.5, high=-0.5))
    lower = replace(racer, row=replace(racer.row, difference=difference))
    assert quality_said(lower, race) == "perplexity lower, which is better"
    assert quality_said(lower, replace(race, task="sql", higher_is_better=True)) == (
        "share of right answers lower, which is worse"
    )
    assert quality_said(race.racers[0], race) == ""


def test_texts_are_compared_word_by_word():
    pieces = compared("the old fox ran home", "the fox ran away")
    assert "".join(piece.text for piece in pieces) == "the old fox ran home"
    assert [piece.text.strip() for piece in pieces if piece.differs] == ["old", "home"]
    assert compared("same", "same") == (TextPart("same", False),)
    assert compared("", "same") == ()


def test_the_bars_of_a_lane_fill_its_clock(race):
    bars = bar_paths(race_scene(race).lanes[0].lane, 4.0)
    assert bars["score"] == f"M{WIDTH * 0.125:.2f} 0h{WIDTH * 0.875:.2f}V{BAR}h-{WIDTH * 0.875:.2f}z"


def test_a_race_without_lanes_has_no_lane():
    assert race_scene(make_race(made_up(SPEEDS))).lanes == ()


def test_the_scatter_has_the_intervals_of_the_rows(race):
    figure = visualize.race_figure(race)
    assert [trace.name for trace in figure.data[:-1]] == ["Beam sampling", "DSBD, same law", "Sampling"]
    rows = [racer.row for racer in race.racers]
    assert list(figure.data[-1].x) == [max(row.tokens_per_second.mean for row in rows)], "one beats the others in both"
    speed = rows[0].tokens_per_second
    assert figure.data[0].error_x.array[0] == pytest.approx(speed.high - speed.mean)
