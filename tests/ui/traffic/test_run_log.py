"""The line of JSON that each run writes: what it says, what it never says, and its level."""

import json
import logging

import pytest
from ui.engine import Engine
from ui.host.limits import Limits
from ui.jobs import recorded_decode
from ui.runs import decode

from tests.toy_pair import toy_pair_on
from tests.ui.served import form_values
from ui.traffic import run_log

SECRET = "Once upon a secret"
VALUES = form_values(max_new_tokens=4)


@pytest.fixture(scope="module")
def engine():
    return Engine(toy_pair_on("eager"), Limits(decode_seconds=60))


@pytest.fixture
def lines(caplog):
    """Make a function that returns the lines so far, as objects."""
    run_log.set_up_log("info")
    run_log.LOGGER.addHandler(caplog.handler)
    yield lambda: [json.loads(record.getMessage()) for record in caplog.records if record.name == "dsbd.runs"]
    run_log.set_up_log("off")


def test_a_decode_is_one_line_without_its_text(engine, lines):
    """Catches a prompt, a text or a session that stands in a log."""
    *_, last = decode.run(engine, "a session of mine", SECRET, "greedy", *VALUES)
    (line,) = lines()
    assert (line["call"], line["methods"], line["outcome"]) == ("decode", ["greedy"], "done")
    assert line["tokens"] == len(last.recording.result.token_ids)
    assert len(line["session"]) == 8
    assert line["seconds"] >= 0
    assert line["waited"] is None
    for word in ("secret", "mine", last.recording.result.text.strip()[-3:]):
        assert word not in json.dumps(line)


def test_how_a_run_ends(engine, lines, monkeypatch):
    """Catches a run that was refused, left, late or broken and is called done."""

    def break_off(*_):
        raise RuntimeError("ours")
        yield

    list(decode.run(engine, "", "", "greedy", *VALUES))
    list(decode.run(engine, "me", "x" * 300, "greedy", *VALUES))
    left = decode.run(engine, "me", SECRET, "sampling", *VALUES)
    next(left)
    left.close()
    stopped = decode.run(engine, "me", SECRET, "sampling", *VALUES)
    next(stopped)
    engine.visitors.stop("me")
    list(stopped)
    settings = decode.settings_from({"max_new_tokens": 4}, engine.limits)
    with engine.visitors.run("me", 0) as stop, pytest.raises(Exception, match="stopped"):
        list(engine.run(recorded_decode(engine.limits, SECRET, settings), stop))
    monkeypatch.setattr(engine, "_lent", break_off)
    with pytest.raises(RuntimeError):
        list(decode.run(engine, "me", SECRET, "greedy", *VALUES))
    expected = ["refused", "refused", "stopped", "stopped", "time limit", "fault"]
    assert [line["outcome"] for line in lines()] == expected
    assert lines()[0]["session"] is None


@pytest.mark.parametrize(("level", "expected"), [("info", 2), ("warning", 1), ("off", 0)])
def test_the_level_is_a_setting(engine, capsys, level, expected):
    """Catches lines on standard output, and lines that cannot be turned off."""
    run_log.set_up_log(level)
    try:
        list(decode.run(engine, "me", SECRET, "greedy", *VALUES))
        list(decode.run(engine, "me", "", "greedy", *VALUES))
    finally:
        said = capsys.readouterr()
        run_log.set_up_log("off")
    assert said.out == ""
    assert len(said.err.strip().splitlines()) == expected
    assert run_log.LOGGER.level == logging.CRITICAL
