"""Calling ``python -m dsbd`` from a test, in this process."""

from dsbd.__main__ import main


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """Exit code, stdout and stderr."""
    try:
        code = main(list(arguments))
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refused(capsys, *arguments: str) -> str:
    """What bad input is told: one line, nothing on stdout, exit code two."""
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    return err
