"""The command line, in the process and as a program."""

import json
import os
import shutil
import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import dsbd
from dsbd.cli import FORMATS
from dsbd.memory.files import save_memory
from tests.command_line import refused, run
from tests.memory.test_memory import LONG as STORY
from tests.memory.test_memory import random_network
from tests.toy_pair import toy_model

ROOT = Path(__file__).resolve().parents[1]
TRACE = str(ROOT / "assets" / "traces" / "5-speculative-sampling.json.gz")
LESSON = str(ROOT / "assets" / "lessons" / "1-speculative-decoding.md")
LONG = "a" * 5000
NOT_PATHS = ["", "  ", "x\x00y", LONG]
DECODE = ["decode", "--prompt", "x"]
FILE = ["decode", "--prompts", "lesson"]
EVAL = ["eval", "--tasks", "stories", "--limit", "2"]
EXPORT = ["export", TRACE, "--output", "x", "--format"]
SITE = ["site", "--traces", str(Path(TRACE).parent), "--output", "site"]
NOWHERE = ["--target", "./no/such/folder"]
EXAMPLES = ["examples", *NOWHERE, "--draft", "x"]
READERS = {
    "verify-trace": [],
    "report": [],
    "export": ["--format", "svg", "--output", "out.svg"],
    "lesson": ["--output", "out.html"],
}
WRITERS = {
    "export": ["export", TRACE, "--format", "html", "--output"],
    "lesson": ["lesson", LESSON, "--output"],
    "decode": [*DECODE, "--trace"],
    "bench": ["bench", "--output"],
}
FILES = ["binary", "deep.json", "forests", "lesson", "link", "pipe", "trace"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make a folder to write in, with a file that contains every byte."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "forests").mkdir()
    os.mkfifo(tmp_path / "pipe")
    shutil.copy(TRACE, tmp_path / "trace")
    (tmp_path / "link").symlink_to("trace")
    shutil.copy(LESSON, tmp_path / "lesson")
    return tmp_path


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        *[([command, path, *rest], "") for command, rest in READERS.items()
          for path in (*NOT_PATHS, "/dev/zero", "pipe", ".", "none", "binary", "deep.json", "binary/below")],
        *[([*command, path], "") for command in WRITERS.values() for path in (*NOT_PATHS, ".", "none/x", "binary/x")],
        *[([*command, "x.png"], "'x.png' is a name for image/png, and ") for command in WRITERS.values()],
        *[(["export", "trace", "--format", "svg", "--output", path], "is the file that is read, and would be lost")
          for path in ("trace", "link")],
        (["lesson", "lesson", "--output", "lesson"], "is the file that is read, and would be lost"),
        ([*EXPORT, "text", "--output", "x.svg"], "'x.svg' is a name for image/svg+xml, and text is written; end it in"),
        ([], "COMMAND"),
        (["decode"], "--prompt"),
        ([*DECODE, "--method", "magic"], "'magic'"),
        ([*DECODE, *NOWHERE], "./no/such/folder"),
        ([*DECODE, "--draft", "./no/such/folder"], "without a target"),
        ([*DECODE, "--device", "toaster"], "toaster"),
        ([*DECODE, "--dtype", "float13"], "float13"),
        ([*DECODE, *NOWHERE, "--temperature=nan"], "temperature is nan"),
        ([*DECODE, *NOWHERE, "--draft-depth=deep"], "draft_depth is 'deep'; allowed are whole numbers from 0 to 32 or"),
        ([*DECODE, *NOWHERE, "--depth-costs=a:b"], "depth_costs is 'a:b'; allowed are None, or draft_depth + 1"),
        ([*DECODE, *NOWHERE, "--num-beams=2"], "method dsbd does not read it; leave it out"),
        ([*DECODE, "two\nlines"], "unrecognized arguments: two lines"),
        (["decode", "--promt", "x"], "did you mean --prompt?"),
        ([*DECODE, "--max-length=9"], "unrecognized arguments: --max-length; take max_new_tokens"),
        ([*DECODE, "--landing", "false"], "--no-NAME turns it off"),
        ([*DECODE, "--foo"], "(see python -m dsbd decode --help)\n"),
        (["--foo", *DECODE], "(see python -m dsbd --help)\n"),
        ([*EXPORT, "pdf"], "pdf"),
        ([*EXPORT, "html", "--language", "xx"], "there are "),
        ([*EXPORT, "svg", "--iteration", "0"], "iteration is 0; this trace has the iterations 1 to"),
        ([*SITE, "--traces", "binary"], "is no folder"),
        ([*SITE, "--traces", "forests"], "no trace files"),
        ([*SITE, "--traces", "forests", "--output", "."], "is read, and would be written over"),
        ([*SITE, "--traces", "."], "deep.json: damaged trace"),
        ([*SITE, "--lessons", "binary"], "is no folder"),
        ([*SITE, "--article", "pipe"], "is a pipe or a device"),
        ([*SITE, "--output", ""], "is not a path"),
        ([*SITE, "--output", "binary"], "cannot write into 'binary'"),
        ([*SITE, "--language", "../en"], "'../en'"),
        ([*DECODE, "--batch", "8"], "--batch is 8, and --prompt is one prompt; give --prompts FILE"),
        ([*DECODE, "--resume"], "--resume is given, and --prompt prints its text; give --prompts FILE"),
        ([*FILE, "--trace", "x.json"], "--trace records one decode; give it with --prompt"),
        (FILE, "--prompts needs a file for the results; give --output FILE"),
        ([*FILE, "--output", "x.jsonl"], "'lesson'; give a .jsonl file"),
        ([*FILE, "--output", "lesson", "--resume"], "'lesson' is the file that is read, and would be lost"),
        ([*EVAL, "--resume"], "--resume needs a file to write to; give --output FILE"),
        ([*EVAL, "--shard", "0/2"], "a shard needs a file to write to"),
        ([*EVAL, "--output", "x.jsonl", "--shard", "0/2", "--draft-depth", "auto"], "each process would find another"),
        (["bench", "--output", "x.jsonl", "--shard", "0/2"], "on one machine they slow each other down"),
        (["bench", "--pair", "sql", *NOWHERE], "two pairs"),
        (["bench", "--methods", ","], "methods is empty"),
        (["bench", "--methods", "dsbd:best"], "'dsbd:best'"),
        (["bench", "--methods", "greedy:exact"], "'greedy:exact'"),
        (["bench", "--methods", "greedy,greedy"], "each once"),
        (["bench", "--methods", "dsbd,dsbd:defaults"], "dsbd is dsbd:defaults"),
        (["bench", "--methods", "dsbd:exact", "--min-width", "2"], "'exact' fixes min_width"),
        (["bench", "--prompts", "binary"], "UTF-8"),
        (["bench", "--prompts", "pipe"], "is a pipe or a device"),
        (["eval", "--tasks", "squad", "--data", "squad=pipe"], "it is a pipe or a device"),
        (["bench", "--seeds", "9" * 40], "seeds is 9999"),
        (["bench", "--seed", "1,2"], "seed is '1,2'"),
        (["bench", "--limit", "0"], "limit is 0"),
        (["bench", "--methods", "specinfer", "--branching", "4x2xa"], "branching is '4x2xa'"),
        (["examples", "--output", "forests"], "name its --target and its --draft"),
        ([*EXAMPLES, "--prompts", "lesson", "--output", "forests"], "'lesson'; give a .jsonl file"),
        ([*EXAMPLES, "--output", "."], "'.' is not empty; name a new folder"),
        ([*EXAMPLES, "--output", "forests", "--target", "bundled:sql"], "is a bundled pair, which has its examples"),
        ([*EXAMPLES, "--output", "forests"], "./no/such/folder"),
        (["eval"], "tasks is empty"),
        ([*EVAL, "--data", "stories"], "TASK=PATH"),
        ([*EVAL, "--data", "squad=x"], "'squad', which is not asked for"),
        (["eval", "--tasks", "sqad"], "tasks names 'sqad'"),
        ([*EVAL, "--output", "binary"], "'binary' exists; go on with it by --resume, or name another --output"),
    ],
    ids=lambda value: " ".join(value)[:40].replace("\0", "0") if isinstance(value, list) else "",
)  # fmt: skip
def test_what_cannot_be_used_is_one_line_and_exit_code_two(capsys, folder, arguments, words):
    """Catches a traceback, input that is taken for something else, a device that is read until the memory is full, and
    work that is done before the path of its result is checked."""
    message = refused(capsys, *arguments)
    assert words in message
    assert len(message) < 500
    assert sorted(file.name for file in folder.iterdir()) == FILES


