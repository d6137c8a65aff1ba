"""Bad input to every subcommand: one line on stderr, nothing on stdout, exit code two."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import refused

ROOT = Path(__file__).resolve().parents[2]
TRACE = str(ROOT / "assets" / "traces" / "5-speculative-sampling.json.gz")
LESSON = str(ROOT / "assets" / "lessons" / "1-speculative-decoding.md")
LONG = "a" * 5000
NOT_PATHS = ["", "  ", "x\x00y", LONG, "/dev/zero"]


def start(text: str) -> str:
    """Return the name of a case."""
    return repr(text[:9])


READERS = {
    "verify-trace": [],
    "export": ["--format", "svg", "--output", "out.svg"],
    "lesson": ["--output", "out.html"],
}


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """Make a folder to write in, with a file that contains every byte."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "binary").write_bytes(bytes(range(256)))
    (tmp_path / "deep.json").write_text("[" * 100_000)
    return tmp_path


@pytest.mark.parametrize(
    "path", [*NOT_PATHS, ".", "none", "binary", "deep.json", "binary/below"], ids=lambda text: text[:9]
)
@pytest.mark.parametrize("command", READERS)
def test_files_to_read(capsys, folder, command, path):
    """Catches a traceback, and a device without an end that is read until the memory is full."""
    told = refused(capsys, command, path, *READERS[command])
    assert len(told) < 500
    assert sorted(file.name for file in folder.iterdir()) == ["binary", "deep.json"]


@pytest.mark.parametrize("path", ["", "  ", "x\x00y", LONG, ".", "none/x", "binary/x"], ids=start)
@pytest.mark.parametrize(
    "arguments",
    [
        ["export", TRACE, "--format", "html", "--output"],
        ["export", TRACE, "--format", "text", "--output"],
        ["lesson", LESSON, "--output"],
        ["decode", "--prompt", "x", "--trace"],
        ["bench", "--output"],
        ["bench", "--report"],
    ],
    ids=lambda arguments: f"{arguments[0]} {arguments[-1]}",
)
def test_files_to_write(capsys, folder, arguments, path):
    """Catches work that is done before the path of its result is checked."""
    assert len(refused(capsys, *arguments, path)) < 500


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["--traces", ""], "is not a path"),
        (["--traces", LONG], "File name too long"),
        (["--traces", "/dev/zero"], "is a device"),
        (["--traces", "binary"], "is no folder"),
        (["--lessons", "x\x00y"], "is not a path"),
        (["--output", ""], "is not a path"),
        (["--output", "binary"], "cannot write into 'binary'"),
        (["--language", "../en"], "'../en'"),
    ],
    ids=lambda value: value[0] if isinstance(value, list) else "",
)
def test_folders_of_a_site(capsys, folder, arguments, named):
    """Catches a site that is written into the current folder because its name is empty."""
    given = {"--traces": str(Path(TRACE).parent), "--output": "site"} | dict([arguments])
    assert named in refused(capsys, "site", *(part for pair in given.items() for part in pair))
    assert sorted(file.name for file in folder.iterdir()) == ["binary", "deep.json"]


NUMBERS = {
    "max-new-tokens": ["1e308", "0", "-1", "", "9" * 30, "1.5"],
    "temperature": ["1e308", "-1", "nan", "inf", ""],
    "top-p": ["0", "1e308", "nan"],
    "seed": ["-1", "9" * 30],
    "draft-depth": ["1e308", "33", "two"],
    "max-width": ["0", "1e308", ""],
    "continuation": ["1e308", "-0.1"],
    "length-penalty": ["1e308", "nan"],
    "depth-costs": ["", "1,", "1,1,1,1,inf", "1,1,1,1,0"],
    "forest": ["", "pine"],
}


CASES = [("decode", name, value) for name in NUMBERS for value in NUMBERS[name]]
CASES += [("bench", name, value) for name in NUMBERS if name != "depth-costs" for value in NUMBERS[name] if value]


@pytest.mark.parametrize(("command", "name", "value"), CASES)
def test_numbers_out_of_range(capsys, folder, command, name, value):
    """Catches a traceback for a number that no float or setting can hold, and models loaded before it is noticed."""
    prompt = [] if command == "bench" else ["--prompt", "x"]
    told = refused(capsys, command, *prompt, "--target", "./none", f"--{name}={value}")
    assert "none" not in told.replace("number or none", "")


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["bench", "--methods", "greedy,greedy"], "name each once"),
        (["bench", "--points", ","], "points is empty"),
        (["bench", "--methods", "greedy", "--prompts", "binary"], "UTF-8"),
        (["bench", "--methods", "greedy", "--prompts", "/dev/zero"], "is a device"),
        (["bench", "--seeds", "9" * 40], "seeds is 9999"),
        (["export", TRACE, "--format", "svg", "--output", "x", "--iteration", "-1"], "iteration is -1"),
        (["export", TRACE, "--format", "svg", "--output", "x", "--iteration", "9" * 40], "iteration is 9999"),
        (["export", TRACE, "--format", "html", "--output", "x", "--language", LONG], "there are ar, de"),
        (["doctor", "--target", ""], "is not a path"),
        (["doctor", "--target", LONG], "File name too long"),
        (["doctor", "--target", "binary"], "binary"),
        (["decode", "--prompt", "x", "two\nlines"], "unrecognized arguments: two lines"),
    ],
    ids=lambda value: " ".join(value)[:60] if isinstance(value, list) else "",
)
def test_the_rest(capsys, folder, arguments, named):
    """Catches input that is taken for something else, or refused without saying what it was."""
    assert named in refused(capsys, *arguments)


@pytest.mark.parametrize(
    ("arguments", "whose"),
    [
        (["decode", "--prompt", "x", "--foo"], "dsbd decode --help"),
        (["export", TRACE, "--format", "svg", "--output", "x", "y"], "dsbd export --help"),
        (["page", "--foo"], "dsbd page --help"),
        (["--foo", "decode", "--prompt", "x"], "dsbd --help"),
    ],
    ids=["decode", "export", "page", "before"],
)
def test_what_is_unknown_points_to_the_help_that_lists_what_is(capsys, arguments, whose):
    """Catches the help of all commands where one of them was meant."""
    assert refused(capsys, *arguments).endswith(f"(see python -m {whose})\n")


@pytest.mark.parametrize(
    "content", ["[1, 2]\n", "5\n", '"x"\n', "[" * 100_000 + "\n", "{}\n", "\n"], ids=lambda text: text[:6]
)
def test_a_file_of_other_lines_is_not_continued(capsys, folder, pair_flags, content):
    """Catches a traceback, and runs that are added to a file of something else."""
    (folder / "runs.jsonl").write_text(content)
    flags = ["--methods", "greedy", "--output", "runs.jsonl", "--resume"]
    assert "is not a file of answers" in refused(capsys, "bench", *flags, *pair_flags)
    assert (folder / "runs.jsonl").read_text() == content


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="runs wherever there is a device that is always full")
def test_a_full_disk_is_one_line():
    """Catches a traceback, or success, where stdout cannot be written."""
    with open("/dev/full", "w") as full:
        command = [sys.executable, "-m", "dsbd", "verify-trace", TRACE]
        done = subprocess.run(command, stdout=full, stderr=subprocess.PIPE, text=True, cwd=ROOT, check=False)
    assert done.returncode == 2
    assert done.stderr == "dsbd: cannot write the output: No space left on device\n"
