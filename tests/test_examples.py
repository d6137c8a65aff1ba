"""The scripts and notebooks of ``examples/`` run as they are, in an empty folder and without a network."""

import runpy
import socket
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
EXAMPLES = ROOT / "examples"
NOTEBOOKS = sorted(EXAMPLES.glob("*.ipynb"))
OFFLINE = {"HF_HUB_OFFLINE": "1", "TRANSFORMERS_OFFLINE": "1", "PYTHONPATH": str(ROOT)}


def unreachable(*address, **how):
    raise OSError("an example asked for the network")


@pytest.fixture
def run(tmp_path, monkeypatch, capsys):
    """Return a function that runs an example in this process, in a new folder; it returns what it prints."""

    def example(name, *arguments):
        monkeypatch.chdir(tmp_path)
        monkeypatch.setattr(sys, "argv", [name, *arguments])
        monkeypatch.setattr(socket, "getaddrinfo", unreachable)
        runpy.run_module(f"examples.{name}", run_name="__main__")
        return capsys.readouterr().out

    return example


@pytest.mark.slow
def test_decode_and_look_writes_a_trace_and_a_page(run, tmp_path):
    """Catches an example that prints figures which the result does not have, or writes no page."""
    assert "layers per iteration" in run("decode_and_look")
    assert {path.name for path in tmp_path.iterdir()} >= {"story.html", "story.json.gz"}


@pytest.mark.slow
def test_own_pair_prints_the_text_while_it_grows(run, toy_folders):
    """Catches settled text that shrinks, and arguments that are not those of the usage line."""
    *settled, result = run("own_pair", toy_folders["target"], toy_folders["draft"], "One day").splitlines()
    assert all(line.startswith("settled:") for line in settled)
    assert result.startswith("result:  ")


@pytest.mark.slow
def test_the_lesson_becomes_a_page_with_its_question(run, tmp_path):
    """Catches a lesson whose places are not in the trace that the example records."""
    run("lesson")
    assert "What does the target do?" in (tmp_path / "fox.html").read_text(encoding="utf-8")


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_to_their_end(path, tmp_path, monkeypatch):
    """Catches a cell that uses a name that no longer exists."""
    import nbformat
    from nbclient import NotebookClient

    for name, value in OFFLINE.items():
        monkeypatch.setenv(name, value)
    notebook = nbformat.read(path, as_version=4)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()


@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_are_kept_without_outputs(path):
    """Catches a saved run: megabytes in the repository, and figures of somebody's machine."""
    import nbformat

    cells = [cell for cell in nbformat.read(path, as_version=4).cells if cell.cell_type == "code"]
    assert cells
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)
    assert path.stat().st_size < 20_000
