"""A measured run has the right figures, and is the decode that was asked for."""

from dataclasses import replace

import pytest

from dsbd.api import decode
from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.bench.run import measure_run
from dsbd.measure.bench.schedule import measure
from dsbd.models.attention import NAME as PACKED
from dsbd.models.loading import load_pair
from tests.measure.bench.contests import ALL, contest_of
from tests.toy_pair import toy_pair


@pytest.mark.parametrize("method", ALL)
def test_figures_of_every_method(measured, method):
    """Catches an opponent that exceeds the limit, or whose prompt counts as text: it looks faster or better."""
    contest, results = measured
    contender = next(one for one in contest.contenders if one.method == method)
    run = results.find(contender, "Once", 0)
    assert 1 <= run.new_tokens <= run.layers <= 5
    assert 0 <= run.prefill_seconds <= run.seconds
    assert run.perplexity > 1
    assert run.best_log_weight < 0
    # Equal up to rounding if the likeliest text is as long as the run; if the prompt counts, it is off by nats.
    assert run.best_log_weight >= run.best_log_weight_per_token * run.layers - 1e-6
    assert run.target_calls >= 1
    assert (run.phase_seconds is None) == method.startswith("hf_")
    assert run.peak_allocated_bytes is None  # a CPU has no such figure


def test_opponents_run_as_they_are_shipped(toy_folders):
    """Catches ``transformers`` measured with our attention instead of its own."""
    pair, seen = load_pair(toy_folders["target"], toy_folders["draft"], "cpu", "float32"), []
    pair.target.model.register_forward_hook(lambda model, *_: seen.append(model.config._attn_implementation))
    ours, theirs = contest_of(("beam_sampling", "hf_beam_sampling"), rounds=1).contenders
    measure_run(pair, ours, "Once", 0)
    assert set(seen) == {PACKED}
    seen.clear()
    measure_run(pair, theirs, "Once", 0)
    assert seen[:5] == ["sdpa"] * 5
    assert seen[-1] == PACKED  # quality is judged by the same forward for all


def test_a_run_is_the_decode_with_its_seed():
    """Catches one seed for all rounds: a repeated prompt would be the same decode again."""
    contest, results = contest_of(("dsbd", "hf_sampling"), rounds=2), ResultsFile()
    list(measure(toy_pair(), contest, results))
    ours, theirs = contest.contenders
    for seed in (0, 1):
        expected = decode(toy_pair(), "Once", replace(ours.settings, seed=seed)).text
        assert results.find(ours, "Once", seed).text == expected
    assert results.find(theirs, "Once", 0).text != results.find(theirs, "Once", 1).text
