"""An evaluation asks every question, scores the answers, and can be scored again from its file."""

import json
from dataclasses import replace

import pytest
from dsbd.evaluation.evaluation import Evaluation
from dsbd.evaluation.exam import exam_of, make_exam
from dsbd.evaluation.make_tables import score_all, tables_of
from dsbd.evaluation.report import score_file
from dsbd.measure.bench.answers_file import AnswersFile

import dsbd
from dsbd.errors import PromptError, SettingsError
from dsbd.measure.bench import driver
from tests.evaluation.quiz import Quiz, exam
from tests.measure.bench.made_up import made_up_run
from tests.toy_pair import toy_pair

METHODS = ("dsbd:same-law", "beam_sampling", "hf_beam_sampling")


@pytest.fixture(scope="module")
def file(tmp_path_factory):
    return tmp_path_factory.mktemp("evaluation") / "answers.jsonl"


@pytest.fixture(scope="module")
def report(file):
    """A whole evaluation through the public function."""
    return dsbd.evaluate(toy_pair(), [Quiz()], file, METHODS, limit=2, seeds=2, num_beams=3)


def test_every_question_is_answered_by_every_contender_with_every_seed(report, file):
    names = ["dsbd same-law", "beam_sampling", "hf_beam_sampling"]
    keys = {run.key for run in AnswersFile(file).runs}
    assert keys == {(name, "quiz", f"q{place}", turn) for name in names for place in range(2) for turn in range(2)}
    assert [row.contender for row in report.tables["quiz"].rows] == names
    assert (report.complete, len(report.answers)) == (True, 12)
    assert report.answers[0]["references"] == ["yes 0"]


def test_nothing_is_decoded_twice_and_scoring_again_gives_the_same(report, file, monkeypatch):
    """Catches scores that depend on anything but the answers."""
    monkeypatch.setattr(driver, "measure_turn", None)
    assert dsbd.evaluate(toy_pair(), [Quiz()], file, METHODS, limit=2, seeds=2, num_beams=3) == report
    assert score_file(file, [Quiz()]) == report
    json.dumps(report.to_dict(), allow_nan=False)


def test_the_first_line_tells_what_was_asked(report, file):
    """Catches a line from which the exam cannot be made again: scoring needs it."""
    assert exam_of(AnswersFile(file), [Quiz()]).asked() == exam(METHODS).asked()
    assert exam_of(AnswersFile(file), [Quiz()]).contenders == exam(METHODS).contenders

    class Changed(Quiz):
        def questions(self, limit=None):
            return [replace(question, prompt=question.prompt + "?") for question in super().questions(limit)]

    with pytest.raises(SettingsError, match="questions of task quiz are not those that were asked"):
        score_file(file, [Changed()])


def test_long_prompts_lose_their_passage_and_say_so():
    """Catches a prompt that is cut from the right without a word: the question would be gone."""

    class Long(Quiz):
        def questions(self, limit=None):
            first = super().questions()[0]
            return [replace(first, prompt=f"{'word ' * 40}. Who?", passage=(0, 200))]

    asked = make_exam([Long()], exam(("sampling",)).contenders)
    evaluation = Evaluation(toy_pair(), asked)
    assert evaluation.run()
    (run,) = evaluation.answers.runs
    assert (evaluation.shortened, run.shortened) == (1, True)
    assert run.prompt.endswith(". Who?")
    assert run.prompt_tokens + Quiz.max_new_tokens <= 128
    too_long = replace(asked.runs[0], questions=(replace(asked.runs[0].questions[0], passage=(0, 0)),))
    with pytest.raises(PromptError, match="'q0' of task quiz"):
        Evaluation(toy_pair(), replace(asked, runs=(too_long,)))


@pytest.mark.parametrize(("text", "score"), [(" yes {}=and so on =", 1.0), (" no=", 0.0)], ids=["right", "wrong"])
def test_a_decoder_scores_what_it_answers(text, score):
    """Catches an answer that is not cut at its end, a text scored for another question, and a reason that is lost."""
    asked = make_exam([Quiz()], exam(("sampling",)).contenders)
    runs = [
        made_up_run(10, contender="sampling", task="quiz", question=f"q{number}", text=text.format(number))
        for number in range(6)
    ]
    scored = score_all(asked, runs)
    assert [(one.score, one.run) for one in scored["quiz"]] == [(score, run) for run in runs]
    assert {one.reason for one in scored["quiz"]} == {"" if score else "another text"}
    (row,) = tables_of(asked, scored, {})["quiz"].rows
    assert row.quality.mean == row.right.share == score
    assert row.settings.max_new_tokens == Quiz.max_new_tokens


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"tasks": []}, "tasks is empty"),
        ({"seeds": 0}, "seeds is 0"),
        ({"data": {"squad": "x"}}, "'squad'"),
        ({"temprature": 1.0}, "'temprature'"),
        ({"max_new_tokens": 200}, "leaves no room"),
    ],
    ids=lambda value: next(iter(value)) if isinstance(value, dict) else "",
)
def test_bad_values_are_named_before_a_file_is_made(tmp_path, changes, named):
    asked = {"tasks": [Quiz()], "methods": ["sampling"]} | changes
    with pytest.raises(SettingsError, match=named):
        dsbd.evaluate(toy_pair(), output=tmp_path / "new", **asked)
    assert not (tmp_path / "new").exists()


def test_a_file_without_answers_of_a_task_cannot_be_scored(tmp_path):
    with pytest.raises(SettingsError, match="there is no file"):
        score_file(tmp_path / "none")
    answers = AnswersFile(tmp_path / "answers.jsonl")
    answers.begin({"prompts": 1}, {})
    with pytest.raises(SettingsError, match="there is no answer yet"):
        score_file(tmp_path / "answers.jsonl")
    answers.add(made_up_run(5))
    with pytest.raises(SettingsError, match="no answers to the questions of a task"):
        score_file(tmp_path / "answers.jsonl")
