"""A contest on prompts beyond the context, which are read into a memory."""

from dataclasses import replace

import pytest
from dsbd.evaluation.bench import Bench
from dsbd.evaluation.evaluation import Evaluation
from dsbd.evaluation.exam import make_exam
from dsbd.measure.bench.contest import plain_prompts
from dsbd.measure.bench.driver import require_runnable
from dsbd.measure.bench.run import measure_turn
from dsbd.measure.quality import log_likelihood

from dsbd.api import decode
from dsbd.conditions import conditions
from dsbd.errors import PairError, PromptError
from dsbd.steps import value_of
from tests.evaluation.quiz import Quiz, exam
from tests.measure.bench.contests import contest_of, measured_answers, run_of
from tests.memory.test_decode import remembering
from tests.toy_pair import toy_pair

LONG = "In a big wood there lived a small bear who did not like honey at all. " * 3


@pytest.fixture(scope="module")
def pair():
    return remembering(toy_pair(), segment_tokens=24)


@pytest.fixture
def contest():
    return replace(contest_of(("dsbd", "sampling"), rounds=1), prompts=plain_prompts([LONG, "Once"]))


def test_an_answer_is_judged_behind_the_memory_that_it_was_decoded_behind(pair, contest):
    """Catches a perplexity under the whole prompt, under the window alone, or that of another prompt's memory."""
    answers = measured_answers(contest, pair)
    for contender in contest.contenders:
        run = run_of(answers, contest, contender.method)
        result = decode(pair, LONG, replace(contender.settings, seed=run.seed))
        assert run.text == result.text
        assert run.segments == 9  # 210 bytes, 24 each
        assert run.prompt_tokens == 1 + 3 + 24
        best = max(result.beams, key=lambda beam: beam.log_weight)
        assert run.best_log_weight == pytest.approx(best.log_weight, abs=1e-6)
        window = value_of(pair.fitting(pair.encode(LONG), 5))
        again = log_likelihood(pair.target, window.ids, best.token_ids, window.memory.embedding)
        assert best.log_weight == pytest.approx(again, abs=1e-6)
        assert answers.find(contest.turn(contest.prompts[1], contender)).segments is None


def test_the_prompt_is_read_before_the_clock_starts(pair, contest, monkeypatch):
    """Catches a first method of a prompt that alone pays for reading it."""
    read, reading = [], type(pair.memory).reading
    monkeypatch.setattr(type(pair.memory), "reading", lambda *given: read.append("read") or reading(*given))
    monkeypatch.setattr("dsbd.measure.bench.run._measured", lambda *_: read.append("measured") or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        measure_turn(pair, contest.turn(contest.prompts[0], contest.contenders[0]))
    assert read == ["read", "measured"]


def test_decoders_of_others_cannot_read(pair, contest):
    """Catches an opponent that fails, or goes past the context, in the middle of a contest."""
    asked = replace(contest, contenders=contest_of(("dsbd", "hf_sampling")).contenders)
    with pytest.raises(PairError, match="hf_sampling cannot read a prompt into a memory, and prompt 1 of 210 tokens"):
        Bench(pair, asked)
    require_runnable(pair, replace(asked, prompts=asked.prompts[1:]))
    with pytest.raises(PromptError, match="prompt of 210 tokens plus max_new_tokens 5 exceeds the context"):
        require_runnable(toy_pair(), asked)


def test_an_evaluation_reads_what_it_would_shorten(pair):
    """Catches a prompt that loses its passage although the pair has a memory."""

    class Long(Quiz):
        def questions(self, limit=None):
            first = super().questions()[0]
            return [replace(first, prompt=f"{'word ' * 40}. Who?", passage=(0, 200))]

    asked = make_exam([Long()], exam(("sampling",)).contenders)
    evaluation = Evaluation(pair, asked)
    assert (evaluation.shortened, evaluation.read) == (0, 1)
    assert evaluation.run()
    (run,) = evaluation.answers.runs
    assert (run.shortened, run.segments, len(run.prompt)) == (False, 9, 206)
    plain = Evaluation(toy_pair(), asked)
    assert (plain.shortened, plain.read) == (1, 0)


def test_figures_with_another_memory_are_not_comparable(pair):
    """Catches a file of answers that is continued with another memory, or without one."""
    target = conditions(pair)["models"]["target"]
    other = conditions(remembering(toy_pair(), segment_tokens=24, seed=1))["models"]["target"]
    assert target["memory"]["name"] == "toy"
    assert target["memory"]["digest"] != other["memory"]["digest"]
    assert "memory" not in conditions(toy_pair())["models"]["target"]
