"""A race: lanes add up to the decode and are among the measured runs; what is said and drawn of them."""

import json
from codecs import BOM_UTF8
from collections import deque
from dataclasses import replace

import pytest

import dsbd
import visualize
from dsbd.bench.benchmark import Asked, Benchmark
from dsbd.bench.race import LaneWatch, race, race_of
from dsbd.bench.records import Landing, Lane, Progress, Race, Stretch, load_race, read_record, to_plain
from dsbd.bench.statistics import make_table
from dsbd.bench.systems import systems
from dsbd.bench.tasks import Prompts
from dsbd.errors import RecordError, SettingsError, StoppedError
from dsbd.util import asset_path
from tests.bench.made_up import BASELINE, Quiz, made_up_run, made_up_table
from tests.toy_pair import toy_pair
from visualize import race as drawing

NAMES = ["sampling", "beam_sampling", "dsbd:exact", "hf_sampling"]
VALUES = {"max_new_tokens": 6, "draft_depth": 2, "draft_width": 3}


@pytest.fixture(scope="module")
def ran() -> Race:
    """Three decoders of ours and one of transformers, on one prompt, twice."""
    *steps, last = race(toy_pair(), systems(NAMES, VALUES), ["Once"], rounds=2)
    assert [(step.doing, step.done) for step in steps] == [("warm-up", 0)] * 4 + [("decode", at) for at in range(9)]
    assert {type(step) for step in steps} == {Progress}
    return last


