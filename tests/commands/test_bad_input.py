"""Bad input to what measures: one line on stderr and exit code two; lower layers test their values."""

import pytest

from tests.command_line import refused

LONG = "a" * 5000
NOT_PATHS = ["", "  ", "x\x00y", LONG]
WRITERS = {
    "bench": ["bench", "--output"],
}
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


@pytest.mark.parametrize("path", [*NOT_PATHS, ".", "none/x", "binary/x"], ids=lambda text: repr(text[:9]))
@pytest.mark.parametrize("command", WRITERS)
def test_files_to_write(capsys, folder, command, path):
    """Catches work that is done before the path of its result is checked."""
    assert len(refused(capsys, *WRITERS[command], path)) < 500


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
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
