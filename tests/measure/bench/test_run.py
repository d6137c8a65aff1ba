"""A measured decode has the right figures, and is the decode that was asked for."""

from dataclasses import replace

import pytest
import torch
from dsbd.measure.bench.run import measure_turn
from dsbd.measure.bench.transformers_generate import _trimmed

from dsbd.api import decode
from dsbd.models.attention import NAME as PACKED
from dsbd.models.loading import load_pair
from dsbd.stopping import cut
from tests.measure.bench.contests import ALL, contest_of, measured_answers, run_of
from tests.toy_pair import EOS, toy_pair

ENDS = tuple("=AEFKSX")


@pytest.mark.parametrize("method", ALL)
def test_figures_of_every_method(measured, method):
    """Catches an opponent that exceeds the limit, or whose prompt counts as text: it looks faster or better."""
    contest, answers = measured
    run = run_of(answers, contest, method)
    assert 1 <= run.new_tokens <= run.layers <= 5
    assert 0 <= run.prefill_seconds <= run.seconds
    assert run.perplexity > 1
    assert run.best_log_weight < 0
    # Equal up to rounding if the likeliest text is as long as the run; if the prompt counts, it is off by nats.
    assert run.best_log_weight >= run.best_log_weight_per_token * run.layers - 1e-6
    assert run.target_calls >= 1
    assert (run.phase_seconds is None) == (run.widths is None) == method.startswith("hf_")
    assert run.peak_allocated_bytes is None  # a CPU has no such figure
    assert (run.layers == 5) == (run.ended == "limit") or run.ended == "eos"


def test_opponents_run_as_they_are_shipped(toy_folders):
    """Catches ``transformers`` measured with our attention instead of its attention."""
    pair, seen = load_pair(toy_folders["target"], toy_folders["draft"], "cpu", "float32"), []
    pair.target.model.register_forward_hook(lambda model, *_: seen.append(model.config._attn_implementation))
    contest = contest_of(("beam_sampling", "hf_beam_sampling"), rounds=1)
    ours, theirs = (contest.turn(contest.prompts[0], one) for one in contest.contenders)
    measure_turn(pair, ours)
    assert set(seen) == {PACKED}
    seen.clear()
    measure_turn(pair, theirs)
    assert seen[:5] == ["sdpa"] * 5
    assert seen[-1] == PACKED  # quality is judged by the same forward for all


def test_a_run_is_the_decode_with_its_seed():
    """Catches one seed for all rounds, counters of another decode, and an end text that is not passed on."""
    contest = contest_of(("dsbd", "hf_sampling"))
    answers = measured_answers(contest)
    for seed in (0, 1):
        run, settings = run_of(answers, contest, "dsbd", seed), contest.contenders[0].settings
        result = decode(toy_pair(), "Once", replace(settings, seed=seed))
        assert run.text == result.text
        assert (run.accepted, run.rejected) == (result.stats.accepted, result.stats.rejected)
        assert sum(run.widths.values()) == result.stats.layers
        assert sum(size * count for size, count in run.widths.items()) == pytest.approx(run.mean_width * run.layers)
    assert run_of(answers, contest, "hf_sampling", 0).text != run_of(answers, contest, "hf_sampling", 1).text
    ended = contest_of(("dsbd", "hf_sampling"), rounds=8, max_new_tokens=12)
    prompt = replace(ended.prompts[0], until=ENDS)
    for one in ended.contenders:
        runs = [measure_turn(toy_pair(), ended.turn(prompt, one, round)) for round in range(8)]
        assert "until" in {run.ended for run in runs}
        assert all(cut(run.text, ENDS) != run.text for run in runs if run.ended == "until")


def test_transformers_text_is_what_it_generates():
    """Catches a seed, a temperature, a top-k or a number of beams that is not passed on: the same call by hand."""
    contest = contest_of(("hf_beam_sampling",), rounds=1, temperature=0.8, top_k=7)
    ids = torch.tensor([toy_pair().encode("Once")])
    torch.manual_seed(0)
    by_hand = toy_pair().target.model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=True, num_beams=4, num_return_sequences=4,
        temperature=0.8, top_k=7, top_p=1.0, max_new_tokens=5, pad_token_id=256,
    )  # fmt: skip
    found = run_of(measured_answers(contest), contest, "hf_beam_sampling").text
    assert found == toy_pair().decode(by_hand[0, ids.shape[1] :].tolist())


def test_padding_after_the_end_is_no_text():
    """Catches padding that counts as text: a beam that ended early looks long, and its perplexity is wrong."""
    assert _trimmed([5, EOS, EOS, 7], toy_pair()) == [5, EOS]
    assert _trimmed([5, 6], toy_pair()) == [5, 6]
