"""The Race tab: what may be asked, what is refused in a sentence, markup that escapes, and one visit in a browser."""

import base64
import json
import re

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError
from playwright.sync_api import expect

from dsbd.contest.contenders import contenders
from dsbd.contest.race import race
from dsbd.contest.records import Answer, Race, read_record
from dsbd.settings import DecodingSettings
from tests.toy_pair import toy_pair
from tests.ui.served import answer_of, form_values
from tests.ui.visit import require_clean
from ui.host.limits import Limits
from ui.pairs.shelf import PAGE
from ui.race import handlers
from ui.race.answers import answers_markup, question_line, rows_markup
from ui.race.choice import RACERS, grid_of, racers_of_page
from ui.race.endpoint import GONE
from ui.race.markup import race_markup, table_markup
from ui.race.questions import bring_questions, rows_of, task_of

HOSTILE = "<script>alert(1)</script><img src=x onerror=alert(1)>"
SQL = "bundled:sql/target"
QUESTIONS = [{"prompt": f"Q{place}", "references": ["no", "yes"]} for place in range(3)]
ASKED = {
    "pair": PAGE, "source": "prompt", "prompt": "Once", "own": None, "count": 2, "racers": ["beam_sampling", "dsbd"],
    "more": [], "runs": 1, "grid": "", "tokens": 6,
}  # fmt: skip


def asked(**changed):
    return [*(ASKED | changed).values(), *form_values(draft_depth=2, draft_width=3)]


def racing(engine, **changed):
    return list(handlers.run(engine, "me", *asked(**changed)))


@pytest.fixture(scope="module")
def plain():
    """A race of two decoders as plain data."""
    racers = contenders(["beam_sampling", "dsbd"], {"max_new_tokens": [6], "draft_depth": [2]})
    *_, last = race(toy_pair(), racers, ["Once"], rounds=2)
    return last.to_dict()


@pytest.fixture
def file(tmp_path):
    def written(text):
        path = tmp_path / "mine.jsonl"
        path.write_text(text, encoding="utf-8")
        return str(path)

    return written


def lines_of(questions):
    return "".join(json.dumps(one) + "\n" for one in questions)


def taken_away(stage):
    """The file that the page hands out."""
    packed = re.search(r"base64,([^\"]+)", stage)[1]
    return [json.loads(line) for line in base64.b64decode(packed).splitlines()]


def test_bundled_questions_and_several_values_of_a_setting(engine):
    *_, last = racing(engine, source="task", count=2, racers=["dsbd"], grid="draft_width = 2, 3")
    assert "on each of 2 questions" in last.note
    assert last.stage.count('<details class="race-question"') == last.stage.count('<li class="race-lane') == 2
    assert "DSBD, dynamic width · draft width 2" in last.stage
    assert ">Right<" not in last.stage
    assert {one["prompt"] for one in taken_away(last.stage)} == {
        question.prompt for question in task_of("toy/target").questions(2)
    }


@pytest.mark.usefixtures("reader")
def test_questions_of_a_file_are_scored_and_escaped(engine, file):
    """Catches a prompt, a right answer or an id that is read as markup."""
    hostile = {"prompt": HOSTILE, "references": [HOSTILE], "id": "</script>"}
    own, said, problem = bring_questions(file(lines_of([hostile, *QUESTIONS])), Limits())
    assert problem == ""
    assert "4 questions, with right answers" in said
    *_, last = racing(engine, source="own", own=own, count=3)
    assert "An answer is right if" in last.stage
    assert last.stage.count("of 3 <small>") == 2, "the share of right answers with its interval"
    assert [one["right"] for one in taken_away(last.stage)] == [False] * 6
    for markup in (said, last.stage):
        assert "&lt;script" in markup
        assert "<script" not in markup
        assert "<img" not in markup


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"racers": []}, "No decoder is chosen"),
        ({"racers": ["magic"]}, "Decoder is 'magic'"),
        ({"racers": "dsbd"}, "Decoders is a str"),
        ({"runs": 99}, "99 asked for"),
        ({"source": "own"}, "There is no file of questions yet"),
        ({"source": "task", "count": 0}, "Questions is 0"),
        ({"source": "task", "count": 300}, "Decodes: 600 asked for, 400 allowed"),
        ({"grid": "seed = 1"}, "Grid names 'seed'"),
        ({"grid": "draft_width = 2, x"}, "Values of the grid hold 'x'"),
        ({"grid": "draft_width = " + ",".join("1" * 13)}, "1 to 12 values"),
    ],
    ids=str,
)
def test_races_that_are_refused(engine, given, said):
    (only,) = racing(engine, **given)
    assert 'role="alert"' in only.problem
    assert said.lower() in only.problem.replace("&#x27;", "'").lower()
    assert only.run["visible"] is True


