"""Files that go on after a kill, shards, and the report that joins them."""

import json
import os
import random
import signal
import time
from pathlib import Path

import pytest

from dsbd.bench.benchmark import make_benchmark, report_benchmark
from dsbd.bench.record_file import WHOLE, RecordFile, Shard, read_records, shard_of
from dsbd.bench.records import to_plain
from dsbd.bench.report import read_report
from dsbd.bench.systems import systems
from dsbd.bench.task import Question
from dsbd.commands.decode import decode_prompts
from dsbd.errors import RecordError, SettingsError
from dsbd.settings import DecodingSettings
from tests.bench.made_up import Quiz
from tests.toy_pair import toy_pair

CONDITIONS = {"machine": {"cores": 2}, "settings": {"branching": (4, 2), "seed": 0}, "chat": None}
TIMES = {"seconds", "prefill_seconds", "tokens_per_second", "milliseconds_per_token", "ratio"}


def timeless(data):
    """Return plain data without what is measured in time, and the machine."""
    if isinstance(data, (list, tuple)):
        return [timeless(one) for one in data]
    if isinstance(data, dict):
        return {
            name: timeless(value)
            for name, value in data.items()
            if name not in TIMES | {"machine"} and not name.endswith("_seconds")
        }
    return data


def test_a_file_that_is_cut_anywhere_goes_on_with_whole_lines(tmp_path):
    """Catches a part of a line that the next one is written behind, a whole line that is dropped, and conditions that
    are lost or written twice."""
    path = str(tmp_path / "runs.jsonl")
    with RecordFile(path, CONDITIONS) as file:
        for number in range(3):
            file.append({"record": "decode", "id": f"{number}\u2028é\n"})
    whole = Path(path).read_bytes()
    for size in range(len(whole) + 1):
        Path(path).write_bytes(whole[:size])
        left = max(whole[:size].count(b"\n") - 1, 0)
        with RecordFile(path, CONDITIONS | {"machine": {"cores": 4 if left else 2}}, resume=True) as file:
            assert len(file.records) == left
            for number in range(left, 3):
                file.append({"record": "decode", "id": f"{number}\u2028é\n"})
        assert Path(path).read_bytes() == whole


@pytest.mark.parametrize(
    ("content", "changes", "message"),
    [
        (None, {"settings": {"branching": (4, 2), "seed": 1}}, r"settings\.seed is 1, and .* was written with 0; give"),
        (None, {"settings": {"branching": (4, 3), "seed": 0}}, r"settings\.branching is \[4, 3\]"),
        (None, {"settings": {"branching": (4, 2)}}, r"settings\.seed is None, and .* was written with 0"),
        (None, {"chat": True}, "chat is True, and .* was written with None"),
        (b"My thesis, in one line without an end", {}, "line 1, is no record; name a file that --output wrote"),
        (b'{"record": "decode"}\n', {}, "line 1, is no record"),
        (b'{"record": "conditions"}\n\0\0\0\n', {}, "line 2, is no record"),
        (b'{"record": "conditions"}\n[1]\n', {}, "line 2, is no record"),
    ],
)
def test_another_file_or_other_conditions_are_refused_and_nothing_is_lost(tmp_path, content, changes, message):
    path = tmp_path / "runs.jsonl"
    with RecordFile(str(path), CONDITIONS) as file:
        file.append({"record": "decode"})
        with pytest.raises(SettingsError, match="is being written by another process"):
            RecordFile(str(path), CONDITIONS, resume=True)
    if content is not None:
        path.write_bytes(content)
    before = path.read_bytes()
    with pytest.raises((SettingsError, RecordError), match=message):
        RecordFile(str(path), CONDITIONS | changes, resume=True)
    assert path.read_bytes() == before
    with pytest.raises(SettingsError, match="exists; go on with it by --resume, or name another --output"):
        RecordFile(str(path), CONDITIONS)


QUESTIONS = [Question(f"{number}", "a" * 200 if number == 3 else f"Once {number}") for number in range(40)]


def _decode_file(path, resume=True):
    settings = DecodingSettings(method="sampling", max_new_tokens=2)
    return decode_prompts(toy_pair(), QUESTIONS, settings, path, WHOLE, resume, {"chat": False})


def _evaluate(path, resume=True, shard=WHOLE, **values):
    chosen = systems(("dsbd", "beam_sampling"), {"max_new_tokens": 3, "num_beams": 2, "min_width": 2, **values})
    return report_benchmark(
        toy_pair(), make_benchmark(toy_pair(), chosen, [Quiz()], rounds=3, shard=shard), path, resume
    )


