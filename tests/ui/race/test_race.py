"""The Race tab: handlers, markup that escapes, answers with their rows, and one visit in a browser."""

import json
import re

import pytest

from dsbd.evaluation.race import make_race, race
from dsbd.evaluation.races import Answer, read_race
from dsbd.measure.bench.contenders import contenders
from dsbd.settings import DecodingSettings
from tests.axe import named, violations
from tests.toy_pair import toy_pair
from tests.ui.packed import unpacked
from tests.ui.visit import Visit
from ui.asked.form import FIELDS, shown_value
from ui.race import handlers
from ui.race.answers import answers_markup, rows_markup, short
from ui.race.choice import RACERS, contenders_of
from ui.race.markup import race_markup, table_markup
from ui.race.task import rows_of, task_of

START = {field.name: shown_value(field) for field in FIELDS} | {"draft_depth": 2, "draft_width": 3}
HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"
SQL = "bundled:sql/target"
SCRUB = """value => {
  const scrub = document.querySelector(".race-scrub");
  scrub.value = value;
  scrub.dispatchEvent(new Event("input"));
}"""


def racing(engine, racers=("beam_sampling", "dsbd"), more=(), runs=1, source="prompt", questions=(), prompt="Once"):
    asked = [source, prompt, list(questions), list(racers), list(more), runs, 6]
    return list(handlers.run(engine, "me", *asked, *START.values()))


@pytest.fixture(scope="module")
def plain():
    """A race of two decoders as plain data."""
    racing = contenders(["beam_sampling", "dsbd"], ("defaults",), {"max_new_tokens": [6], "draft_depth": [2]})
    *_, last = race(toy_pair(), racing, ["Once"], 2)
    return make_race(last.runs).to_dict()


def test_a_race_ends_with_lanes_texts_table_and_scatter(engine):
    first, *_, last = racing(engine)
    assert '<progress value="1" max="6"' in first.note
    assert "Run 1 of 6" in first.note
    assert "from before this race" in first.note
    assert last.problem == ""
    assert last.run["visible"] is True
    assert last.stage.count('<li class="race-lane') == 2
    assert last.stage.count("<article>") == 2
    assert last.stage.count('<th scope="row">') == 2
    assert "data-plays" in last.stage
    assert len(unpacked(last.charts)) == 1
    assert "one run shows no difference" in last.stage


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"racers": ()}, "No decoder is chosen"),
        ({"racers": ("magic",)}, "Decoder is 'magic'"),
        ({"runs": 2.5}, "Runs is 2.5"),
        ({"runs": 99}, "99 asked for"),
        ({"prompt": " "}, "Prompt is blank"),
    ],
)
def test_races_that_are_refused(engine, given, said):
    (only,) = racing(engine, **given)
    assert 'role="alert"' in only.problem
    assert said in only.problem.replace("&#x27;", "'")


def test_every_racer_can_be_named_and_has_its_point():
    """Catches a name that the bench does not know, and a point or a dynamic width that the form's fields overrule."""
    found = contenders_of(RACERS, DecodingSettings(method="sampling", num_beams=3, min_width=2, max_width=2))
    assert len(found) == len(RACERS)
    named = {one.name: one.settings for one in found}
    assert (named["dsbd same-law"].min_width, named["dsbd same-law"].max_width) == (3, 3)
    assert (named["dsbd defaults"].min_width, named["dsbd defaults"].max_width) == (1, None)
    assert (named["dsbd as in Play"].method, named["dsbd as in Play"].min_width) == ("dsbd", 2)
    assert named["beam_sampling"].num_beams == 3


def test_texts_are_escaped_wherever_they_stand(plain):
    """Catches a token, a query, a reason or a name that is read as markup."""
    hostile = json.loads(json.dumps(plain).replace('"Once"', json.dumps(HOSTILE)))
    for racer in hostile["racers"]:
        racer["name"] = HOSTILE + racer["name"]
        for landing in racer["lane"]["landings"]:
            landing["text"] = HOSTILE
        racer["answers"] = [
            {"prompt": 0, "seed": 0, "text": HOSTILE, "answer": HOSTILE, "right": False, "reason": HOSTILE}
        ]
    marked = race_markup(read_race(hostile), None)
    asked = read_race(hostile | {"task": "sql", "prompts": [{"text": HOSTILE, "gold": HOSTILE}]})
    for markup in (marked, race_markup(asked, task_of(SQL)), answers_markup(asked, None)):
        assert "&lt;script&gt;" in markup
        assert "<script" not in markup
        assert "<img" not in markup


