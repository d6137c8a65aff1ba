"""``dsbd page`` says in one line why it cannot open the page; .ci/smoke_page.py opens that of an installed package."""

import os
import subprocess
import sys
from pathlib import Path

from dsbd.__main__ import main

ROOT = Path(__file__).resolve().parents[2]


def test_the_page_of_another_project_is_not_opened(tmp_path):
    """Catches a package ``ui`` of another project, first on the path, opened in place of ours."""
    (tmp_path / "ui").mkdir()
    (tmp_path / "ui" / "__init__.py").write_text("raise SystemExit('not ours')")
    environment = os.environ | {"PYTHONPATH": os.pathsep.join([str(tmp_path), str(ROOT)])}
    command = [sys.executable, "-m", "dsbd", "page", "--port", "1"]
    done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True)
    assert done.returncode == 2
    assert str(tmp_path / "ui") in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_without_gradio_one_line_says_what_to_install(monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "gradio", None)
    assert main(["page"]) == 2
    said = capsys.readouterr().err
    assert len(said.strip().splitlines()) == 1
    assert "pip install gradio" in said