def test_every_racer_can_be_named_and_has_its_point():
    """Catches a name that the bench does not know, and a point or a dynamic width that the form's fields overrule."""
    settings = DecodingSettings(method="sampling", num_beams=3, min_width=2, max_width=2)
    named = {one.name: one.settings for one in racers_of_page(RACERS, settings, {})}
    assert len(named) == len(RACERS)
    assert (named["dsbd same-law"].min_width, named["dsbd same-law"].max_width) == (3, 3)
    assert (named["dsbd defaults"].min_width, named["dsbd defaults"].max_width) == (1, None)
    assert (named["dsbd as in Play"].method, named["dsbd as in Play"].min_width) == ("dsbd", 2)
    assert named["beam_sampling"].num_beams == 3
    swept = racers_of_page(("dsbd", "dsbd:equal-quality"), settings, grid_of({"draft_width": [2, 4]}))
    assert [one.settings.draft_width for one in swept] == [2, 4, 8], "a point keeps its values"


def test_texts_are_escaped_wherever_they_stand(plain):
    """Catches a token, a query, a reason or a name that is read as markup."""
    hostile = json.loads(json.dumps(plain).replace('"Once"', json.dumps(HOSTILE)))
    for racer in hostile["racers"]:
        racer["row"]["contender"] = HOSTILE + racer["row"]["contender"]
        for landing in racer["lane"]["landings"]:
            landing["text"] = HOSTILE
        racer["answers"] = [{"prompt": 0, "seed": 0, "text": HOSTILE}]
    texts = race_markup(read_record(Race, hostile), None)
    for racer in hostile["racers"]:
        racer["answers"][0] |= {"answer": HOSTILE, "right": False, "reason": HOSTILE}
    asked = read_record(Race, hostile | {"task": "sql", "prompts": [{"text": HOSTILE, "gold": HOSTILE}]})
    for markup in (texts, race_markup(asked, task_of(SQL)), answers_markup(asked, None)):
        assert "&lt;script&gt;" in markup
        assert "<script" not in markup
        assert "<img" not in markup


def test_null_is_not_measured_and_intervals_end_where_no_figure_can_be(plain):
    """Catches a perplexity below 1."""
    mean = {"mean": 2.0, "standard_error": 1.0, "low": -3.0, "high": 7.0, "count": 2, "clusters": 2}
    data = json.loads(json.dumps(plain))
    data["racers"][0]["row"] |= {"tokens_per_second": mean, "perplexity": mean}
    data["racers"][1]["row"] |= {"tokens_per_second": None, "perplexity": None, "layers_per_iteration": None}
    data["racers"][1]["row"]["ratio"] = None
    markup = table_markup(read_record(Race, data))
    assert "2.0 <small>0.0 to 7.0</small>" in markup
    assert "2.00 <small>1.00 to 7.00</small>" in markup
    assert markup.count("not measured") == 4


def test_a_query_stands_beside_the_right_one_with_its_rows(plain):
    task = task_of(SQL)
    question = task.questions(1)[0]
    gold = question.references[0]
    data = read_record(Race, plain | {"task": "sql", "prompts": [{"text": question.prompt, "gold": gold}]})
    answers = [
        Answer(prompt=0, seed=0, text=gold, answer=gold, right=True),
        Answer(prompt=0, seed=0, text="SELECT x", answer="SELECT x", right=False, reason="error: no column"),
    ]
    racers = tuple(
        type(racer)(**{**vars(racer), "answers": (answer,)}) for racer, answer in zip(data.racers, answers, strict=True)
    )
    markup = answers_markup(type(data)(**{**vars(data), "racers": racers}), task)
    assert question_line(question.prompt) in markup
    assert markup.count("✓ Right") == 1
    assert markup.count("✗ Wrong: error: no column") == 1
    assert markup.count(rows_markup(rows_of(task, gold))) == 2
    assert "No rows: no such column" in markup


@pytest.mark.parametrize(
    ("text", "said"),
    [('{"prompt": "x", "<img src=x onerror=alert(1)>": 1}', "unknown field &#x27;&lt;img"),
     ('{"prompt": "x"}\n' * 2001, "this page takes 2,000")],
    ids=["markup", "many"],
)  # fmt: skip
@pytest.mark.usefixtures("reader")
def test_bad_files_of_questions_get_a_sentence(file, text, said):
    taken, _, problem = bring_questions(file(text), Limits())
    assert taken is None
    assert said in problem
    assert "<img" not in problem
    assert "/" not in problem.replace("</", ""), "a path of the server"


@pytest.fixture(scope="module")
def client(address):
    return Client(address, verbose=False)


