"""A bench on the toy pair: interleaving, resuming, summaries."""

import json
from collections import Counter
from dataclasses import replace

import pytest
import torch

from dsbd.decoder import decode
from dsbd.errors import PairError, SettingsError
from dsbd.measure.bench import schedule as bench
from dsbd.measure.bench.contenders import BenchPlan, contenders
from dsbd.measure.bench.paired import quality_verdict, speed_ratio
from dsbd.measure.bench.results_file import Journal, difference
from dsbd.measure.bench.run import Run, measure_run
from dsbd.measure.bench.schedule import learn_acceptance, measure, require_runnable, runs_of, settle
from dsbd.measure.bench.summary import summarise
from dsbd.measure.bench.tables import bench_tables
from dsbd.measure.bench.transformers_generate import _trimmed
from dsbd.models.attention import NAME as PACKED
from dsbd.models.pair import load_pair
from tests.toy_pair import EOS, toy_pair

CONDITIONS = {"machine": {"cores": 2}, "versions": {"torch": "1"}}
ALL = ("dsbd", "beam_sampling", "sampling", "hf_beam_sampling", "hf_beam_search", "hf_assisted", "hf_sampling")


def plan_of(methods=("dsbd", "beam_sampling"), rounds=2, **values):
    values = {"max_new_tokens": [5], **{name: [value] for name, value in values.items()}}
    return BenchPlan(contenders(methods, ["defaults"], values), ("Once", "The fox"), rounds)


@pytest.fixture(scope="module")
def measured():
    """Every method on two prompts, one run each."""
    plan, journal = plan_of(ALL, rounds=1), Journal()
    list(learn_acceptance(toy_pair(), plan, journal))
    list(measure(toy_pair(), plan, journal))
    return plan, journal


def test_every_contender_runs_every_prompt_with_seeds_in_turn():
    plan, journal = plan_of(seed=7), Journal()
    steps = list(measure(toy_pair(), plan, journal))
    runs = [step.run for step in steps if step.run is not None]
    assert len(steps) == len(plan.contenders) + plan.total
    assert Counter((run.contender, run.prompt, run.seed) for run in runs) == Counter(
        (contender.name, prompt, seed) for contender in plan.contenders for prompt in plan.prompts for seed in (7, 8)
    )
    assert [step.missing for step in steps][-plan.total :] == list(range(plan.total))[::-1]
    places = [(run.prompt, run.seed) for run in runs]
    assert places == sorted(places, key=places.index)  # interleaved: a prompt's contenders follow each other
    assert sum(run.contender == runs[0].contender for run in runs[:2]) == 1


@pytest.mark.parametrize("method", ALL)
def test_figures_of_every_method(measured, method):
    """An opponent that overshoots the limit, or whose prompt counts as text, would look faster or better."""
    plan, journal = measured
    contender = next(one for one in plan.contenders if one.method == method)
    run = journal.find(contender, "Once", 0)
    assert 1 <= run.new_tokens <= run.layers <= 5
    assert 0 <= run.prefill_seconds <= run.seconds
    assert run.perplexity > 1
    assert run.best_log_weight < 0
    # Equal up to a rounding where the likeliest text is as long as the run; a prompt counted along is off by nats.
    assert run.best_log_weight >= run.best_log_weight_per_token * run.layers - 1e-6
    assert run.target_calls >= 1
    assert (run.phase_seconds is None) == method.startswith("hf_")
    assert run.peak_allocated_bytes is None  # a CPU has no such figure


def test_transformers_text_is_what_it_generates():
    """The same call by hand: seed, warp and number of beams are passed on."""
    plan, journal = plan_of(("hf_beam_sampling",), rounds=1, temperature=0.8, top_k=7), Journal()
    list(measure(toy_pair(), plan, journal))
    ids = torch.tensor([toy_pair().encode("Once")])
    torch.manual_seed(0)
    by_hand = toy_pair().target.model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=True, num_beams=4, num_return_sequences=4,
        temperature=0.8, top_k=7, top_p=1.0, max_new_tokens=5, pad_token_id=256,
    )  # fmt: skip
    assert journal.find(plan.contenders[0], "Once", 0).text == toy_pair().decode(by_hand[0, ids.shape[1] :].tolist())


def test_opponents_run_as_they_are_shipped(toy_folders):
    """Beaten with our own attention inside, ``transformers`` would not have been beaten."""
    pair, seen = load_pair(toy_folders["target"], toy_folders["draft"], "cpu", "float32"), []
    pair.target.model.register_forward_hook(lambda model, *_: seen.append(model.config._attn_implementation))
    ours, theirs = plan_of(("beam_sampling", "hf_beam_sampling"), rounds=1).contenders
    measure_run(pair, ours, "Once", 0)
    assert set(seen) == {PACKED}
    seen.clear()
    measure_run(pair, theirs, "Once", 0)
    assert seen[:5] == ["sdpa"] * 5
    assert seen[-1] == PACKED  # quality is judged by the same forward for all


