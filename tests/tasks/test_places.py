"""Where data comes from: a path, or a hub that is asked only for a hub id. Nothing is fetched here."""

import sys
from types import SimpleNamespace

import pytest
from dsbd.tasks.places import hub_folder, hub_rows, place_of
from dsbd.tasks.registry import load_task

from dsbd.errors import TaskError


def test_a_path_that_exists_is_a_path_and_a_hub_id_a_hub_id(tmp_path, monkeypatch):
    """Catches a hub that is asked although the data is there."""
    monkeypatch.chdir(tmp_path)
    (tmp_path / "owner" / "name").mkdir(parents=True)
    assert place_of("t", "owner/name", "x").is_dir()
    assert place_of("t", "other/name", "x") == "other/name"


@pytest.mark.parametrize("data", ["data/dev.json", "a", "a/b/c", "../a", "a/" + "b" * 99])
def test_a_missing_path_is_an_error_with_its_remedy(data, tmp_path, monkeypatch):
    """Catches a mistyped path that is asked of a hub."""
    monkeypatch.chdir(tmp_path)
    with pytest.raises(TaskError, match="of task t is neither a path that exists nor a hub id; give the remedy"):
        place_of("t", data, "the remedy")


@pytest.mark.parametrize("name", ["jsonl", "mt_bench", "spider", "squad"])
def test_a_task_without_bundled_data_says_what_to_give(name):
    with pytest.raises(TaskError, match=r"give (the|a) (path|folder)"):
        load_task(name)


def test_an_unknown_task_is_an_error_that_names_the_tasks():
    with pytest.raises(TaskError, match="there is no task 'sqad'; tasks are books, jsonl, mt_bench, needle, "):
        load_task("sqad")


def test_an_error_of_a_hub_is_a_task_error(monkeypatch):
    monkeypatch.setitem(sys.modules, "datasets", None)
    with pytest.raises(TaskError, match=r"loading a/b needs the library datasets; pip install 'dsbd\[eval\]'"):
        hub_rows("a/b", "test")

    def refuse(*_, **__):
        raise ConnectionError("no network")

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=refuse))
    monkeypatch.setitem(sys.modules, "huggingface_hub", SimpleNamespace(snapshot_download=refuse))
    with pytest.raises(TaskError, match="a/b cannot be loaded: no network; give a local path"):
        hub_rows("a/b", "test")
    with pytest.raises(TaskError, match="a/b cannot be fetched: no network; give a local path"):
        hub_folder("a/b", ["*"])


HUB = {
    "squad": {"id": "1", "title": "T", "context": "One two.", "question": "Q?", "answers": {"text": ["One"]}},
    "mt_bench": {"prompt": ["First.", "Second."], "category": "math", "prompt_id": 7},
}


@pytest.mark.parametrize(
    ("name", "asked", "references"),
    [("squad", "validation", ("One",)), ("mt_bench", "train", ())],
)
def test_rows_of_a_hub_become_questions(name, asked, references, monkeypatch):
    """Catches a wrong split, and fields that a hub names otherwise than the file does."""
    calls = []

    def load(hub_id, split):
        calls.append((hub_id, split))
        return [HUB[name]]

    monkeypatch.setitem(sys.modules, "datasets", SimpleNamespace(load_dataset=load))
    (question,) = load_task(name, "owner/name").questions()
    assert calls == [("owner/name", asked)]
    assert question.references == references
    assert ("First." if name == "mt_bench" else "Q?") in question.prompt