def made_up(**speeds) -> Race:
    """A race on one prompt with these tokens per second; beam sampling's lane takes 4 seconds, all others 2."""
    racing = systems(list(speeds), {})
    task = Prompts(["Once"])
    asked = [Asked(task, question, "Once", None) for question in task.questions()]
    runs = [
        replace(made_up_run(one.method, cluster="1", seconds=1.0, layers=layers, round=round, seed=round),
                system=one.name, question="1")
        for one, own in zip(racing, speeds.values(), strict=True)
        for round, layers in enumerate(own)
    ]  # fmt: skip
    found = race_of(Benchmark(racing, tuple(asked), len(runs) // len(racing)), runs, {})

    def lane(end: float) -> Lane:
        stretches = (Stretch("prefill", 0.0, 0.5), Stretch("score", 0.5, end))
        return Lane(stretches, (Landing(end, 3, "one two"),), 0)

    racers = tuple(replace(one, lane=lane(4.0 if one.name == "beam_sampling" else 2.0)) for one in found.racers)
    return replace(found, racers=racers)


SPEEDS = {"beam_sampling": [20] * 6, "dsbd:exact": [58, 59, 60, 61, 62, 63], "sampling": [10] * 6}


def test_a_lane_is_the_decode_on_its_own_clock():
    """Catches phases that overlap or are missed, and tokens that land too early, too often or not at all."""
    watch = LaneWatch()
    settings = dsbd.DecodingSettings(max_new_tokens=12, draft_depth=2, draft_width=3)
    result = dsbd.decode(toy_pair(), "Once", settings, observers=[watch])
    lane = watch.lane()
    assert [one.start for one in lane.stretches] == [0.0, *(one.end for one in lane.stretches[:-1])]
    for phase in ("prefill", "draft", "score", "verify", "commit"):
        spent = sum(one.end - one.start for one in lane.stretches if one.phase == phase)
        assert spent == pytest.approx(getattr(result.stats, f"{phase}_seconds"))
    assert sum(one.tokens for one in lane.landings) == result.stats.layers
    assert (len(lane.landings), lane.text) == (result.stats.iterations, result.text)
    ends = [one.end for one in lane.stretches if one.phase == "commit"]
    assert [one.seconds for one in lane.landings] == pytest.approx(ends)


def test_everybody_runs_as_often_as_asked_and_has_the_lane_of_a_measured_run(ran):
    assert [racer.name for racer in ran.racers] == ["sampling", "beam_sampling", "dsbd exact", "hf_sampling"]
    for racer in ran.racers:
        assert [answer.seed for answer in racer.answers] == [0, 1]
        (shown,) = [answer for answer in racer.answers if answer.seed == racer.lane.seed]
        assert racer.lane.text == shown.text
        assert racer.lane.has_phases == (racer.name != "hf_sampling")
        assert (racer.row.ratio is None) == (racer.name == "beam_sampling")
    assert (ran.baseline, ran.complete, ran.task) == ("beam_sampling", True, None)


def test_a_race_is_kept_as_plain_data(ran, tmp_path):
    ran.save(tmp_path / "race.json")
    (tmp_path / "race.json").write_bytes(BOM_UTF8 + (tmp_path / "race.json").read_bytes())  # as some editors save it
    assert load_race(tmp_path / "race.json") == ran == read_record(Race, to_plain(ran))
    for name in ("sql", "stories"):
        assert load_race(asset_path(f"races/{name}.json")).baseline == "beam_sampling"
    for wrong, said in (
        ({"format": "other"}, "dsbd-race/2"),
        (to_plain(ran) | {"rounds": "many"}, "rounds"),
        (3, "int"),
    ):
        with pytest.raises(RecordError, match=f"no race.*{said}|{said}.*no race"):
            read_record(Race, wrong)
    for content in (b"{", b"\xff", b"[" * 100_000):
        (tmp_path / "race.json").write_bytes(content)
        with pytest.raises(RecordError, match=r"race\.json is no JSON"):
            load_race(tmp_path / "race.json")


def test_a_race_that_is_stopped_shows_what_ran():
    """Catches a stop that takes the runs with it, or waits for the end of a decode."""
    asked, steps = iter([False] * 28 + [True] * 99), []
    running = race(toy_pair(), systems(NAMES[:2], VALUES), ["a", "b"], cancel=lambda: next(asked))
    with pytest.raises(StoppedError):
        deque(map(steps.append, running), maxlen=0)
    *before, last = steps
    assert (last.complete, len(list(asked))) == (False, 98)
    assert sum(len(racer.answers) for racer in last.racers) == before[-1].done > 0


def test_answers_are_scored_by_the_task():
    questions = Quiz().questions(2)
    *_, last = race(toy_pair(), systems(["sampling"], VALUES), questions, Quiz(), rounds=1)
    assert [answer.right for answer in last.racers[0].answers] == [False, False]
    assert last.racers[0].answers[1].reason == "another text"
    assert [prompt.gold for prompt in last.prompts] == ["yes 0", "yes 1"]
    assert (last.task, last.metric, last.higher_is_better, last.baseline) == ("quiz", "exact", True, None)
    for racing, prompts, rounds, said in (((), "a", 1, "no decoder"), (1, "aa", 1, "prompts"), (1, "a", 0, "rounds")):
        with pytest.raises(SettingsError, match=said):
            race(toy_pair(), racing and systems(["sampling"], VALUES), list(prompts), rounds=rounds)


def test_lanes_share_the_clock_of_the_slowest_and_stand_in_two_heats():
    """Catches a lane that is drawn on another clock, and one text that seems to win against several."""
    shown = made_up(**SPEEDS)
    lanes = {racer.name: racer.lane for racer in shown.racers}
    ends = {name: drawing.tick_path(lane, 4.0).split(" ")[0] for name, lane in lanes.items()}
    assert (drawing.seconds_of(shown), drawing.busy_of(shown)) == (4.0, ["prefill", "score"])
    assert ends == {"sampling": "M500.00", "beam_sampling": "M1000.00", "dsbd exact": "M500.00"}
    heats = {heat: [one.name for one in stands] for heat, stands in drawing.lanes_of(shown).items()}
    assert heats == {"several texts": ["beam_sampling", "dsbd exact"], "one text": ["sampling"]}


@pytest.mark.parametrize(
    ("ours", "prompts", "changed", "said"),
    [
        (SPEEDS["dsbd:exact"], 1, {}, "2.9 to 3.1 × as fast, the same text"),
        (SPEEDS["dsbd:exact"], 2, {}, "2.9 to 3.1 × as fast over 2 prompts, the same text here"),
        ([19, 20, 21] * 2, 1, {}, "about as fast, the same text"),
        ([18, 25, 21] * 2, 1, {}, "0.9 to 1.3 × as fast, the same text"),
        ([58, 59, 19], 1, {}, "faster in 2 of 3 runs, the same text"),
        ([60] * 6, 1, {"task": "sql"}, "3 × as fast, 0 of 6 right, alone 0 of 6 right"),
    ],
)
def test_a_headline_claims_no_more_than_was_measured(ours, prompts, changed, said):
    """Catches the lanes of one prompt below a ratio over several, a winner of a few runs, and the same wrong answer."""
    shown = made_up(**SPEEDS | {"beam_sampling": [20] * len(ours), "dsbd:exact": ours})
    if changed:
        wrong = [
            replace(one, answers=tuple(replace(each, right=False) for each in one.answers)) for one in shown.racers
        ]
        shown = replace(shown, racers=tuple(wrong), **changed)
    assert drawing.headline_of(replace(shown, prompts=shown.prompts * prompts)) == said


@pytest.mark.parametrize(
    ("ours", "sentence"),
    [
        ([60] * 6, "over all runs here: 3.0 × as fast as beam sampling (95 % interval"),
        ([10] * 6, "cost more time than they save: 0.50 × the speed of beam sampling"),
        ([18, 25, 21, 18, 25, 21], "In time no clear difference from beam sampling"),
        ([60], "3.0 × the speed of beam sampling, from too few runs for an interval"),
    ],
)
def test_the_sentence_says_the_passes_and_then_the_time(ours, sentence):
    """Catches a sentence that claims more, or less, than the interval."""
    said = drawing.meaning_of(made_up(**{"beam_sampling": [20] * len(ours), "dsbd:exact": ours}))
    assert said.startswith("Guesses ahead may save passes of the large model;"), "1 instead of 1 saves none"
    assert sentence in said


def test_figures_show_the_rows_with_their_intervals_in_both_themes():
    """Catches a baseline beside itself, a name that is markup, a dominated point on the line, no title, and two
    of twelve decoders that look alike."""
    table, shown = made_up_table(), made_up(**SPEEDS)
    drawn = visualize.pareto_figure(shown)
    assert [trace.name for trace in drawn.data[:-1]] == ["Beam sampling", "DSBD, same distribution", "Sampling"]
    rows = [replace(row, system=f"{row.system} <b>") for row in table.rows if row.ratio]
    (ratios,) = visualize.speed_figure(replace(table, rows=tuple(rows))).data
    assert ratios.x == tuple(row.ratio.median for row in rows)
    assert ratios.y[1] == "Dsbd draft width=4 &lt;b&gt;"
    front = visualize.pareto_figure(table).data[-1]
    points = {(row.tokens_per_second.mean, row.quality.mean) for row in table.rows}
    best = {one for one in points if not any(b[0] >= one[0] and b[1] >= one[1] for b in points - {one})}
    assert (sorted(zip(front.x, front.y, strict=True)), len(best) < len(points)) == (sorted(best), True)
    twelve = [replace(table.rows[0], system=f"decoder {number}") for number in range(12)]
    marks = [one.marker for one in visualize.pareto_figure(replace(table, rows=tuple(twelve))).data[:12]]
    assert len({(one.color, one.symbol) for one in marks}) == len({one.symbol for one in marks}) == 12
    first, quality = visualize.pareto_figure(table).data[0], table.rows[0].quality
    assert first.error_y.array[0] == pytest.approx(quality.high - quality.mean)
    for draw in (visualize.pareto_figure, visualize.speed_figure):
        dark = draw(json.loads(json.dumps(to_plain(table))), theme="dark")
        assert dark.layout.template != draw(table).layout.template
        empty = draw(make_table([], Quiz(), BASELINE))
        assert (bool(empty.layout.title.text), empty.data) == (True, ())