@pytest.mark.parametrize("method", dsbd.METHODS)
def test_decode_prints_one_object_or_streams_the_text_alone(capsys, pair_flags, method):
    flags = ["decode", "--prompt", "Once", "--max-new-tokens", "5", "--method", method, *pair_flags]
    code, out, _ = run(capsys, *flags, "--json")
    assert (code, out.count("\n")) == (0, 1)
    printed = json.loads(out)
    assert set(printed) == {"text", "token_ids", "beams", "stats", "settings", "models"}
    assert set(printed["beams"][0]) == {"text", "token_ids", "log_weight", "score", "finished", "multiplicity"}
    assert printed["token_ids"] == printed["beams"][0]["token_ids"]
    assert printed["settings"]["method"] == method
    assert printed["stats"]["new_tokens"] == len(printed["token_ids"])
    code, out, err = run(capsys, *flags)
    assert (code, out) == (0, printed["text"] + "\n")
    assert "tokens/s" in err


def test_decode_guesses_from_files(capsys, pair_flags, tmp_path):
    """Catches a history that is not read or not saved, and a guess that is left out."""
    guess, history = tmp_path / "guess.txt", tmp_path / "history.json"
    flags = ["decode", "--prompt", "Once", "--max-new-tokens", "9", "--min-width", "1", "--max-width", "1", *pair_flags]
    plain = json.loads(run(capsys, *flags, "--json")[1])
    guess.write_text(plain["text"], encoding="utf-8")
    for known in (["--guess", str(guess)], ["--history", str(history)], ["--history", str(history)]):
        code, out, _ = run(capsys, *flags, *known, "--trace", str(tmp_path / "t.json"), "--json")
        trace = dsbd.Trace.load(tmp_path / "t.json")
        assert (code, json.loads(out)["text"]) == (0, plain["text"])
        assert bool(trace.guess) == ("--guess" in known)
    assert trace.history == len(plain["token_ids"]) == len(dsbd.History.load(history)) / 2


