"""Bad input to every subcommand: one line on stderr and exit code two; lower layers test their values."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import refused

ROOT = Path(__file__).resolve().parents[2]
TRACE = str(ROOT / "assets" / "traces" / "5-speculative-sampling.json.gz")
LESSON = str(ROOT / "assets" / "lessons" / "1-speculative-decoding.md")
LONG = "a" * 5000
NOT_PATHS = ["", "  ", "x\x00y", LONG]
READERS = {
    "verify-trace": [],
    "export": ["--format", "svg", "--output", "out.svg"],
    "lesson": ["--output", "out.html"],
}
WRITERS = {
    "export": ["export", TRACE, "--format", "html", "--output"],
    "lesson": ["lesson", LESSON, "--output"],
    "decode": ["decode", "--prompt", "x", "--trace"],
    "bench": ["bench", "--output"],
}
DECODE = ["decode", "--prompt", "x"]
EXPORT = ["export", TRACE, "--output", "x", "--format"]
SITE = ["site", "--traces", str(Path(TRACE).parent), "--output", "site"]
EVAL = ["eval", "--tasks", "stories", "--limit", "2"]
NOWHERE = ["--target", "./no/such/folder"]


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make a folder to write in, with a file that contains every byte."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "deep.json").write_text("[" * 100_000)
    (tmp_path / "empty").mkdir()
    return tmp_path


@pytest.mark.parametrize(
    "path", [*NOT_PATHS, "/dev/zero", ".", "none", "binary", "deep.json", "binary/below"], ids=lambda text: text[:9]
)
@pytest.mark.parametrize("command", READERS)
def test_files_to_read(capsys, folder, command, path):
    """Catches a traceback, and a device without an end that is read until the memory is full."""
    assert len(refused(capsys, command, path, *READERS[command])) < 500
    assert sorted(file.name for file in folder.iterdir()) == ["binary", "deep.json", "empty"]


@pytest.mark.parametrize("path", [*NOT_PATHS, ".", "none/x", "binary/x"], ids=lambda text: repr(text[:9]))
@pytest.mark.parametrize("command", WRITERS)
def test_files_to_write(capsys, folder, command, path):
    """Catches work that is done before the path of its result is checked."""
    assert len(refused(capsys, *WRITERS[command], path)) < 500


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        ([], "COMMAND"),
        (["decode"], "--prompt"),
        ([*DECODE, "--method", "magic"], "'magic'"),
        ([*DECODE, *NOWHERE], "./no/such/folder"),
        ([*DECODE, "--draft", "./no/such/folder"], "without a target"),
        ([*DECODE, "--device", "toaster"], "toaster"),
        ([*DECODE, "--dtype", "float13"], "float13"),
        ([*DECODE, *NOWHERE, "--temperature=nan"], "temperature is nan"),
        ([*DECODE, "two\nlines"], "unrecognized arguments: two lines"),
        (["decode", "--promt", "x"], "did you mean --prompt?"),
        ([*DECODE, "--landing", "false"], "--no-NAME turns it off"),
        ([*EXPORT, "pdf"], "pdf"),
        ([*EXPORT, "html", "--language", LONG], "there are ar, de"),
        ([*EXPORT, "svg", "--iteration", "0"], "iteration is 0; this trace has the iterations 1 to"),
        ([*SITE, "--traces", ""], "is not a path"),
        ([*SITE, "--traces", "binary"], "is no folder"),
        ([*SITE, "--traces", "empty"], "no trace files"),
        ([*SITE, "--traces", "."], "deep.json: damaged trace"),
        ([*SITE, "--lessons", "nowhere"], "is no folder"),
        ([*SITE, "--lessons", "binary"], "is no folder"),
        ([*SITE, "--output", ""], "is not a path"),
        ([*SITE, "--output", "binary"], "cannot write into 'binary'"),
        ([*SITE, "--language", "../en"], "'../en'"),
        (["doctor", "--target", ""], "is not a path"),
        (["doctor", "--pair", "sql", *NOWHERE], "two pairs"),
        (["bench", "--methods", ","], "methods is empty"),
        (["bench", "--prompts", "binary"], "UTF-8"),
        (["bench", "--prompts", "/no/such/file"], "/no/such/file"),
        (["bench", "--seeds", "9" * 40], "seeds is 9999"),
        (["bench", "--baseline", "hf_sampling"], "baseline is 'hf_sampling'"),
        (["bench", "--seed", "1,2"], "--seeds N"),
        (["bench", "--limit", "0"], "limit is 0"),
        (["eval"], "tasks is empty"),
        ([*EVAL, "--methods", "dsbd:best"], "'dsbd:best'"),
        ([*EVAL, "--max-new-tokens", "4,8"], "give one value"),
        ([*EVAL, "--data", "stories"], "TASK=PATH"),
        ([*EVAL, "--output", "binary"], "'binary' exists; name another --output"),
        ([*EVAL, *NOWHERE], "./no/such/folder"),
    ],
    ids=lambda value: "",
)
def test_what_cannot_be_used_is_named(capsys, folder, arguments, named):
    """Catches input that is taken for something else, or refused after models are loaded."""
    assert named in refused(capsys, *arguments)
    assert sorted(file.name for file in folder.iterdir()) == ["binary", "deep.json", "empty"]


@pytest.mark.parametrize(
    ("arguments", "whose"),
    [
        ([*DECODE, "--foo"], "dsbd decode --help"),
        ([*EXPORT, "svg", "y"], "dsbd export --help"),
        (["page", "--foo"], "dsbd page --help"),
        (["--foo", *DECODE], "dsbd --help"),
    ],
    ids=["decode", "export", "page", "before"],
)
def test_what_is_unknown_points_to_the_help_that_lists_what_is(capsys, arguments, whose):
    """Catches the help of all commands where one of them was meant."""
    assert refused(capsys, *arguments).endswith(f"(see python -m {whose})\n")


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="runs wherever there is a device that is always full")
def test_a_full_disk_is_one_line():
    """Catches a traceback, or success, where stdout cannot be written."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "dsbd", "verify-trace", TRACE]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert done.stderr == "dsbd: cannot write the output: No space left on device\n"
