"""An evaluation decodes every question once for each contender and seed, wherever it is stopped."""

import json
from dataclasses import replace

import pytest

import dsbd
from dsbd.errors import PairError, PromptError, SettingsError, StoppedError
from dsbd.evaluation import evaluation as evaluation_module
from dsbd.evaluation.evaluation import Evaluation
from dsbd.evaluation.exams import exam_of
from dsbd.evaluation.records import seed_of
from dsbd.evaluation.store import Store
from dsbd.measure.bench import json_lines
from dsbd.models.making import make_pair
from dsbd.stopping import cut
from tests.evaluation.quiz import METHODS, Quiz, exam
from tests.toy_pair import toy_pair

MEASURED = ("seconds", "prefill_seconds", "phase_seconds", "first_token_seconds", "energy")


def decoded(predictions) -> list:
    """Return predictions without what a clock measured."""
    return [replace(one, **dict.fromkeys(MEASURED)) for one in predictions]


def evaluated(folder, asked=None) -> Evaluation:
    found = Evaluation(toy_pair(), asked or exam(), folder)
    assert found.run()
    return found


@pytest.fixture(scope="module")
def whole(tmp_path_factory):
    """An evaluation that nothing interrupted."""
    return evaluated(tmp_path_factory.mktemp("whole")).store


def test_every_question_is_answered_by_every_contender_with_every_seed(whole):
    keys = {prediction.key for prediction in whole.predictions}
    names = [contender.name for contender in exam().contenders]
    assert keys == {(name, "quiz", f"q{place}", turn) for name in names for place in range(2) for turn in range(2)}
    assert len(whole.predictions) == len(keys) == exam().total


def test_an_interrupted_evaluation_goes_on(whole, tmp_path, monkeypatch):
    """Catches a decode that is lost, repeated or drawn with other random numbers after Ctrl-C."""
    real, count = evaluation_module.predict, 0

    def interrupted(*arguments, **named):
        nonlocal count
        count += 1
        if count == len(METHODS) + 6:  # the warm-ups come first
            raise KeyboardInterrupt
        return real(*arguments, **named)

    monkeypatch.setattr(evaluation_module, "predict", interrupted)
    assert not Evaluation(toy_pair(), exam(), tmp_path).run()
    monkeypatch.undo()
    half = tmp_path / "predictions.jsonl"
    assert len(half.read_text(encoding="utf-8").splitlines()) == 5
    with half.open("a", encoding="utf-8") as file:
        file.write('{"contender": "cut off by a cra')
    went_on = evaluated(tmp_path).store
    assert decoded(went_on.predictions) == decoded(whole.predictions)
    assert decoded(Store(tmp_path).predictions) == decoded(whole.predictions)


def test_a_stop_ends_inside_a_decode_and_the_next_call_goes_on(whole, tmp_path):
    """Catches a stop that waits for the end of a decode, and one after which something is missing or made twice."""
    asked = 0

    def stop():
        nonlocal asked
        asked += 1
        return asked > 60

    steps = Evaluation(toy_pair(), exam(), tmp_path).steps(stop)
    shown = []
    with pytest.raises(StoppedError):
        shown.extend(steps)
    assert asked == 61
    assert (shown[0].done, shown[0].doing) == (0, "warm-up")
    again = Evaluation(toy_pair(), exam(), tmp_path)
    before = len(again.store.predictions)
    assert 0 < before < exam().total
    went_on = list(again.steps())
    assert (went_on[0].done, went_on[-1].done, went_on[-1].total) == (before, exam().total, exam().total)
    assert decoded(again.store.predictions) == decoded(whole.predictions)
    assert list(again.steps()) == []


def test_nothing_is_decoded_twice(whole, monkeypatch):
    monkeypatch.delattr(evaluation_module, "predict")
    assert evaluated(whole.folder).store.predictions == whole.predictions


@pytest.mark.parametrize(
    ("changes", "named"),
    [
        ({"seeds": 3}, "asked.seeds was 2, is 3"),
        ({"limit": 3}, "questions was 2, is 3"),
        ({"max_new_tokens": 5}, "max_new_tokens was 6, is 5"),
        ({"methods": ("sampling",)}, "asked.contenders"),
        ({"chat": True}, "asked.chat was False, is True"),
    ],
    ids=str,
)
def test_a_folder_with_other_settings_is_refused(whole, changes, named, monkeypatch):
    """Catches answers under two settings in one average."""
    monkeypatch.setattr(evaluation_module, "_fitted", lambda *_: {})  # the toy has no chat template
    with pytest.raises(SettingsError, match=named):
        Evaluation(toy_pair(), exam(**changes), whole.folder)


def test_other_models_are_refused(whole):
    swapped = make_pair(toy_pair().draft, toy_pair().target, toy_pair().tokenizer)
    with pytest.raises(SettingsError, match=r"conditions\.models\.target"):
        Evaluation(swapped, exam(), whole.folder)