def test_a_trace_is_verified_and_drawn(capsys, pair_flags, tmp_path):
    path = str(tmp_path / "t.json.gz")
    flags = ["decode", "--prompt", "Once", "--max-new-tokens", "6", "--trace", path, *pair_flags]
    assert run(capsys, *flags)[0] == 0
    code, out, _ = run(capsys, "verify-trace", path, "--json")
    assert (code, json.loads(out)["passed"]) == (0, True)
    for kind, start in zip(FORMATS, ("<!doctype html>", "<svg", "pass 1"), strict=True):
        output = tmp_path / f"out.{kind}"
        assert run(capsys, "export", path, "--format", kind, "--output", str(output))[0] == 0
        assert output.read_text(encoding="utf-8").lower().startswith(start)
    run(capsys, "export", path, "--format", "text", "--iteration", "2", "--output", str(tmp_path / "second"))
    assert (tmp_path / "second").read_text(encoding="utf-8").startswith("Pass 2")
    data = dsbd.Trace.load(path).to_dict()
    data["result"]["text"] = "forged"
    (tmp_path / "forged.json").write_text(json.dumps(data))
    code, out, _ = run(capsys, "verify-trace", str(tmp_path / "forged.json"))
    assert code == 1
    assert "does not follow" in out


def test_an_unfinished_trace_is_called_so_and_nothing_erases_a_line(capsys, tmp_path):
    """Catches a trace without its end that passes for a whole one, and an escape that a terminal obeys."""
    data, path = dsbd.Trace.load(TRACE).to_dict() | {"result": None, "digest": ""}, tmp_path / "t.json"
    path.write_text(json.dumps(data))
    code, out, _ = run(capsys, "verify-trace", str(path))
    assert (code, "unfinished: the trace has no result" in out) == (0, True)
    data["iterations"][0]["layers"][0]["width_reason"] = "\x1b[2K\rall follow"
    for code, more in ((1, {}), (2, {"\x1b[2K\rall follow": 1})):
        path.write_text(json.dumps(data | more))
        actual, *output = run(capsys, "verify-trace", str(path))
        assert (actual, "\x1b" in "".join(output), "\r" in "".join(output)) == (code, False, False)