def test_a_run_is_the_decode_with_its_seed():
    """With one seed for all turns, repeating a prompt would measure the same decode again."""
    plan, journal = plan_of(("dsbd", "hf_sampling"), rounds=2), Journal()
    list(measure(toy_pair(), plan, journal))
    ours, theirs = plan.contenders
    for seed in (0, 1):
        expected = decode(toy_pair(), "Once", replace(ours.settings, seed=seed)).text
        assert journal.find(ours, "Once", seed).text == expected
    assert journal.find(theirs, "Once", 0).text != journal.find(theirs, "Once", 1).text


def test_padding_after_the_end_is_no_text():
    """Padding counted as text would make a beam that ended early look long, and its perplexity odd."""
    assert _trimmed([5, EOS, EOS, 7], toy_pair()) == [5, EOS]
    assert _trimmed([5, 6], toy_pair()) == [5, 6]


def test_a_file_is_gone_on_with(tmp_path):
    """Running again what is there would mix two orders; losing it would waste an hour."""
    path, plan = tmp_path / "runs.jsonl", plan_of()
    steps = measure(toy_pair(), plan, Journal(path, CONDITIONS))
    for _ in range(len(plan.contenders) + 3):
        next(steps)
    steps.close()
    half = path.read_text(encoding="utf-8")
    path.write_text(half + '{"record": "run", "key"', encoding="utf-8")  # cut off by a crash
    journal = Journal(path, CONDITIONS)
    rest = [step.run for step in measure(toy_pair(), plan, journal) if step.run is not None]
    assert len(rest) == plan.total - 3
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 1 + plan.total
    assert lines[0] == {"record": "conditions", "format": "dsbd-bench/1", **CONDITIONS}
    assert lines[1]["settings"]["max_new_tokens"] == 5
    again = Journal(path, CONDITIONS)
    assert list(measure(toy_pair(), plan, again)) == []
    assert runs_of(plan, again) == runs_of(plan, journal)


