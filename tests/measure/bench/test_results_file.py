"""The results file of a bench is continued, or refused."""

import json
from dataclasses import replace

import pytest

from dsbd.errors import SettingsError
from dsbd.measure.bench.results_file import ResultsFile, difference
from dsbd.measure.bench.schedule import measure, runs_of
from tests.measure.bench.contests import CONDITIONS, contest_of
from tests.toy_pair import toy_pair


def test_a_file_is_gone_on_with(tmp_path):
    """Catches runs that are repeated, and runs that are lost, when a bench continues its file."""
    path, contest = tmp_path / "runs.jsonl", contest_of()
    steps = measure(toy_pair(), contest, ResultsFile(path, CONDITIONS))
    for _ in range(len(contest.contenders) + 3):
        next(steps)
    steps.close()
    half = path.read_text(encoding="utf-8")
    path.write_text(half + '{"record": "run", "key"', encoding="utf-8")  # cut off by a crash
    results = ResultsFile(path, CONDITIONS)
    rest = [step.run for step in measure(toy_pair(), contest, results) if step.run is not None]
    assert len(rest) == contest.total - 3
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert len(lines) == 1 + contest.total
    assert lines[0] == {"record": "conditions", "format": "dsbd-bench/1", **CONDITIONS}
    assert lines[1]["settings"]["max_new_tokens"] == 5
    again = ResultsFile(path, CONDITIONS)
    assert list(measure(toy_pair(), contest, again)) == []
    assert runs_of(contest, again) == runs_of(contest, results)


def test_other_settings_are_other_runs(tmp_path):
    """Catches a key without the settings, which takes runs of 5 tokens for runs of 6."""
    path, contest = tmp_path / "runs.jsonl", contest_of(rounds=1)
    list(measure(toy_pair(), contest, ResultsFile(path, CONDITIONS)))
    other = ResultsFile(path, CONDITIONS)
    assert other.find(replace(contest.contenders[0], name="renamed"), "Once", 0).contender == "renamed"
    longer = contest_of(rounds=1, max_new_tokens=6)
    assert all(other.find(contender, "Once", 0) is None for contender in longer.contenders)


@pytest.mark.parametrize(
    ("content", "named"),
    [
        ("not json\n", "is not a file of a bench"),
        ('{"record": "conditions", "format": "dsbd-trace/1"}\n', "is not a file of a bench"),
        ('{"record": "conditions", "format": "dsbd-bench/1", "machine": {"cores": 64}, "versions": {"torch": "1"}}\n',
         r"machine.cores was 64, is 2"),
        ('{"record": "conditions", "format": "dsbd-bench/1", "machine": {"cores": 2}, "versions": {"torch": "1"}}\n'
         '{"record": "run", "key": "x"}\n', "is not a file of a bench"),
    ],
)  # fmt: skip
def test_a_file_that_cannot_be_gone_on_with_is_refused(tmp_path, content, named):
    path = tmp_path / "runs.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match=named):
        ResultsFile(path, CONDITIONS)
    assert path.read_text(encoding="utf-8") == content


def test_difference_names_the_place():
    assert difference({"a": {"b": 1}}, {"a": {"b": 1}}) is None
    assert difference({"a": {"b": 1}}, {"a": {"b": 2}}) == "a.b was 1, is 2"
    assert difference({"a": 1, "c": 3}, {"a": 1}) == "c was 3, is None"
