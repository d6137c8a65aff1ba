"""A race: timelines add up to the decode and are among the measured runs; what is said and drawn of them."""

import json
import re
from codecs import BOM_UTF8
from collections import deque
from dataclasses import replace

import pytest

import dsbd
import visualize
from dsbd.bench.benchmark import Benchmark, Item
from dsbd.bench.race import TimelineObserver, race, race_of
from dsbd.bench.records import BenchmarkProgress, Commit, Race, Span, Timeline, load_race, read_record, to_plain
from dsbd.bench.statistics import make_table
from dsbd.bench.systems import systems
from dsbd.bench.tasks import Prompts
from dsbd.errors import RecordError, SettingsError, StoppedError
from dsbd.util import asset_path
from tests.bench.made_up import BASELINE, Quiz, made_up_run, made_up_table
from tests.toy_pair import toy_pair
from visualize import race as drawing
from visualize.page.race_markup import race_markup

NAMES = ["sampling", "beam_sampling", "dsbd:exact", "hf_sampling"]
VALUES = {"max_new_tokens": 6, "draft_depth": 2, "draft_width": 3}


@pytest.fixture(scope="module")
def ran() -> Race:
    """Three decoders of ours and one of transformers, on one prompt, twice."""
    *steps, last = race(toy_pair(), systems(NAMES, VALUES), ["Once"], rounds=2)
    assert [(step.doing, step.done) for step in steps] == [("warm-up", 0)] * 4 + [("decode", at) for at in range(9)]
    assert {type(step) for step in steps} == {BenchmarkProgress}
    return last