def test_null_is_not_measured(plain):
    data = json.loads(json.dumps(plain))
    for racer in data["racers"]:
        racer["row"] |= {"tokens_per_second": None, "perplexity": None, "layers_per_iteration": None}
        racer["ratio"] = None
    assert table_markup(read_race(data)).count("not measured") == 7


def test_intervals_end_where_no_figure_can_be(plain):
    """Catches a perplexity below 1."""
    mean = {"mean": 2.0, "standard_error": 1.0, "low": -3.0, "high": 7.0, "count": 2, "clusters": 2}
    data = json.loads(json.dumps(plain))
    data["racers"][0]["row"] |= {"tokens_per_second": mean, "perplexity": mean}
    markup = table_markup(read_race(data))
    assert "2.0 <small>0.0 to 7.0</small>" in markup
    assert "2.00 <small>1.00 to 7.00</small>" in markup


def test_a_query_stands_beside_the_right_one_with_its_rows(plain):
    task = task_of(SQL)
    question = task.questions(1)[0]
    gold = question.references[0]
    data = read_race(plain | {"task": "sql", "prompts": [{"text": question.prompt, "gold": gold}]})
    answers = [
        Answer(prompt=0, seed=0, text=gold, answer=gold, right=True),
        Answer(prompt=0, seed=0, text="SELECT x", answer="SELECT x", right=False, reason="error: no column"),
    ]
    racers = tuple(
        type(racer)(**{**vars(racer), "answers": (answer,)}) for racer, answer in zip(data.racers, answers, strict=True)
    )
    markup = answers_markup(type(data)(**{**vars(data), "racers": racers}), task)
    assert short(question.prompt) in markup
    assert markup.count("✓ Right") == 1
    assert markup.count("✗ Wrong: error: no column") == 1
    assert markup.count(rows_markup(rows_of(task, gold))) == 2
    assert "No rows: no such column" in markup


def test_a_pair_without_a_task_has_no_verdict(plain):
    assert task_of("toy/target") is None
    assert "Right" not in table_markup(read_race(plain))


@pytest.mark.browser
@pytest.mark.slow
def test_a_visit(browser, address, engine):
    """Run, play, scrub, phone, dark, less motion: no error, no fault of accessibility, nothing wider than a phone."""
    visit = Visit(browser, address)
    page = visit.page
    page.get_by_role("tab", name="Race").click()
    page.locator("#race-stage .race-empty").wait_for()
    for label in ("Sampling", "Speculative sampling", "DSBD, dynamic width"):
        page.get_by_role("checkbox", name=label, exact=True).uncheck()
    page.click("text=More decoders, runs and length")
    for name, value in (("runs", "2"), ("tokens", "8")):
        page.fill(f"#race-{name} input[type=number]", value)
        page.keyboard.press("Tab")
    page.fill("#race-prompt textarea", HOSTILE[:40])
    page.click("#race-run")
    page.locator(".race[data-mounted]").wait_for()
    assert page.locator(".race-lane").count() == 2
    page.wait_for_function("document.querySelector('.race-play').textContent === 'Play'")
    finished = page.inner_text(".race-lane:nth-child(1) .race-count")
    assert re.match(r"\d+ tokens in \d+ passes · [\d.]+ s", finished)
    page.evaluate(SCRUB, 0)
    assert page.inner_text(".race-lane:nth-child(1) .race-count").startswith("0 tokens")
    assert page.locator(".race-landed span:not(.to-come)").count() == 0
    page.evaluate(SCRUB, 1000)
    assert page.inner_text(".race-lane:nth-child(1) .race-count") == finished
    assert page.locator(".race-landed .to-come").count() == 0
    page.locator("#race-charts .main-svg").first.wait_for()
    for size in ({"width": 390, "height": 844}, {"width": 1280, "height": 800}):
        page.set_viewport_size(size)
        assert page.evaluate("document.documentElement.scrollWidth") <= size["width"]
    for is_other_theme in (False, True):
        assert named(violations(page, "#race-stage", colours_only=is_other_theme)) == []
        page.click(".theme-switch")
    page.emulate_media(reduced_motion="reduce")
    page.locator(".race").evaluate("race => race.classList.add('before')")
    page.click("#race-run")
    page.locator(".race[data-mounted]:not(.before)").wait_for()
    assert page.locator(".race-landed .to-come").count() == 0
    assert not page.is_visible(".race-play")
    visit.leave()
    assert visit.errors == []
