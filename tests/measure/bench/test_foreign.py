"""Engines of others answer in processes of their own; CTranslate2 is an optional package."""

import subprocess
import sys
from importlib.metadata import version
from importlib.util import find_spec

import pytest

import dsbd
from dsbd.errors import PairError
from dsbd.measure.bench import foreign
from dsbd.measure.bench.contenders import Foreign
from dsbd.measure.bench.driver import conditions_of, require_runnable
from dsbd.measure.bench.foreign import engine_of
from dsbd.measure.openmp import openmp_runtimes
from dsbd.models.making import make_pair
from tests.measure.bench.contests import contest_of, measured_answers
from tests.toy_pair import toy_model, toy_pair, toy_tokenizer

INT8 = "ct2_int8_beam_search"
installed = pytest.mark.skipif(find_spec("ctranslate2") is None, reason="CTranslate2 is not installed")


def test_without_the_package_it_is_refused_before_anything_runs(monkeypatch):
    """Catches an ImportError in the middle of a bench."""
    monkeypatch.setattr(foreign, "find_spec", lambda name: None)
    with pytest.raises(PairError, match=r"needs ctranslate2, .* or leave ct2_beam_search out of the methods"):
        require_runnable(toy_pair(), contest_of(("ct2_beam_search",)))


@installed
@pytest.mark.slow
def test_what_it_cannot_run_is_refused_by_name(monkeypatch):
    """Catches a traceback of its converter, a number format that it does not know, and a version unnamed."""
    with pytest.raises(PairError, match=r"ct2_beam_search on toy/target: .*cannot convert .*float64"):
        engine_of(toy_pair(), "ct2_beam_search")
    monkeypatch.setitem(foreign.FOREIGN, INT8, Foreign("ctranslate2", "int3"))
    with pytest.raises(PairError, match=r"does not compute int3 on this cpu \(.*float32"):
        engine_of(toy_pair(), INT8)
    found = conditions_of(toy_pair(), contest_of(("ct2_beam_search", "beam_sampling")).contenders)
    assert found["opponents"] == {"ctranslate2": version("ctranslate2")}
    assert "opponents" not in conditions_of(toy_pair(), contest_of(("beam_sampling", "hf_beam_search")).contenders)


@installed
@pytest.mark.slow
def test_its_text_is_that_of_our_beam_search():
    """Catches a prompt, a number of beams or a limit that is not passed on, a second process for the same engine,
    and an engine that brings a second OpenMP runtime into a process that times."""
    pair = make_pair(toy_model(1, 2).float(), None, toy_tokenizer())
    contest = contest_of(("ct2_beam_search", INT8), rounds=1, num_beams=3)
    require_runnable(pair, contest)
    engine = engine_of(pair, INT8)
    assert engine is engine_of(pair, INT8) is not engine_of(pair, "ct2_beam_search")
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
    assert len(openmp_runtimes()) <= 1
    assert len(engine._call(openmp_runtimes)) <= 1


TOLD = "import sys; {before}; from dsbd.measure.openmp import openmp_runtimes; {then}; print(len(openmp_runtimes()))"
BENCH = ["bench", "--methods", "ct2_beam_search,beam_sampling", "--limit", "1", "--seeds", "1", "--max-new-tokens", "2"]


def runtimes_after(before: str, then: str = "pass", *arguments: str) -> int:
    """Return how many OpenMP runtimes a new process has at its end."""
    command = [sys.executable, "-c", TOLD.format(before=before, then=then), *arguments]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=300)
    return int(done.stdout.splitlines()[-1])


@installed
@pytest.mark.slow
@pytest.mark.skipif(not sys.platform.startswith("linux"), reason="only Linux lists what a process has mapped")
def test_a_process_that_times_has_one_openmp_runtime(tmp_path, monkeypatch):
    """Catches an engine that brings a second one, so that every figure is wrong; and a list that is always empty."""
    monkeypatch.setenv("DSBD_CACHE", str(tmp_path))
    assert runtimes_after("from dsbd.cli import main", "assert not main(sys.argv[1:])", *BENCH) == 1
    assert runtimes_after("import torch, ctranslate2") == 2