def made_up(**speeds) -> Race:
    """A race on one prompt with these tokens per second; beam sampling's timeline takes 4 seconds, all others 2."""
    chosen, task = systems(list(speeds), {}), Prompts(["Once"])
    items = tuple(Item(task, question, "Once", None) for question in task.questions())
    runs = [
        replace(made_up_run(one.method, cluster="1", seconds=1.0, layers=layers, round=round, seed=round),
                system=one.name, question="1")
        for one, own in zip(chosen, speeds.values(), strict=True)
        for round, layers in enumerate(own)
    ]  # fmt: skip
    whole = race_of(Benchmark(chosen, items, len(runs) // len(chosen)), runs, {})

    def timeline(end: float) -> Timeline:
        spans = (Span("prefill", 0.0, 0.5), Span("score", 0.5, end))
        return Timeline(spans, (Commit(end, 3, "one two"),), 0)

    return replace(whole, timelines={one.name: timeline(4.0 if one.name == "beam_sampling" else 2.0) for one in chosen})


def sentence(shown: Race, kind: str) -> str:
    """Return the sentence of a race's page in the element of this class."""
    element = re.search(rf'<(\w+) class="race-{kind}">(.*?)</\1>', race_markup(shown, None), re.DOTALL)
    return " ".join(re.sub("<[^>]+>", "", element[2]).split())


def changed(shown: Race, system: str, **changes) -> Race:
    """Return a race with other answers of a system."""
    answers = [replace(one, **changes) if one.system == system else one for one in shown.answers]
    return replace(shown, answers=tuple(answers))


SPEEDS = {"beam_sampling": [20] * 6, "dsbd:exact": [58, 59, 60, 61, 62, 63], "sampling": [10] * 6}


def test_a_timeline_is_the_decode_on_its_own_clock():
    """Catches phases that overlap or are missed, and tokens that are committed too early, too often or not at all."""
    observer = TimelineObserver()
    settings = dsbd.DecodingSettings(max_new_tokens=12, draft_depth=2, draft_width=3)
    result = dsbd.decode(toy_pair(), "Once", settings, observers=[observer])
    timeline = observer.timeline()
    assert [one.start for one in timeline.spans] == [0.0, *(one.end for one in timeline.spans[:-1])]
    for phase in ("prefill", "draft", "score", "verify", "commit"):
        seconds = sum(one.end - one.start for one in timeline.spans if one.phase == phase)
        assert seconds == pytest.approx(getattr(result.stats, f"{phase}_seconds"))
    assert sum(one.tokens for one in timeline.commits) == result.stats.layers
    assert (timeline.passes, timeline.text) == (result.stats.iterations, result.text)
    ends = [one.end for one in timeline.spans if one.phase == "commit"]
    assert [one.seconds for one in timeline.commits] == pytest.approx(ends)


def test_everybody_runs_as_often_as_asked_and_has_the_timeline_of_a_measured_run(ran):
    assert [row.system for row in ran.table.rows] == ["sampling", "beam_sampling", "dsbd exact", "hf_sampling"]
    for row in ran.table.rows:
        answers, timeline = ran.answers_of(row.system), ran.timelines[row.system]
        assert [answer.seed for answer in answers] == [0, 1]
        assert [answer.text for answer in answers if answer.seed == timeline.seed] == [timeline.text]
        assert (timeline.passes is None) == (row.system == "hf_sampling")
        assert (row.ratio is None) == (row.system == "beam_sampling")
    assert (ran.table.baseline, ran.complete, ran.table.metric) == ("beam_sampling", True, "perplexity")
    assert ran.is_same_text("dsbd exact", "beam_sampling"), "guesses do not change a draw"
    assert len({timeline.seed for timeline in ran.timelines.values()}) == 1, "the lanes show one seed, and so one text"


def test_a_race_is_kept_as_plain_data(ran, tmp_path):
    ran.save(tmp_path / "race.json")
    (tmp_path / "race.json").write_bytes(BOM_UTF8 + (tmp_path / "race.json").read_bytes())  # as some editors save it
    assert load_race(tmp_path / "race.json") == ran == read_record(Race, to_plain(ran))
    for name in ("smollm2", "sql", "stories"):
        assert load_race(asset_path(f"races/{name}.json")).table.baseline == "beam_sampling"
    for wrong, message in (
        ({"format": "dsbd-race/2"}, "'dsbd-race/3'; give a race, or .*, and measure again what is older"),
        (to_plain(ran) | {"answers": "many"}, "answers"),
        (3, "int"),
    ):
        with pytest.raises(RecordError, match=f"no race.*{message}|{message}.*no race"):
            read_record(Race, wrong)
    for content in (b"{", b"\xff", b"[" * 100_000):
        (tmp_path / "race.json").write_bytes(content)
        with pytest.raises(RecordError, match=r"race\.json is no JSON"):
            load_race(tmp_path / "race.json")


def test_a_race_that_is_stopped_shows_what_ran():
    """Catches a stop that takes the runs with it, or waits for the end of a decode."""
    stops, steps = iter([False] * 28 + [True] * 99), []
    running = race(toy_pair(), systems(NAMES[:2], VALUES), ["a", "b"], cancel=lambda: next(stops))
    with pytest.raises(StoppedError):
        deque(map(steps.append, running), maxlen=0)
    *before, last = steps
    assert (last.complete, len(list(stops))) == (False, 98)
    assert len(last.answers) == before[-1].done > 0


def test_answers_are_scored_by_the_task():
    questions = Quiz().questions(2)
    *_, last = race(toy_pair(), systems(["sampling"], VALUES), questions, Quiz(), rounds=1)
    assert [(answer.score, answer.reason) for answer in last.answers] == [(0.0, "another text")] * 2
    assert list(last.questions) == questions
    assert (last.table.task, last.table.metric, last.table.baseline) == ("quiz", "exact", None)
    for names, prompts, rounds, message in (([], "a", 1, "no decoder"), (1, "aa", 1, "prompts"), (1, "a", 0, "rounds")):
        with pytest.raises(SettingsError, match=message):
            race(toy_pair(), names and systems(["sampling"], VALUES), list(prompts), rounds=rounds)


def test_lanes_share_the_clock_of_the_slowest_and_stand_in_two_groups():
    """Catches a lane that is drawn on another clock, and one text that seems to win against several."""
    shown = made_up(**SPEEDS)
    ends = {name: drawing.tick_path(one, 4.0).split(" ")[0] for name, one in shown.timelines.items()}
    assert (drawing.seconds_of(shown), drawing.phases_of(shown)) == (4.0, {"prefill", "score"})
    assert ends == {"sampling": "M500.00", "beam_sampling": "M1000.00", "dsbd exact": "M500.00"}
    groups = {group: [row.system for row in rows] for group, rows in drawing.groups_of(shown).items()}
    assert groups == {"several texts": ["beam_sampling", "dsbd exact"], "one text": ["sampling"]}


@pytest.mark.parametrize(
    ("ours", "prompts", "changes", "message"),
    [
        (SPEEDS["dsbd:exact"], 1, {}, "2.9 to 3.1 × as fast, the same text, token for token"),
        (SPEEDS["dsbd:exact"], 2, {}, "2.9 to 3.1 × as fast over 2 prompts, the same text, token for token"),
        ([19, 20, 21] * 2, 1, {"text": "x"}, "about as fast, the same text here"),
        ([18, 25, 21] * 2, 1, {"text": "x"}, "0.9 to 1.3 × as fast, the same text here"),
        ([58, 59, 19], 1, {"text": "x"}, "faster in 2 of 3 runs, the same text here"),
        ([60] * 6, 1, {"text": "x", "score": 0.0}, "3 × as fast, 0 of 6 answers right, alone 0 of 6 answers right"),
        ([60] * 6, 1, {"score": 0.0}, "3 × as fast, the same text, token for token, 0 of 6 answers right"),
    ],
)
def test_a_headline_claims_no_more_than_was_measured(ours, prompts, changes, message):
    """Catches the lanes of one prompt below a ratio over several, a winner of a few runs, and the same wrong answer."""
    shown = made_up(**SPEEDS | {"beam_sampling": [20] * len(ours), "dsbd:exact": ours})
    shown = changed(shown, "dsbd exact", **changes)
    for name in ("beam_sampling", "sampling") if "score" in changes else ():
        shown = changed(shown, name, score=0.0)
    assert sentence(replace(shown, questions=shown.questions * prompts), "headline") == message


@pytest.mark.parametrize(
    ("ours", "message"),
    [
        ([60] * 6, "over all runs here: 3.0 × as fast as beam sampling (95 % interval"),
        ([10] * 6, "cost more time than they save: 0.50 × the speed of beam sampling"),
        ([18, 25, 21, 18, 25, 21], "In time no clear difference from beam sampling"),
        ([60], "3.0 × the speed of beam sampling, from too few runs for an interval"),
    ],
)
def test_the_sentence_says_the_passes_and_then_the_time(ours, message):
    """Catches a sentence that claims more, or less, than the interval."""
    text = sentence(made_up(**{"beam_sampling": [20] * len(ours), "dsbd:exact": ours}), "means")
    assert text.startswith("Guesses ahead may save passes of the large model;"), "1 instead of 1 saves none"
    assert message in text


def test_the_same_text_is_said_where_every_run_wrote_it():
    """Catches equality that is claimed of one run of six, and a distribution where there was equality."""
    same = made_up(**SPEEDS)
    slow = replace(same.timelines["beam_sampling"], commits=same.timelines["beam_sampling"].commits * 2)
    same = replace(same, timelines=same.timelines | {"beam_sampling": slow})
    ours = same.answers_of("dsbd exact")
    others = (*same.answers_of("beam_sampling"), *ours[1:], replace(ours[0], text="other"))
    differs = replace(same, answers=others)
    assert "1 instead of 2 for several texts, for the same text, token for token." in sentence(same, "means")
    assert "1 instead of 2 for several texts, under the same distribution." in sentence(differs, "means")
    for shown, words in ((same, "wrote the same text, token for token"), (differs, "Texts are drawn by chance")):
        assert words in race_markup(shown, None)
        assert ("the same text, token for token, as beam sampling" in race_markup(shown, None)) == (shown is same)


def test_figures_show_the_rows_with_their_intervals_in_both_themes():
    """Catches a baseline beside itself, a name that is markup, a dominated point on the line, no title, and two
    of twelve decoders that look alike."""
    table, shown = made_up_table(), made_up(**SPEEDS)
    drawn = visualize.pareto_figure(shown)
    assert [trace.name for trace in drawn.data[:-1]] == ["Beam sampling", "DSBD, exact", "Sampling"]
    named = replace(table, rows=(replace(table.rows[0], system="dsbd draft_width=4 <b>"),))
    assert visualize.pareto_figure(named).data[0].name == "Dsbd draft width=4 &lt;b&gt;"
    front = visualize.pareto_figure(table).data[-1]
    points = {(row.tokens_per_second.mean, row.quality.mean) for row in table.rows}
    best = {one for one in points if not any(b[0] >= one[0] and b[1] >= one[1] for b in points - {one})}
    assert (sorted(zip(front.x, front.y, strict=True)), len(best) < len(points)) == (sorted(best), True)
    twelve = [replace(table.rows[0], system=f"decoder {number}") for number in range(12)]
    marks = [one.marker for one in visualize.pareto_figure(replace(table, rows=tuple(twelve))).data[:12]]
    assert len({(one.color, one.symbol) for one in marks}) == len({one.symbol for one in marks}) == 12
    first, quality = visualize.pareto_figure(table).data[0], table.rows[0].quality
    assert first.error_y.array[0] == pytest.approx(quality.high - quality.mean)
    dark = visualize.pareto_figure(json.loads(json.dumps(to_plain(table))), theme="dark")
    assert dark.layout.template != visualize.pareto_figure(table).layout.template
    empty = visualize.pareto_figure(make_table([], Quiz(), BASELINE))
    assert (bool(empty.layout.title.text), empty.data) == (True, ())