@pytest.mark.skipif(not hasattr(os, "fork"), reason="a run is killed in a process of its own, which fork makes")
@pytest.mark.parametrize("work", [_decode_file, _evaluate])
def test_kill_9_at_random_moments_loses_and_doubles_nothing(work, tmp_path):
    """Catches a decode that is made twice or never, and a line that is not whole."""
    clean, path = tmp_path / "clean.jsonl", tmp_path / "killed.jsonl"
    work(str(clean))
    moments, sizes = random.Random(0), [0]
    for _ in range(20):
        child, line = os.fork(), sizes[-1] + moments.choice([0, 1, 1000, 2500])
        if child == 0:
            os.close(2)
            try:
                work(str(path))
            finally:
                os._exit(0)
        deadline = time.monotonic() + 30  # a run that ends by itself writes no more lines
        while time.monotonic() < deadline and (not path.exists() or path.stat().st_size < line):
            if os.waitid(os.P_PID, child, os.WEXITED | os.WNOHANG | os.WNOWAIT):
                break
            time.sleep(0.001)
        time.sleep(moments.uniform(0, 0.02))
        os.kill(child, signal.SIGKILL)
        os.waitpid(child, 0)
        sizes.append(path.stat().st_size)
    work(str(path))
    assert len(set(sizes)) > 8, "the kills come in the middle of the work"
    assert timeless(read_records(str(path))) == timeless(read_records(str(clean)))


def test_what_is_auto_is_not_found_again(tmp_path):
    """Catches decodes of one row that have two forests."""
    path = tmp_path / "runs.jsonl"
    _evaluate(str(path), draft_depth="auto")
    lines = path.read_text().splitlines(keepends=True)
    path.write_text("".join(lines[:5]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("dsbd.bench.benchmark.DecodeRequest", lambda *_, **__: pytest.fail("it is known"))
        report = _evaluate(str(path), draft_depth="auto")
    assert len({json.dumps(one.settings) for one in report.runs if one.method == "dsbd"}) == 1
    assert (report.missing, len(report.runs)) == (0, len(lines) - 1)


@pytest.mark.parametrize("count", [2, 7])
def test_shards_make_the_table_of_one_process(tmp_path, count):
    """Catches a question that is decoded twice or never, other seeds, and sums of floats in another order."""
    names = [Shard(index, count).file(str(tmp_path / "out.jsonl")) for index in range(count)]
    for index, name in enumerate(names):
        _evaluate(name, shard=Shard(index, count))  # of seven, the last has no question
    alone = _evaluate(None, resume=False)
    joined = read_report(names[::-1])
    assert [timeless(to_plain(one)) for one in joined.runs] == [timeless(to_plain(one)) for one in alone.runs]
    assert timeless(to_plain(joined.tables["quiz"])) == timeless(to_plain(alone.tables["quiz"]))
    assert read_report(names[1:]).missing == 6 * len(range(0, 6, count))
    for files, message in (([names[0]] * 2, "hold the same decodes"), ([str(tmp_path)], "cannot be read")):
        with pytest.raises(RecordError, match=message):
            read_report(files)
    _evaluate(str(tmp_path / "other.jsonl"), num_beams=3)
    with pytest.raises(SettingsError, match=r"systems\.beam_sampling\.num_beams is 2, and .* was written with 3"):
        read_report([names[0], str(tmp_path / "other.jsonl")])


ARRAY = {
    "SLURM_ARRAY_TASK_ID": "5",
    "SLURM_ARRAY_TASK_MIN": "1",
    "SLURM_ARRAY_TASK_STEP": "2",
    "SLURM_ARRAY_TASK_COUNT": "4",
}
RANKS = {"RANK": "1", "WORLD_SIZE": "3"}


@pytest.mark.parametrize(
    ("text", "environment", "expected"),
    [
        (None, {}, (0, 1)),
        ("1/4", RANKS, (1, 4)),
        ("0/1", RANKS, (0, 1)),
        (None, RANKS, (1, 3)),
        (None, ARRAY, (2, 4)),
        (None, ARRAY | RANKS, (7, 12)),
        ("4/4", {}, "shard is '4/4'; give --shard i/n"),
        ("-1/4", {}, "shard is '-1/4'"),
        ("1", {}, "shard is '1'"),
        (None, {"RANK": "1"}, "the variable WORLD_SIZE is not set"),
        (None, RANKS | {"RANK": "x"}, "the variable RANK is 'x'"),
        (None, RANKS | {"RANK": "3"}, "RANK is 3, and WORLD_SIZE 3"),
        (None, ARRAY | {"SLURM_ARRAY_TASK_ID": "4"}, "task 4 is none of 4 from 1"),
        (None, ARRAY | {"SLURM_ARRAY_TASK_ID": "9"}, "task 9 is none of 4 from 1"),
    ],
)
def test_the_shard_is_typed_or_told_by_the_launcher(text, environment, expected):
    if isinstance(expected, str):
        with pytest.raises(SettingsError, match=expected):
            shard_of(text, environment)
    else:
        assert shard_of(text, environment) == Shard(*expected)
