"""The command line as a program reads it: names, one JSON object, exit codes, one line for bad input."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.command_line import refused, run

ROOT = Path(__file__).resolve().parents[2]


@pytest.mark.parametrize(
    ("arguments", "named"),
    [
        (["decode", "--prompt", "x", "--method", "magic"], "'magic'"),
        (["decode", "--prompt", "x", "--target", "./no/such/folder"], "./no/such/folder"),
        (["decode", "--prompt", "x", "--draft", "./no/such/folder"], "without a target"),
        (["decode", "--prompt", "x", "--device", "toaster"], "toaster"),
        (["decode", "--prompt", "x", "--dtype", "float13"], "float13"),
        (["decode"], "--prompt"),
        (["compare", "--prompt", "x"], "use python -m dsbd bench"),
        (["export", "x", "--format", "pdf", "--output", "x"], "pdf"),
        (["export", "x", "--format", "html", "--output", "x", "--plotly", "web"], "web"),
        (["export", "x", "--format", "html", "--output", "x", "--language", "tlh"], "'tlh'; there are"),
        ([], "COMMAND"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else value,
)
def test_bad_input_is_one_line_and_exit_code_two(capsys, arguments, named):
    assert named in refused(capsys, *arguments)


def test_ctrl_c_is_one_line_and_exit_code_130(capsys, monkeypatch):
    """Catches a traceback, and a stop that a script takes for a check that failed."""

    def interrupted(*given):
        raise KeyboardInterrupt

    monkeypatch.setattr("dsbd.models.loading.loading", interrupted)
    assert run(capsys, "decode", "--prompt", "x") == (130, "", "dsbd: stopped\n")


def test_help_is_quick_to_load():
    """Catches help and messages about bad settings that wait for torch."""
    code = "import sys; from dsbd.__main__ import parser; parser(); print('torch' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=ROOT, check=True)
    assert done.stdout.strip() == "False"
