"""The command line as a program reads it: names, exit codes, quick help."""

import subprocess
import sys
from pathlib import Path

from tests.command_line import run

ROOT = Path(__file__).resolve().parents[2]


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
