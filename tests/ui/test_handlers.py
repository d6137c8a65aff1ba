"""Handlers as plain functions: what a visitor sees next, whatever was typed, uploaded or stopped."""

import errno
import gzip
import threading
import time
from functools import partial
from pathlib import Path
from types import SimpleNamespace

import gradio as gr
import pytest
from ui.decodes.recording import Recording
from ui.engine import LOOK_SECONDS
from ui.host.limits import Limits
from ui.pairs.shelf import PAGE
from ui.runs import decode
from ui.runs.around import KEEP

from dsbd.bounded import BoundedProcess
from tests.ui.served import form_values
from tests.visualize.toy import toy_trace
from ui.decodes import traces
from ui.play import shown
from ui.race import handlers as race

values = partial(form_values, max_new_tokens=8, draft_depth=2, draft_width=3)


def test_frames_are_as_wide_as_the_outputs(engine, page):
    """A frame one value short would put every value into its neighbour's place."""
    in_line = [function for function in page.fns.values() if function.concurrency_id == "gpu"]
    assert {function.concurrency_limit for function in in_line} == {1}, "one line for the models"
    widths = {len(function.outputs) for function in in_line if function.api_visibility == "private"}
    assert widths == {len(tab.Frame._fields) for tab in (decode, race)}


@pytest.mark.parametrize(
    ("prompt", "changed", "said"),
    [
        ("", {}, "Prompt is blank"),
        ("Once", {"seed": -1}, "Seed is -1"),
        ("x" * 100, {"max_new_tokens": 64}, "exceeds the context"),
        ("\ud800", {}, "not valid Unicode"),
    ],
)
def test_what_is_wrong_is_said_and_the_page_stays(engine, prompt, changed, said):
    (only,) = decode.run(engine, "me", prompt, "dsbd", *values(**changed))
    assert said in only.problem
    assert only.run["visible"] is True
    assert only.forest is KEEP
    assert only.recording is KEEP


def test_an_unexpected_error_is_said_and_logged(page, monkeypatch, caplog):
    """Catches a page that waits on after a bug of its own."""

    def breaks(*_):
        raise RuntimeError("ours")

    monkeypatch.setattr(decode, "settings_of", breaks)
    play, _ = [function.fn for function in page.fns.values() if function.name == "running"]
    (last,) = play(SimpleNamespace(session_hash="me"), PAGE, "Once", "dsbd", *values())
    last = decode.Frame(*last)
    assert "failed on the server" in last.problem
    assert (last.run["visible"], last.forest) == (True, KEEP)
    assert "ours" in caplog.text


def test_one_run_uses_the_models_at_a_time_without_the_queue(engine):
    """Catches runs beside each other, and one that waits for its turn and begins after its visitor has left."""
    first = decode.decode(engine, "first", "Once upon", {"max_new_tokens": 8})
    next(first)
    ended = []

    def second(prompt):
        try:
            ended.append(list(decode.decode(engine, "second", prompt, {"max_new_tokens": 2}))[-1])
        except gr.Error as error:
            ended.append(str(error.message))

    def wait_for_turn(prompt):
        thread = threading.Thread(target=second, args=[prompt])
        thread.start()
        while engine.visitors.running()[0] < 2:
            time.sleep(0.01)
        return thread

    waiting = wait_for_turn("Once")
    engine.visitors.stop("second")
    waiting.join(60)
    assert ended == ["Stopped."]
    waiting = wait_for_turn("Once")
    time.sleep(3 * LOOK_SECONDS)
    assert len(ended) == 1
    list(first)
    waiting.join(60)
    assert ended[1]["token_ids"]


def test_a_trace_that_was_taken_can_be_brought_again(engine):
    taken, said = shown.save_trace(Recording(toy_trace()))
    assert (said, Path(taken).name[:5]) == ("", "dsbd-")
    frame = shown.bring_file(engine, PAGE, taken)
    assert (frame.problem, frame.recording.trace) == ("", toy_trace())


@pytest.mark.parametrize(
    "content",
    [
        b'{"format": "<script>alert(1)</script>"}',
        gzip.compress(b" " * (49 << 20), mtime=0),
        b" " * (Limits().max_upload_bytes + 1),
    ],
    ids=["format", "bomb", "large"],
)
@pytest.mark.usefixtures("reader")
def test_bad_files_leave_the_page_as_it_is(engine, tmp_path, content):
    """Catches also a small file that takes the page's time or memory, and one that ends in "HTTP 500"."""
    path = tmp_path / "bad.json.gz"
    path.write_bytes(content)
    frame = shown.bring_file(engine, PAGE, str(path))
    assert 'role="alert"' in frame.problem
    assert "<script" not in frame.problem
    assert frame.forest is KEEP
    assert frame.recording is KEEP


def test_a_slow_reader_and_a_full_disk_are_sentences(engine, monkeypatch):
    """Catches an upload or a download that fails without a word."""

    def fails(error):
        def failing(*_, **__):
            raise error

        return failing

    monkeypatch.setattr(BoundedProcess, "call", fails(TimeoutError()))
    assert "more than 20 seconds" in shown.bring_file(engine, PAGE, "mine.json.gz").problem
    monkeypatch.setattr("tempfile.TemporaryDirectory", fails(OSError(errno.ENOSPC, "No space left on device")))
    path, said = shown.save_trace(Recording(toy_trace()))
    assert path is None
    assert "No space left" in said


def test_files_that_were_handed_out_expire(monkeypatch):
    """Catches a disk that fills with downloads."""
    first, _ = shown.save_trace(Recording(toy_trace()))
    monkeypatch.setattr(traces, "KEPT_SECONDS", -1)
    second, _ = shown.save_trace(Recording(toy_trace()))
    assert not Path(first).parent.exists()
    assert Path(second).exists()


def test_a_run_that_reaches_its_time_limit_keeps_what_was_recorded(engine, monkeypatch):
    """Catches a time limit that takes the recording with it."""
    monkeypatch.setattr(engine, "limits", Limits(decode_seconds=1))
    monkeypatch.setattr(engine, "pace_seconds", 0.1)
    *_, last = decode.run(engine, "me", "Once upon", "sampling", *values(max_new_tokens=64))
    assert "1 s, the longest a run may take" in last.note
    assert last.recording.result is None
    assert len(last.recording) > 1
