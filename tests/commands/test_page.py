"""``dsbd page``: the page opens from an installed package, from any folder, and says in one line why it cannot."""

import os
import shutil
import socket
import subprocess
import sys
import time
import urllib.request
from contextlib import contextmanager
from pathlib import Path

import pytest

from dsbd.__main__ import main

ROOT = Path(__file__).resolve().parents[2]
PATIENCE_SECONDS = 120


@pytest.fixture(scope="module")
def installed(tmp_path_factory) -> Path:
    """Make a folder with the packages as the wheel installs them."""
    folder = tmp_path_factory.mktemp("site")
    for name in ("dsbd", "visualize", "ui"):
        shutil.copytree(ROOT / name, folder / name)
    (folder / "dsbd_assets").symlink_to(ROOT / "assets")
    return folder


@contextmanager
def served(site: Path, cwd: Path, flags: list[str]):
    """Start the page; yield its process and its address."""
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        port = free.getsockname()[1]
    command = [sys.executable, "-m", "dsbd", "page", "--host", "127.0.0.1", "--port", str(port), *flags]
    environment = os.environ | {"PYTHONPATH": str(site)}
    process = subprocess.Popen(command, cwd=cwd, env=environment, stdout=subprocess.DEVNULL)
    try:
        yield process, f"http://127.0.0.1:{port}/"
    finally:
        process.terminate()
        process.wait(timeout=30)


def text_of(process, address: str) -> str:
    end = time.monotonic() + PATIENCE_SECONDS
    while time.monotonic() < end:
        assert process.poll() is None, "the page's process ended"
        try:
            with urllib.request.urlopen(address, timeout=10) as answer:
                return answer.read().decode()
        except OSError:
            time.sleep(0.2)
    raise TimeoutError(address)


@pytest.mark.slow
def test_an_installed_package_opens_the_page_from_any_folder(installed, tmp_path, pair_flags):
    """Catches a file of the page that is found in a clone only: a style sheet, a script."""
    flags = pair_flags[4:] + pair_flags[:2]  # the page chooses the engine itself
    with served(installed, tmp_path, flags) as (process, address):
        assert "DSBD: speculative beams" in text_of(process, address)
        assert "DsbdPage" in text_of(process, address + "gradio_api/dsbd/page.js")


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
