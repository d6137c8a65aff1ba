"""The scripts and notebooks of ``examples/`` run as they are, in an empty folder and without a network."""

import runpy
import socket
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[1]
NOTEBOOKS = sorted((ROOT / "examples").glob("*.ipynb"))


def unreachable(*address, **how):
    raise OSError("an example asked for the network")


@pytest.mark.slow
@pytest.mark.parametrize(
    ("name", "said", "written"),
    [("decode_and_look", "layers per iteration", "story.html"), ("own_pair", "result:  ", None),
     ("lesson", "", "fox.html")],
)  # fmt: skip
def test_a_script_runs_to_its_end(name, said, written, toy_folders, tmp_path, monkeypatch, capsys):
    """Catches an example that prints what the result does not have, or writes no page."""
    models = [toy_folders["target"], toy_folders["draft"], "One day"]
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "argv", [name, *(models if name == "own_pair" else [])])
    monkeypatch.setattr(socket, "getaddrinfo", unreachable)
    runpy.run_module(f"examples.{name}", run_name="__main__")
    assert said in capsys.readouterr().out
    assert written is None or (tmp_path / written).is_file()


@pytest.mark.slow
@pytest.mark.parametrize("path", NOTEBOOKS, ids=lambda path: path.stem)
def test_notebooks_run_to_their_end_and_are_kept_without_outputs(path, tmp_path, monkeypatch):
    """Catches a cell that uses a name that no longer exists, and a saved run."""
    import nbformat
    from nbclient import NotebookClient

    monkeypatch.setenv("HF_HUB_OFFLINE", "1")
    monkeypatch.setenv("PYTHONPATH", str(ROOT))
    notebook = nbformat.read(path, as_version=4)
    cells = [cell for cell in notebook.cells if cell.cell_type == "code"]
    assert all(not cell.outputs and cell.execution_count is None for cell in cells)
    NotebookClient(notebook, timeout=300, resources={"metadata": {"path": str(tmp_path)}}).execute()
