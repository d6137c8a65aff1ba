"""The benchmark on the toy pair: who runs, in which order and with which seed, what is measured, scored and
compared.
"""

import json
from collections import Counter
from dataclasses import replace
from threading import active_count
from unittest.mock import Mock

import pytest
import torch

import dsbd
from dsbd.bench import benchmark as driver
from dsbd.bench.benchmark import make_benchmark, report_benchmark, run_benchmark
from dsbd.bench.measure import log_likelihood, measure, trimmed
from dsbd.bench.records import Table, read_record, to_plain
from dsbd.bench.statistics import clustered_perplexity, clustered_rate, make_table, markdown_of, paired_difference
from dsbd.bench.systems import POINTS, systems
from dsbd.bench.task import Question
from dsbd.bench.tasks import Prompts
from dsbd.errors import PairError, PromptError, RecordError, SettingsError
from dsbd.models.cache import PACKED
from dsbd.models.loading import load_pair
from dsbd.util import cut, value_of
from tests.bench.made_up import BASELINE, RIGHT, Quiz, made_up_run, made_up_table
from tests.memory.test_memory import LONG, remembering
from tests.toy_pair import EOS, toy_pair

ALL = ("dsbd", "beam_sampling", "sampling", "hf_beam_sampling", "hf_beam_search", "hf_assisted", "hf_sampling")


def benchmark_of(methods=("dsbd", "beam_sampling"), rounds=2, prompts=("Once", "The fox"), pair=None, **values):
    chosen = systems(methods, {"max_new_tokens": 5, **values})
    return make_benchmark(pair or toy_pair(), chosen, [Prompts(prompts)], rounds=rounds)


def runs_of(benchmark, pair=None, **options):
    return [step.run for step in run_benchmark(pair or toy_pair(), benchmark, **options) if step.run is not None]


def test_a_system_has_what_its_method_and_its_point_say():
    """Catches a value that goes to a method which does not read it, and a point that does not follow the beams."""
    chosen = systems(["dsbd", "beam_sampling", "dsbd:exact", "hf_assisted"], {"draft_depth": 2, "num_beams": 8})
    assert [one.name for one in chosen] == ["dsbd defaults", "beam_sampling", "dsbd exact", "hf_assisted"]
    assert [one.settings.draft_depth for one in chosen] == [2, 4, 2, 4]
    assert [(one.settings.num_beams, one.settings.max_width) for one in chosen[1:3]] == [(8, None), (4, 8)]
    assert len(systems([f"dsbd:{point}" for point in POINTS], {})) == len(POINTS)


def test_systems_warm_up_and_then_take_turns_in_both_orders():
    """Catches systems measured one after the other, while the machine grows warm, and a warm-up that counts."""
    benchmark = benchmark_of(seed=7)
    steps = list(run_benchmark(toy_pair(), benchmark))
    assert [(step.doing, step.done) for step in steps] == [("warm-up", 0)] * 2 + [("decode", at) for at in range(9)]
    runs = [step.run for step in steps if step.run is not None]
    names = [one.name for one in benchmark.systems]
    assert Counter((run.system, run.prompt, run.seed) for run in runs) == Counter(
        (name, prompt, seed) for name in names for prompt in ("Once", "The fox") for seed in (7, 8)
    )
    assert [(run.prompt, run.seed) for run in runs[::2]] == [(run.prompt, run.seed) for run in runs[1::2]]
    turns = [turn.system.name for turn in replace(benchmark, rounds=9).turns()]
    assert {tuple(turns[at : at + 2]) for at in range(0, 36, 2)} == {tuple(names), tuple(names[::-1])}


def test_decodes_at_the_same_time_are_those_in_turn():
    """Catches another order, other seeds or texts, threads that outlive a benchmark, and opponents in a batch."""
    benchmark = benchmark_of()
    together = replace(benchmark, batch=3)
    assert [(one.system, one.seed, one.text) for one in runs_of(together)] == [
        (one.system, one.seed, one.text) for one in runs_of(benchmark)
    ]
    assert benchmark.conditions() | {"batch": 3} == together.conditions()
    threads, steps = active_count(), run_benchmark(toy_pair(), together)
    assert next(step for step in steps if step.run is not None)
    steps.close()
    assert active_count() == threads
    with pytest.raises(SettingsError, match="hf_sampling decodes one prompt at a time, and batch is 2"):
        make_benchmark(toy_pair(), systems(["hf_sampling"], {}), [Quiz()], batch=2)