def test_the_endpoint_races_with_the_settings_that_are_given(client):
    """Catches an endpoint whose settings or examples do not reach the decodes."""
    found = client.predict(
        "jsonl", ["sampling"], 2, 1, {"temperature": [0.5, 1.0]}, {"max_new_tokens": 3}, QUESTIONS, api_name="/evaluate"
    )
    assert found["complete"] is True
    rows = found["tables"]["jsonl"]["rows"]
    assert [row["contender"] for row in rows] == ["sampling temperature=0.5", "sampling temperature=1.0"]
    assert rows[0]["settings"]["max_new_tokens"] == 3
    assert [(one["prompt"], one["right"]) for one in found["answers"]] == [("Q0", False), ("Q1", False)] * 2


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["spider", ["sampling"]], "task is 'spider'; choose among stories, sql, jsonl"),
        (["jsonl", ["sampling"], 1, 1, None, None, [{"prompt": 3}]], "examples, line 1: prompt must be a text"),
        (["stories", ["sampling"], 1, 1, {"temperature": [0.5], "num_beams": [2]}], "one setting and its values"),
        (["stories", ["dsbd:same-law"], 1, 1, None, {"max_width": 2}], "fixes max_width"),
        (["stories", ["hf_sampling"], 1], "decoder is 'hf_sampling'"),
        (["stories", ["sampling"], 1, "x"], "seeds is 'x'"),
    ],
    ids=str,
)
def test_the_endpoint_refuses_in_a_sentence(client, given, said):
    with pytest.raises(AppError, match="(?i)" + said):
        client.predict(*given, api_name="/evaluate")


def test_callers_of_the_endpoint_that_is_gone_hear_of_the_other(address):
    for given in ([], ["Once", ["sampling"], 1]):
        kind, data = answer_of(address.rstrip("/"), "compare", *given)
        assert (kind, data["error"]) == ("error", GONE)


SCRUB = """value => {
  const scrub = document.querySelector(".race-scrub");
  scrub.value = value;
  scrub.dispatchEvent(new Event("input"));
}"""


def open_race(visit) -> None:
    """Open the tab, choose two decoders and few tokens."""
    page = visit.page
    page.get_by_role("tab", name="Race").click()
    visit.wait_for("#race-note", "Nothing has run yet")
    for label in ("Sampling", "Speculative sampling", "DSBD, dynamic width"):
        page.get_by_role("checkbox", name=label, exact=True).uncheck()
    page.click("text=More decoders, runs and length")
    for name, value in (("runs", "2"), ("tokens", "8")):
        page.fill(f"#race-{name} input[type=number]", value)
        page.keyboard.press("Tab")


def raced(page):
    page.click("#race-run")
    page.locator(".race[data-mounted]").wait_for()


@pytest.mark.slow
def test_a_race_plays_and_scrubs_and_axe_finds_nothing(visit):
    """Catches also a race that is wider than a phone, whatever is typed, and one that moves where nothing should."""
    open_race(visit)
    page = visit.page
    page.fill("#race-prompt textarea", HOSTILE[:40])
    page.get_by_role("radio", name="Questions to SQL, with right answers").check()
    expect(page.locator(".race-heat")).to_contain_text(["compare within this group", "One text least time here"])
    expect(page.locator(".race-means")).to_contain_text("for one text")
    expect(page.locator(".race-said").last).to_contain_text("right")
    require_clean(visit)
    raced(page)
    page.locator("#race-charts .main-svg").first.wait_for()
    expect(page.locator(".race-lane")).to_have_count(2)
    page.wait_for_function("document.querySelector('.race-play').textContent === 'Play back'")
    finished = page.inner_text(".race-lane:nth-child(1) .race-count")
    assert re.match(r"\d+ tokens in \d+ passes · [\d.]+ s", finished)
    page.evaluate(SCRUB, 0)
    assert page.inner_text(".race-lane:nth-child(1) .race-count").startswith("0 tokens")
    expect(page.locator(".race-landed span:not(.to-come)")).to_have_count(0)
    page.evaluate(SCRUB, 1000)
    expect(page.locator(".race-lane:nth-child(1) .race-count")).to_have_text(finished)
    require_clean(visit)
    page.emulate_media(reduced_motion="reduce")
    page.locator(".race").evaluate("race => race.remove()")
    raced(page)
    assert page.locator(".race-landed .to-come").count() == 0, "where less motion is asked for, the end is shown"
    assert not page.is_visible(".race-play")


@pytest.mark.slow
def test_a_file_of_questions_is_raced_and_stopped(visit, engine, tmp_path):
    """Catches a race that says nothing on its way, or that loses what ran at Stop."""
    open_race(visit)
    page, questions = visit.page, tmp_path / "mine.jsonl"
    questions.write_text(lines_of(QUESTIONS), encoding="utf-8")
    page.get_by_role("radio", name="My questions").check()
    with page.expect_file_chooser() as chooser:
        page.click("#race-upload")
    chooser.value.set_files(questions)
    visit.wait_for("#race-found", "3 questions, with right answers")
    engine.hold(at=6)
    page.click("#race-run")
    visit.wait_for("#race-note", r"\d of \d+ runs done")
    assert engine.held.wait(60), "some runs are done"
    page.click("#race-stop")
    visit.wait_for("#race-note", r"Stopped\. Shown is what ran until then")
    expect(page.locator("#race-stage .figures-table tbody tr")).to_have_count(2)
    with page.expect_download() as download:
        page.get_by_role("link", name="All answers as JSON lines").click()
    download.value.save_as(tmp_path / "race.jsonl")
    assert 2 <= len((tmp_path / "race.jsonl").read_text().splitlines()) < 12, "what ran, of 12 runs"
