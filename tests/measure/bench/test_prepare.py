"""What is done before anything is measured."""

from dataclasses import replace

import pytest

from dsbd import block_search
from dsbd.errors import PairError, SettingsError
from dsbd.measure.bench import prepare
from dsbd.measure.bench.contenders import Contest, contenders
from dsbd.measure.bench.prepare import require_runnable, resolve_auto
from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.bench.schedule import measure
from dsbd.measure.bench.summary import summarise
from dsbd.measure.bench.tables import bench_tables
from tests.measure.bench.contests import CONDITIONS, contest_of
from tests.toy_pair import toy_pair


@pytest.mark.slow
def test_auto_is_resolved_once_and_kept(tmp_path, monkeypatch):
    """Catches a second plan, which may differ: two settings would have one name."""
    pair = replace(toy_pair())
    contest = Contest(contenders(["dsbd"], ["auto"], {"max_new_tokens": [5]}), ("Once",), 1)
    path = tmp_path / "runs.jsonl"
    settled = resolve_auto(pair, contest, ResultsFile(path, CONDITIONS))
    list(measure(pair, settled, ResultsFile(path, CONDITIONS)))
    monkeypatch.setattr(prepare, "plan_auto", None)
    results = ResultsFile(path, CONDITIONS)
    assert resolve_auto(pair, contest, results) == settled
    summary = summarise(settled, results)
    (row,) = summary.contenders
    assert isinstance(row.settings.draft_depth, int)
    assert row.auto_reason
    assert f"dsbd auto: {row.auto_reason}" in bench_tables(summary)


def test_what_cannot_run_is_found_before_anything_runs(monkeypatch):
    with pytest.raises(SettingsError, match="no prompt"):
        require_runnable(toy_pair(), replace(contest_of(), prompts=()))
    with pytest.raises(PairError, match="dsbd defaults needs a draft model"):
        require_runnable(replace(toy_pair(), draft=None), contest_of())
    monkeypatch.setattr(block_search, "MOST_BLOCKS", 10)
    with pytest.raises(SettingsError, match="mjgd tries at most 10; take a smaller block"):
        require_runnable(toy_pair(), contest_of(("mjgd",)))