def test_a_prediction_is_the_decode_of_its_question_and_seed(whole):
    """Catches a seed that depends on what was decoded before, and counters of another decode."""
    jobs = {job.key: job for job in exam().jobs()}
    for prediction in whole.predictions:
        if prediction.contender != "dsbd same-law":
            continue
        job = jobs[prediction.key]
        settings = replace(job.contender.settings, seed=seed_of(job))
        result = dsbd.decode(toy_pair(), job.question.prompt, settings, until=Quiz.until)
        assert prediction.text == result.text
        assert prediction.drafting is not None
        assert (prediction.drafting.accepted, prediction.drafting.rejected) == (
            result.stats.accepted,
            result.stats.rejected,
        )
        assert prediction.drafting.drafted_layers >= prediction.drafting.accepted_layers
        assert prediction.drafting.drafts <= result.stats.iterations
        assert sum(prediction.widths.values()) == result.stats.layers


def test_seeds_differ_by_question_and_turn_only(whole):
    seeds = {}
    for one in whole.predictions:
        seeds.setdefault((one.question, one.turn), set()).add(one.seed)
    assert all(len(found) == 1 for found in seeds.values())
    assert len(set.union(*seeds.values())) == 4
    assert len({one.text for one in whole.predictions if one.contender == "hf_sampling"}) > 1


def test_how_a_decode_ended_is_what_happened(whole):
    """Catches an answer that is called settled although it has no end."""
    for one in whole.predictions:
        has_end = cut(one.text, Quiz.until) != one.text
        assert has_end or one.ended != "until"
        assert (one.layers == 6) == (one.ended == "limit") or one.ended == "eos"
        assert 0 <= one.prefill_seconds <= one.first_token_seconds <= one.seconds or one.contender == "hf_sampling"
    assert "until" in {one.ended for one in whole.predictions}


def test_contenders_take_turns(whole):
    """Catches contenders measured one after the other, while the machine grows warm."""
    names = [one.contender for one in whole.predictions]
    groups = [names[place : place + len(METHODS)] for place in range(0, len(names), len(METHODS))]
    assert all(len(set(group)) == len(METHODS) for group in groups)
    assert len({tuple(group) for group in groups}) > 1


def test_the_head_tells_what_was_asked(whole):
    """Catches a head from which the exam cannot be made again: scoring needs it."""
    again = exam_of(json.loads((whole.folder / "evaluation.json").read_text(encoding="utf-8")), [Quiz()])
    assert again.asked() == exam().asked()
    assert again.contenders == exam().contenders


def test_changed_questions_are_noticed(whole):
    class Changed(Quiz):
        def questions(self, limit=None):
            return [replace(question, prompt=question.prompt + "?") for question in super().questions(limit)]

    with pytest.raises(SettingsError, match="questions of task quiz are not those that were asked"):
        exam_of(whole.head, [Changed()])


def test_long_prompts_lose_their_passage_and_say_so(tmp_path):
    """Catches a prompt that is cut from the right without a word: the question would be gone."""

    class Long(Quiz):
        def questions(self, limit=None):
            first = super().questions()[0]
            return [replace(first, prompt=f"{'word ' * 40}. Who?", passage=(0, 200))]

    asked = exam(("sampling",), limit=1, seeds=1)
    asked = replace(asked, runs=(replace(asked.runs[0], task=Long(), questions=tuple(Long().questions())),))
    found = evaluated(tmp_path, asked)
    (prediction,) = found.store.predictions
    assert (found.shortened, prediction.shortened) == (1, True)
    assert prediction.prompt.endswith(". Who?")
    assert prediction.prompt_tokens + Quiz.max_new_tokens <= 128
    too_long = replace(asked.runs[0], questions=(replace(Long().questions()[0], passage=(0, 0)),))
    with pytest.raises(PromptError, match="'q0' of task quiz"):
        Evaluation(toy_pair(), replace(asked, runs=(too_long,)), tmp_path / "other")


def test_a_pair_without_a_draft_is_refused_before_anything_runs(tmp_path):
    alone = make_pair(toy_pair().target, None, toy_pair().tokenizer)
    with pytest.raises(PairError, match="dsbd same-law needs a draft model"):
        Evaluation(alone, exam(), tmp_path / "none")
    assert not (tmp_path / "none").exists()


def test_a_full_disk_is_one_line(tmp_path, monkeypatch):
    def full(path, record):
        raise json_lines.cannot_write(path, OSError(28, "No space left on device"))

    monkeypatch.setattr("dsbd.evaluation.store.append_line", full)
    with pytest.raises(SettingsError, match="No space left on device"):
        Evaluation(toy_pair(), exam(), tmp_path).run()


@pytest.mark.slow
def test_auto_is_resolved_once(tmp_path):
    """Catches a run that goes on with another forest than it began with."""
    asked = exam(("dsbd:auto",), limit=1, seeds=1)
    first = evaluated(tmp_path, asked).store
    resolved = exam_of(first.head, [Quiz()]).contenders[0]
    assert not resolved.settings.is_auto
    assert resolved.auto_reason
    assert exam_of(evaluated(tmp_path, asked).store.head, [Quiz()]).contenders[0] == resolved