def test_what_cannot_run_is_found_before_anything_runs():
    with pytest.raises(PairError, match="dsbd defaults needs a draft model"):
        benchmark_of(pair=replace(toy_pair(), draft=None))
    with pytest.raises(PromptError, match="prompt of 210 tokens plus max_new_tokens 5 exceeds the context"):
        benchmark_of(prompts=[LONG])


def test_figures_of_every_method_are_those_of_the_decode_that_was_asked_for():
    """Catches an opponent that exceeds the limit, or whose prompt counts as text: it looks faster or better."""
    benchmark = benchmark_of(ALL)
    for run in runs_of(benchmark):
        assert 1 <= run.new_tokens <= run.layers <= 5
        assert 0 <= run.prefill_seconds <= run.seconds
        assert run.perplexity > 1
        assert (run.iterations is None) == (run.mean_width is None) == run.method.startswith("hf_")
        assert (run.layers == 5) == (run.ended == "limit") or run.ended == "eos"
        if not run.method.startswith("hf_"):
            own = next(one for one in benchmark.systems if one.name == run.system)
            result = dsbd.decode(toy_pair(), run.prompt, replace(own.settings, seed=run.seed))
            assert (run.text, run.accepted, run.rejected) == (result.text, result.stats.accepted, result.stats.rejected)


def test_transformers_generates_as_shipped_and_as_by_hand(toy_folders):
    """Catches our attention measured as theirs, a setting that is not passed on, padding that counts as text, and the
    cache of one beam counted as that of all.
    """
    pair, seen = load_pair(toy_folders["target"], toy_folders["draft"], "cpu", "float32"), []
    pair.target.model.register_forward_hook(lambda model, *_: seen.append(model.config._attn_implementation))
    values = {"max_new_tokens": 5, "temperature": 0.8, "top_k": 7, "early_stopping": True}
    (theirs,) = systems(["hf_beam_sampling"], values)
    assert theirs.settings.early_stopping is True
    figures = measure(pair, theirs, "Once", 0)
    assert seen[:5] == ["sdpa"] * 5
    assert seen[-1] == PACKED  # quality is judged by the same forward for all
    ids = torch.tensor([pair.encode("Once")])
    token_bytes = sum(shape.slot_bytes for shape in pair.target.layer_shapes)
    assert figures["kv_peak_bytes"] == 4 * (ids.shape[1] + 4) * token_bytes  # four beams; the fifth token is not read
    torch.manual_seed(0)
    by_hand = pair.target.model.generate(
        ids, attention_mask=torch.ones_like(ids), do_sample=True, num_beams=4, num_return_sequences=4,
        temperature=0.8, top_k=7, top_p=1.0, max_new_tokens=5, pad_token_id=256,
    )  # fmt: skip
    assert figures["text"] == pair.detokenize(trimmed(by_hand[0, ids.shape[1] :].tolist(), pair))
    assert trimmed([5, EOS, EOS, 7], toy_pair()) == [5, EOS]
    assert trimmed([5, 6], toy_pair()) == [5, 6]
    for changes, message in (
        ({"temperature": 0.0}, "temperature is 0; hf_beam_sampling samples"),
        ({"early_stopping": None}, "early_stopping is None; hf_beam_sampling always ends early"),
    ):
        with pytest.raises(SettingsError, match=message):
            measure(pair, replace(theirs, settings=replace(theirs.settings, **changes)), "Once", 0)


@pytest.mark.parametrize("method", ["dsbd", "hf_sampling"])
def test_a_decode_ends_where_its_answer_ends(method):
    """Catches an end text that is not passed on."""
    (one,) = systems([method], {"max_new_tokens": 12})
    decodes = [measure(toy_pair(), one, "Once", seed, stop=Quiz.until) for seed in range(8)]
    ended = [one["text"] for one in decodes if one["ended"] == "until"]
    assert ended != []
    assert all(cut(text, Quiz.until) != text for text in ended)


@pytest.mark.parametrize("prefix", [[], [torch.linspace(-1.0, 1.0, 32, dtype=torch.float64)]], ids=len)
@torch.inference_mode()
def test_the_likelihood_is_the_sum_over_its_tokens(prefix):
    """Catches logits that are shifted by the memory's slot, and a memory that the text is not judged behind."""
    prompt, text, model, total = [79, 110, 99, 101], [32, 97, 32, 98], toy_pair().target.model, 0.0
    for index, token in enumerate(text):
        embedded = model.get_input_embeddings()(torch.tensor([[*prompt, *text[:index]]]))
        whole = torch.cat([*(one[None, None] for one in prefix), embedded], dim=1)
        total += float(model(inputs_embeds=whole).logits[0, -1].log_softmax(dim=-1)[token])
    assert log_likelihood(toy_pair().target, prompt, text, *prefix) == pytest.approx(total, abs=1e-6)