def test_other_settings_are_other_runs(tmp_path):
    """A key without the settings would take runs of 5 tokens for runs of 6."""
    path, plan = tmp_path / "runs.jsonl", plan_of(rounds=1)
    list(measure(toy_pair(), plan, Journal(path, CONDITIONS)))
    other = Journal(path, CONDITIONS)
    assert other.find(replace(plan.contenders[0], name="renamed"), "Once", 0).contender == "renamed"
    longer = plan_of(rounds=1, max_new_tokens=6)
    assert all(other.find(contender, "Once", 0) is None for contender in longer.contenders)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("not json\n", "is no file of a bench"),
        ('{"record": "conditions", "format": "dsbd-trace/1"}\n', "is no file of a bench"),
        ('{"record": "conditions", "format": "dsbd-bench/1", "machine": {"cores": 64}, "versions": {"torch": "1"}}\n',
         r"machine.cores was 64, is 2"),
        ('{"record": "conditions", "format": "dsbd-bench/1", "machine": {"cores": 2}, "versions": {"torch": "1"}}\n'
         '{"record": "run", "key": "x"}\n', "is no file of a bench"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_gone_on_with_is_refused(tmp_path, content, named):
    path = tmp_path / "runs.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match=named):
        Journal(path, CONDITIONS)
    assert path.read_text(encoding="utf-8") == content


def test_difference_names_the_place():
    assert difference({"a": {"b": 1}}, {"a": {"b": 1}}) is None
    assert difference({"a": {"b": 1}}, {"a": {"b": 2}}) == "a.b was 1, is 2"
    assert difference({"a": 1, "c": 3}, {"a": 1}) == "c was 3, is None"


def test_auto_is_resolved_once_and_kept(tmp_path, monkeypatch):
    """Planned again, it could come out otherwise: two settings under one name, or a plan made on the clock."""
    pair = replace(toy_pair(), plans={})
    plan = BenchPlan(contenders(["dsbd"], ["auto"], {"max_new_tokens": [5]}), ("Once",), 1)
    path = tmp_path / "runs.jsonl"
    settled = settle(pair, plan, Journal(path, CONDITIONS))
    list(measure(pair, settled, Journal(path, CONDITIONS)))
    monkeypatch.setattr(bench, "plan_auto", None)
    journal = Journal(path, CONDITIONS)
    assert settle(pair, plan, journal) == settled
    (row,) = summarise(settled, journal)["contenders"]
    assert isinstance(row["settings"]["draft_depth"], int)
    assert row["plan"]
    assert f"dsbd auto: {row['plan']}" in bench_tables(summarise(settled, journal))


def test_what_cannot_run_is_found_before_anything_runs():
    with pytest.raises(SettingsError, match="no prompt"):
        require_runnable(toy_pair(), replace(plan_of(), prompts=()))
    with pytest.raises(PairError, match="dsbd defaults needs a draft model"):
        require_runnable(replace(toy_pair(), draft=None), plan_of())


def fake_run(speed, perplexity=2.0, weight=-1.0):
    return Run("x", "p", 1, 0, "", 1.0, 0.0, speed, speed, perplexity, weight, weight, 1)


def test_ratios_are_paired():
    """A ratio of medians would be 1 here; on every prompt the contender is twice as fast."""
    base, ours = [[fake_run(10)], [fake_run(20)], [fake_run(40)]], [[fake_run(20)], [fake_run(40)], [fake_run(80)]]
    found = speed_ratio(ours, base)
    assert found == {"median": 2.0, "low": 2.0, "high": 2.0, "above_1": 3, "of": 3, "sign_test_p": 0.25}
    assert speed_ratio([[None], [fake_run(30)], [None]], base)["of"] == 1
    assert speed_ratio([[None]] * 3, base) is None


@pytest.mark.parametrize(
    ("perplexities", "weights", "equal"),
    [
        ((2.0, 2.1, 1.9), (-1.0, -1.1, -0.9), True),
        ((3.0, 3.1, 2.9), (-1.0, -1.1, -0.9), False),
        ((1.0, 1.1, 1.2), (-1.5, -1.4, -1.6), False),
        ((1.0, 1.1, 1.2), (-0.5, -0.4, -0.6), True),
    ],
    ids=["as good", "worse perplexity", "worse log-weight", "better"],
)
def test_equal_quality_by_its_rule(perplexities, weights, equal):
    base = [[fake_run(10)]] * 9
    ours = [[fake_run(10, one, other)] for one, other in zip(perplexities * 3, weights * 3, strict=True)]
    assert quality_verdict(ours, base)["equal"] is equal


def test_few_prompts_are_too_few_for_a_verdict():
    assert quality_verdict([[fake_run(1, 9.0)]] * 7, [[fake_run(1)]] * 7)["equal"] is None
    assert quality_verdict([[fake_run(1, 9.0)]] * 8, [[fake_run(1)]] * 8)["equal"] is False


def test_summary_is_plain_data_and_whole(measured):
    plan, journal = measured
    summary = summarise(plan, journal, ("beam_sampling", "hf_beam_sampling", "greedy"))
    assert json.loads(json.dumps(summary, allow_nan=False)) == summary
    assert summary["complete"] is True
    assert summary["baselines"] == ["beam_sampling", "hf_beam_sampling"]  # greedy was not measured: no ratio to it
    rows = {row["contender"]: row for row in summary["contenders"]}
    assert set(rows) == {contender.name for contender in plan.contenders}
    assert set(summary["ratios"]["beam_sampling"]) == set(rows) - {"beam_sampling"}
    assert 0 < rows["dsbd defaults"]["acceptance"]["beta"] <= 1
    assert 1 < rows["dsbd defaults"]["acceptance"]["forward_tokens"] <= 6 + 4 * 6
    assert rows["beam_sampling"]["acceptance"] is None
    assert rows["dsbd defaults"]["energy"] is None
    printed = bench_tables(summary)
    assert all(f"| {name} " in printed for name in rows)
    assert "Energy: not measured." in printed


def test_an_unfinished_bench_has_a_summary(measured):
    plan, _ = measured
    journal = Journal()
    assert bench_tables(summarise(plan, journal)) == "nothing measured yet"
    steps = measure(toy_pair(), plan, journal)
    while next(steps).run is None:
        pass
    summary = summarise(plan, journal)
    assert (len(summary["contenders"]), summary["complete"]) == (1, False)
    assert "Not complete" in bench_tables(summary)


def test_a_sweep_of_beams_is_held_against_as_many_beams():
    """Eight beams held against the baseline's two would be called slow."""
    plan = BenchPlan(
        contenders(["dsbd", "beam_sampling"], ["same-law"], {"num_beams": [2, 3], "max_new_tokens": [3]}), ("Once",), 1
    )
    journal = Journal()
    list(measure(toy_pair(), plan, journal))
    ratios = summarise(plan, journal)["ratios"]["beam_sampling"]
    assert {name: ratio["baseline"] for name, ratio in ratios.items()} == {
        "dsbd same-law num_beams=2": "beam_sampling num_beams=2",
        "dsbd same-law num_beams=3": "beam_sampling num_beams=3",
    }
