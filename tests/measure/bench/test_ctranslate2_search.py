"""CTranslate2 as an opponent; it is an optional package."""

import pytest

import dsbd
from dsbd.errors import PairError
from dsbd.measure.bench import ctranslate2_search
from dsbd.measure.bench.ctranslate2_search import generator_of
from dsbd.measure.bench.driver import conditions_of, require_runnable
from dsbd.measure.bench.summary import summarise
from dsbd.measure.bench.tables import bench_tables
from dsbd.models.making import make_pair
from tests.measure.bench.contests import contest_of, measured_answers
from tests.toy_pair import toy_model, toy_pair, toy_tokenizer

INT8 = "ct2_int8_beam_search"


def test_without_the_package_it_is_refused_before_anything_runs(monkeypatch):
    """Catches an ImportError in the middle of a bench."""
    monkeypatch.setattr(ctranslate2_search, "find_spec", lambda name: None)
    with pytest.raises(PairError, match=r"needs CTranslate2, .* or leave ct2_beam_search out of the methods"):
        require_runnable(toy_pair(), contest_of(("ct2_beam_search",)))


@pytest.mark.slow
def test_what_it_cannot_run_is_refused_by_name(monkeypatch):
    """Catches a traceback of its converter, a number format that the device does not have, and a version unnamed."""
    ctranslate2 = pytest.importorskip("ctranslate2")
    with pytest.raises(PairError, match=r"cannot convert toy/target: .*float64"):
        generator_of(toy_pair(), "ct2_beam_search")
    monkeypatch.setattr(ctranslate2, "get_supported_compute_types", lambda device: {"float32"})
    with pytest.raises(PairError, match=r"does not compute bfloat16 on this cpu \(float32\)"):
        generator_of(toy_pair(), "ct2_bfloat16_beam_search")
    found = conditions_of(toy_pair(), contest_of(("ct2_beam_search", "beam_sampling")).contenders)
    assert found["opponents"] == {"ctranslate2": ctranslate2.__version__}
    assert "opponents" not in conditions_of(toy_pair(), contest_of(("beam_sampling", "hf_beam_search")).contenders)


@pytest.mark.slow
def test_its_text_is_that_of_our_beam_search():
    """Catches a prompt, a number of beams or a limit that is not passed on, a target that is converted twice, and a
    table that leaves its law open."""
    pytest.importorskip("ctranslate2")
    pair = make_pair(toy_model(1, 2).float(), None, toy_tokenizer())
    contest = contest_of(("ct2_beam_search", INT8), rounds=1, num_beams=3)
    require_runnable(pair, contest)
    assert generator_of(pair, INT8) is generator_of(pair, INT8) is not generator_of(pair, "ct2_beam_search")
    answers = measured_answers(contest, pair)
    exact, rounded = contest.contenders
    for prompt in contest.prompts:
        run = answers.find(contest.turn(prompt, exact))
        ours = dsbd.decode(pair, prompt.text, exact.settings)
        assert run.text == ours.text
        assert run.best_log_weight == pytest.approx(max(beam.log_weight for beam in ours.beams), abs=1e-3)
        assert run.layers == run.new_tokens == 5
        assert 0 < run.prefill_seconds <= run.seconds
        assert answers.find(contest.turn(prompt, rounded)).layers == 5
    printed = bench_tables(summarise(contest, answers, ()))
    assert f"{INT8}: CTranslate2 in int8; its law is beam search, not beam sampling." in printed