def test_a_long_prompt_is_read_before_the_clock_starts_and_judged_behind_its_memory(monkeypatch):
    """Catches a first method of a prompt that alone pays for reading it, and a perplexity under the window alone."""
    pair = remembering(toy_pair(), segment_tokens=24)
    benchmark = benchmark_of(("dsbd",), 1, [LONG, "Once"], pair)
    assert benchmark.count_read(pair) == 1
    run, short = runs_of(benchmark, pair)
    assert (run.segments, short.segments) == (9, None)  # 210 bytes, 24 each
    window = value_of(pair.fitting(pair.encode(LONG), 5))
    result = dsbd.decode(pair, LONG, replace(benchmark.systems[0].settings, seed=run.seed))
    own = log_likelihood(pair.target, window.ids, result.token_ids, window.memory.embedding)
    assert run.text == result.text
    assert run.perplexity == pytest.approx(2.718281828459045 ** (-own / len(result.token_ids)))
    read, reading = [], type(pair.target.memory).reading
    monkeypatch.setattr(type(pair.target.memory), "reading", lambda *args: read.append("read") or reading(*args))
    monkeypatch.setattr("dsbd.bench.measure._clocked", lambda *_: read.append("clock") or 1 / 0)
    with pytest.raises(ZeroDivisionError):
        measure(pair, benchmark.systems[0], LONG, 0)
    assert read == ["read", "clock"]
    with pytest.raises(PairError, match="hf_sampling cannot read a prompt into a memory, and prompt 1 of 210 tokens"):
        benchmark_of(("dsbd", "hf_sampling"), 1, [LONG], pair)


def test_an_evaluation_from_the_first_question_to_the_table(tmp_path):
    """Catches questions that share their random numbers, an answer beyond its end, and a line that is lost."""
    file, methods = tmp_path / "answers.jsonl", ("dsbd:exact", "beam_sampling", "hf_beam_sampling")
    pair, chosen = toy_pair(), systems(methods, {"num_beams": 3})
    report = report_benchmark(pair, make_benchmark(pair, chosen, [Quiz()], limit=2, rounds=2), str(file))
    table = report.tables["quiz"]
    assert [row.system for row in table.rows] == ["dsbd exact", "beam_sampling", "hf_beam_sampling"]
    assert (report.complete, len(report.runs), table.baseline) == (True, 12, "beam_sampling")
    assert all(row.ratio.of == 4 for row in table.rows if row.system != "beam_sampling")
    seeds = {(run.question, run.round): run.seed for run in report.runs}
    assert len(set(seeds.values())) == 4
    assert all(seeds[run.question, run.round] == run.seed for run in report.runs)
    assert all(run.answer == cut(run.text, Quiz.until).strip() and run.layers <= 6 for run in report.runs)
    assert {(run.score, run.reason) for run in report.runs} == {(0.0, "another text")}
    first, *lines = map(json.loads, file.read_text(encoding="utf-8").splitlines())
    assert {"record", "machine", "versions", "models"} < set(first)
    assert len(lines) == 12
    assert lines[0]["references"] == ["yes 0"]
    assert "quiz: 2 questions in 1 clusters, 2 seeds" in markdown_of([table])


def test_ctrl_c_keeps_what_is_done(monkeypatch):
    """Catches a stop that looks like success, and a table that is lost with it."""
    ends = iter([driver.measure] * 4 + [Mock(side_effect=KeyboardInterrupt)])
    monkeypatch.setattr(driver, "measure", lambda *args, **options: next(ends)(*args, **options))
    report = report_benchmark(toy_pair(), benchmark_of())
    assert (report.complete, len(report.runs)) == (False, 2)
    assert sum(row.ratio is not None for row in report.tables["prompts"].rows) == 1


def test_long_prompts_lose_their_beginning_and_say_so():
    """Catches a prompt that is cut from the right without a word: the question would be gone."""
    chosen = systems(["sampling"], {})
    (run,) = runs_of(make_benchmark(toy_pair(), chosen, [Quiz([Question("q0", f"{'word ' * 40}. Who?", ("x",))])]))
    assert run.shortened
    assert run.prompt.endswith(" word . Who?")
    assert len(run.prompt) + Quiz.max_new_tokens == 128
    with pytest.raises(SettingsError, match="leaves no room"):
        make_benchmark(toy_pair(), chosen, [Quiz()], max_new_tokens=200)