@pytest.mark.slow
def test_a_replay_finds_what_the_record_cannot_show(capsys, tmp_path):
    """Catches a replay that compares nothing: another seed decides the same numbers' verdicts nowhere."""
    trace, path = dsbd.Trace.load(TRACE), tmp_path / "t.json"
    for code, word in enumerate(("all ids are the same", "decoded again: iteration 1")):
        settings = replace(trace.settings, seed=trace.seed + code)
        short = {"iterations": trace.iterations[:3], "result": None, "digest": ""}
        replace(trace, **short, seed=settings.seed, settings=settings).save(path)
        actual, out, _ = run(capsys, "verify-trace", str(path), "--replay")
        assert (actual, word in out) == (code, True)


def test_a_long_prompt_is_read_and_the_command_says_so(capsys, pair_flags, tmp_path):
    """Catches a flag that does not arrive, and a distribution that is changed in silence."""
    save_memory(tmp_path / "memory", random_network(32, segment_tokens=24), {}, toy_model(1, 2), "toy/target")
    flags = ["decode", "--max-new-tokens", "5", "--json", *pair_flags]
    memory = ["--memory", str(tmp_path / "memory")]
    code, out, err = run(capsys, *flags, "--prompt", STORY, *memory)
    assert (code, len(json.loads(out)["token_ids"])) == (0, 5)
    assert err == "dsbd: the prompt of 210 tokens is read in 9 segments; the distribution is p(. | memory)\n"
    code, _, err = run(capsys, *flags, "--prompt", "Once", *memory)
    assert (code, err) == (0, "")
    assert "prompt of 210 tokens plus max_new_tokens 5 exceeds" in refused(capsys, *flags, "--prompt", STORY)


def test_ctrl_c_is_one_line_and_exit_code_130(capsys, monkeypatch):
    """Catches a traceback, and a stop that a script takes for a check that failed."""

    def interrupted(*_, **__):
        raise KeyboardInterrupt

    monkeypatch.setattr("dsbd.models.loading.load_pair", interrupted)
    assert run(capsys, *DECODE) == (130, "", "dsbd: stopped\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="runs wherever there is a device that is always full")
@pytest.mark.parametrize(
    ("output", "code", "message"),
    [("/dev/full", 2, "dsbd: cannot write the output: No space left on device\n"), ("&-", 0, "")],
    ids=["full", "closed"],
)
def test_an_output_that_takes_nothing_is_no_traceback(output, code, message):
    """Catches a traceback, or success, where stdout cannot be written."""
    command = f'"{sys.executable}" -m dsbd verify-trace "{TRACE}" >{output}'
    done = subprocess.run(command, shell=True, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    assert (done.returncode, done.stderr) == (code, message)


@pytest.mark.parametrize("command", ["decode", "page"])
def test_a_console_that_cannot_write_a_character_gets_escapes(command, pair_flags):
    """Catches a traceback in the middle of an answer, and a prompt that is blamed for the console it was typed on."""
    flags = ["--prompt", "caf\u00e9 \u6f22", "--seed", "1", *pair_flags] if command == "decode" else ["--help"]
    plain = {"LC_ALL": "C", "PYTHONUTF8": "0", "PYTHONCOERCECLOCALE": "0", "PYTHONIOENCODING": "ascii:strict"}
    whole = [sys.executable, "-m", "dsbd", command, *flags]
    done = subprocess.run(whole, capture_output=True, cwd=ROOT, env=os.environ | plain, check=False)
    assert (done.returncode, done.stdout.isascii(), b"\\u" in done.stdout) == (0, True, True), done.stderr


def test_a_prompt_that_begins_twice_is_told(capsys, pair_flags):
    """Catches a rendered chat template that the tokenizer puts a second beginning in front of, without a word."""
    flags = ["decode", "--max-new-tokens", "2", *pair_flags, "--prompt"]
    assert "begins twice" in run(capsys, *flags, "<end><end>Once")[2]
    assert "begins twice" not in run(capsys, *flags, "<end>Once")[2]
