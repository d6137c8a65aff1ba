"""A file of answers is continued, or refused."""

import json

import pytest
from dsbd.measure.bench.answers_file import AnswersFile
from dsbd.measure.bench.driver import run_contest

from dsbd.errors import SettingsError
from tests.measure.bench.contests import CONDITIONS, answers_of, contest_of
from tests.measure.bench.made_up import made_up_run
from tests.toy_pair import toy_pair


def test_a_file_is_continued(tmp_path):
    """Catches decodes that are repeated, and decodes that are lost, when a contest continues its file."""
    path, contest = tmp_path / "answers.jsonl", contest_of()
    steps = run_contest(toy_pair(), contest, answers_of(path, contest))
    while next(steps).done < 3:
        pass
    steps.close()
    half = path.read_text(encoding="utf-8")
    path.write_text(half + '{"record": "decode", "contender"', encoding="utf-8")  # cut off by a crash
    answers = answers_of(path, contest)
    first, *_, last = run_contest(toy_pair(), contest, answers)
    assert (first.done, first.doing, last.done, last.total) == (3, "warm-up", contest.total, contest.total)
    lines = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    assert path.read_text(encoding="utf-8").startswith(half)
    assert [line["record"] for line in lines] == ["asked", *["decode"] * contest.total]
    assert lines[0]["conditions"] == CONDITIONS
    assert lines[0]["asked"]["contenders"]["beam_sampling"]["max_new_tokens"] == 5
    again = answers_of(path, contest)
    assert list(run_contest(toy_pair(), contest, again)) == []
    assert again.runs == answers.runs


def test_answers_to_something_else_are_refused(tmp_path):
    """Catches decodes of two settings, models or questions in one average."""
    path, contest = tmp_path / "answers.jsonl", contest_of(rounds=1)
    answers_of(path, contest).add(made_up_run(5))
    for other, named in (
        (contest_of(rounds=2), "asked.rounds was 1, is 2"),
        (contest_of(rounds=1, max_new_tokens=6), "max_new_tokens was 5, is 6"),
        (contest_of(("dsbd",), rounds=1), "asked.contenders.beam_sampling was"),
    ):
        with pytest.raises(SettingsError, match=named):
            answers_of(path, other)
    with pytest.raises(SettingsError, match=r"conditions\.machine\.cores was 2, is 64"):
        AnswersFile(path).begin(contest.asked(), CONDITIONS | {"machine": {"cores": 64}})


@pytest.mark.parametrize(
    "content",
    ["not json\n", "[" * 100_000 + "\n", "5\n", '{"record": "asked", "format": "dsbd-trace/1"}\n',
     '{"record": "asked", "format": "dsbd-answers/1", "asked": {}, "conditions": {}}\n{"record": "decode"}\n'],
    ids=lambda text: text[-20:],
)  # fmt: skip
def test_a_file_of_something_else_stays_as_it_is(tmp_path, content):
    path = tmp_path / "answers.jsonl"
    path.write_text(content, encoding="utf-8")
    with pytest.raises(SettingsError, match="is not a file of answers"):
        AnswersFile(path)
    assert path.read_text(encoding="utf-8") == content


def test_a_file_that_cannot_be_written_is_one_line(tmp_path):
    with pytest.raises(SettingsError, match=r"cannot write .*: No such file"):
        answers_of(tmp_path / "none" / "answers.jsonl", contest_of())