@pytest.mark.slow
def test_auto_is_resolved_once_and_said():
    steps = list(run_benchmark(replace(toy_pair()), benchmark_of(("dsbd:auto",))))
    assert steps[0].doing == "auto"
    runs = [step.run for step in steps if step.run is not None]
    assert len({json.dumps(run.settings) for run in runs}) == 1
    assert isinstance(runs[0].settings["draft_depth"], int)
    assert f"dsbd auto: {runs[0].auto_reason}" in markdown_of([make_table(runs, Prompts(["x"]), BASELINE)])


def test_quality_is_clustered_and_compared_question_by_question():
    """Catches questions of one database taken as independent, and seeds that count as questions."""
    rows = {row.system: row for row in made_up_table().rows}
    right = {name: {f"q{index}": float(one) for index, one in enumerate(marks.replace(" ", ""))}
             for name, marks in RIGHT.items()}  # fmt: skip
    assert rows["sampling"].quality == clustered_rate([*right["sampling"].values()], "aaaabbbb")
    assert (rows[BASELINE].difference, rows[BASELINE].ratio) == (None, None)
    clusters = {f"q{index}": index // 4 for index in range(8)}
    expected = paired_difference(right["speculative"], right[BASELINE], clusters)
    assert rows["speculative"].difference == expected
    twice = [made_up_run("sampling", at, float(at == seed), round=seed) for at in range(8) for seed in (0, 1)]
    averaged = make_table(twice, Quiz(), BASELINE).rows[0].quality
    assert (averaged.count, averaged.mean) == (8, pytest.approx(1 / 8))
    stories = make_table([made_up_run("sampling", at) for at in range(8)], Prompts(["x"]), BASELINE)
    assert (stories.metric, stories.higher_is_better, stories.baseline) == ("perplexity", False, None)
    assert stories.rows[0].quality == clustered_perplexity([2 + at / 10 for at in range(8)], "aaaabbbb")


@pytest.mark.parametrize(
    ("ours", "theirs", "median", "above", "of", "verdict"),
    [
        ([[20], [40], [80]], [[10], [20], [40]], 2.0, 3, 3, "not measured"),
        ([[None], [30], [None]], [[10], [20], [40]], 1.5, 1, 1, "not measured"),
        ([[30] * 20] * 3, [[10] * 20] * 3, 3.0, 60, 60, "not measured"),
        ([[30, 10, 10]] * 8, [[10] * 3] * 8, 1.0, 8, 24, "no difference seen"),
        ([[20, 10]] * 8, [[10, 20]] * 8, 1.25, 8, 16, "no difference seen"),
        ([[20]] * 8, [[10]] * 8, 2.0, 8, 8, "faster"),
        ([[20, 22, 24, 26, 28, 30]], [[10] * 6], 2.5, 6, 6, "faster"),
    ],
    ids=["paired", "half", "rounds", "one of three", "turned", "faster", "seeds of one prompt"],
)
def test_ratios_are_paired_and_rounds_are_no_further_prompts(ours, theirs, median, above, of, verdict):
    """Catches a ratio of medians, and rounds that count as prompts; tokens are listed by prompt and round."""
    runs = [
        made_up_run(name, index, cluster=f"{index}", round=round, layers=layers, seconds=1.0)
        for name, listed in (("sampling", ours), (BASELINE, theirs))
        for index, row in enumerate(listed)
        for round, layers in enumerate(row)
        if layers is not None  # it did not run
    ]
    ratio = make_table(runs, Prompts(["x"]), "beam_sampling").rows[0].ratio
    assert (ratio.median, ratio.above_1, ratio.of, ratio.verdict) == (median, above, of, verdict)


def test_a_table_survives_json_and_shows_what_was_measured():
    """Catches a figure in another column."""
    table = made_up_table()
    assert read_record(Table, json.loads(json.dumps(to_plain(table)))) == table
    assert {row.ratio.low for row in table.rows if row.ratio} == {None}  # eight questions in two clusters
    with pytest.raises(RecordError, match=r"no table: rows\.0\.system"):
        read_record(Table, {**to_plain(table), "rows": [{}]})
    assert markdown_of([]) == "nothing measured yet"
    runs = [made_up_run("dsbd", at, 1.0, kv_peak_bytes=3_000_000, seconds=2.0, prefill_seconds=0.5)
            for at in (0, 4)]  # fmt: skip
    heads, _, row = markdown_of([make_table(runs, Quiz([Question("x", "x")]), BASELINE)]).splitlines()[:3]
    cells = dict(zip(*([part.strip() for part in line.strip("|").split("|")] for line in (heads, row)), strict=True))
    columns = ("ms/token [95 %]", "prefill ms", "layers/iteration", "acceptance", "KV MB")
    assert [cells[name] for name in columns] == ["50.00", "500.0", "2.50", "0.75", "3.00"]
    assert "KV MB" not in markdown_of([table])
