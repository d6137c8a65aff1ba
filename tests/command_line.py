"""Calls ``python -m dsbd`` from a test, in this process."""

from functools import cache
from unittest.mock import patch

from dsbd.cli import main, parser

PARSER = cache(parser)
"""Made once: it is the same for every call."""


def run(capsys, *arguments: str) -> tuple[int, str, str]:
    """Return exit code, stdout and stderr."""
    try:
        with patch("dsbd.cli.parser", PARSER), patch("dsbd.util.SECONDS", 3600):
            code = main(list(arguments))
    except SystemExit as stop:
        code = int(stop.code or 0)
    captured = capsys.readouterr()
    return code, captured.out, captured.err


def refused(capsys, *arguments: str) -> str:
    """Return the one line that refuses bad input; nothing may be on stdout, and the exit code is two."""
    code, out, err = run(capsys, *arguments)
    assert (code, out) == (2, "")
    assert len(err.strip().splitlines()) == 1
    return err
