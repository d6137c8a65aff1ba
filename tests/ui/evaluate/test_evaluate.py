"""The Evaluate tab: what may be asked, what is refused in a sentence, what is kept, and what comes of it."""

import gzip
import json
import zipfile
from itertools import islice
from pathlib import Path

import pytest
from gradio_client import Client
from gradio_client.exceptions import AppError

from dsbd.errors import StoppedError
from dsbd.evaluation.store import Store
from tests.toy_pair import toy_pair
from tests.ui.packed import unpacked
from ui import Engine
from ui.asked.evaluation import GRID, contenders_of, method_choices, pair_of, tasks_of
from ui.evaluate import handlers as evaluate
from ui.evaluate.results import label_of
from ui.host.limits import Limits
from ui.pairs.shelf import PAGE, PairShelf
from ui.traffic.folders import FOLDERS_OF_VISITOR, Folders

METHODS = ["beam_sampling", "dsbd:defaults"]
ALONE = Limits(max_loaded_pairs=1)
QUESTIONS = [{"prompt": f"Q{place}", "references": ["no", "yes"]} for place in range(3)]


def choice(**changed):
    given = {
        "pair": PAGE, "task": "stories", "own": None, "methods": METHODS, "grid": "", "values": "", "questions": 2,
        "seeds": 1, "new_tokens": 4, "temperature": 1, "beams": 2,
    }  # fmt: skip
    return list((given | changed).values())


@pytest.fixture(scope="module")
def quick():
    """An engine of the toy pair whose runs may take long."""
    return Engine(toy_pair(), ALONE)


@pytest.fixture(scope="module")
def done(quick):
    """The frames of a whole evaluation."""
    return list(evaluate.run(quick, "me", *choice()))


@pytest.fixture
def file(tmp_path):
    def written(text, name="mine.jsonl"):
        path = tmp_path / name
        path.write_text(text, encoding="utf-8")
        return str(path)

    return written


def test_every_decode_is_told_and_the_last_frame_has_the_results(done):
    assert [frame.problem for frame in done] == [""] * len(done)
    assert "0 of 4 decodes. Warming up" in done[0].note
    assert "4 of 4 decodes" in done[-2].note
    last = done[-1]
    assert last.note.startswith("Done")
    assert last.table.count("<tr") == 3
    assert "DSBD, dynamic width" in last.table
    assert len(unpacked(last.charts)) == 1
    with zipfile.ZipFile(last.file["value"]) as archive:
        names = archive.namelist()
        results = [json.loads(archive.read(name)) for name in names if "/results_" in name]
    assert {"evaluation.json", "predictions.jsonl", "report.md"} <= set(names)
    assert sum("/samples_" in name for name in names) == len(METHODS)
    assert {next(iter(result["results"])) for result in results} == {"dsbd_stories"}


def test_the_same_choice_goes_on_and_another_does_not(quick, done):
    """Catches decodes that are made again, and a folder that two choices share."""
    again = list(evaluate.run(quick, "me", *choice()))
    assert len(again) == 1
    assert again[0].note.startswith("Done")
    assert len(list(evaluate.run(quick, "someone else", *choice(questions=1, methods=["sampling"])))) > 1


def test_late_and_stopped_runs_show_what_is_there_and_go_on(monkeypatch):
    engine, asked = Engine(toy_pair(), ALONE), choice(questions=4)
    whole = engine.run

    def late(*given):
        yield from islice(whole(*given), 4)
        raise StoppedError("late")

    monkeypatch.setattr(engine, "run", late)
    *_, last = evaluate.run(engine, "me", *asked)
    assert "DSBD_EVALUATE_SECONDS" in last.note
    assert "Press Evaluate again" in last.note
    assert "<table" in last.table
    assert len(Store(last.kept.folder).predictions) == 2
    monkeypatch.undo()
    frames = evaluate.run(engine, "me", *asked)
    while "Warming" in next(frames).note:
        pass
    engine.visitors.stop("me")
    *_, ended = frames
    assert ended.note.startswith("Stopped.")
    assert "<table" in ended.table
    assert 2 <= len(Store(last.kept.folder).predictions) < 8
    *_, ended = evaluate.run(engine, "me", *asked)
    assert ended.note.startswith("Done")


def test_a_stop_before_the_first_decode_shows_no_table(quick):
    frames = evaluate.run(quick, "early", *choice())
    next(frames)
    quick.visitors.stop("early")
    *_, ended = frames
    assert ended.note == "Stopped. No decode was finished yet."


@pytest.mark.parametrize(
    ("changed", "said"),
    [
        ({"task": "sql"}, "Task is 'sql'; with these models choose from stories, jsonl"),
        ({"task": "../../etc"}, "choose from stories"),
        ({"task": ["stories"]}, "choose from stories"),
        ({"task": "jsonl"}, "There is no file of questions yet"),
        ({"task": "jsonl", "own": "../../x"}, "has expired"),
        ({"methods": []}, "No method is chosen"),
        ({"methods": ["hf_sampling"]}, "Methods names 'hf_sampling'"),
        ({"methods": [{}]}, "Methods names"),
        ({"grid": "seed"}, "Grid is 'seed'"),
        ({"grid": {"seed": 1}, "values": "1"}, "Grid is"),
        ({"grid": "draft_width", "values": "2, x"}, "Values of the grid hold 'x'"),
        ({"grid": "draft_width", "values": "inf"}, "Values of the grid hold 'inf'"),
        ({"grid": "draft_width", "values": ""}, "Values of the grid hold ''"),
        ({"grid": "draft_width", "values": ",".join("1" * 13)}, "give 1 to 12"),
        ({"grid": "draft_width", "values": "2, 2"}, "name each value once"),
        ({"grid": "draft_width", "values": "0.5"}, "draft_width is 0.5"),
        ({"temperature": "hot"}, "Temperature is 'hot'"),
        ({"questions": 0}, "Limit is 0"),
        ({"questions": "all"}, "Limit is 'all'"),
        ({"seeds": 1.5}, "Seeds is 1.5"),
        ({"new_tokens": 500}, "max_new_tokens"),
        ({"questions": 300, "seeds": 2}, "Decodes: 1,200 asked for, 400 allowed on this page"),
        ({"beams": 64, "new_tokens": 65, "methods": ["beam_sampling"]}, "New tokens times beams: 4,160"),
    ],
    ids=str,
)
def test_what_cannot_be_is_refused_in_a_sentence(quick, changed, said):
    *_, last = evaluate.run(quick, "me", *choice(**changed))
    assert said in f"{last.problem}{last.note}".replace("&#x27;", "'")
    assert last.run["visible"] is True
    assert "Traceback" not in last.problem


def test_own_questions_are_read_apart_and_kept(quick, file):
    lines = "".join(json.dumps(one) + "\n" for one in QUESTIONS)
    name, said, problem = evaluate.bring_questions(quick, "me", file(lines))
    assert problem == ""
    assert "3 questions, with right answers" in said
    *_, last = evaluate.run(quick, "me", *choice(task="jsonl", own=name))
    assert "the share of answers that are one of the right answers; more is better" in last.table
    assert evaluate.bring_questions(quick, "me", None) == (None, "", "")
    *_, other = evaluate.run(quick, "not me", *choice(task="jsonl", own=name))
    assert "has expired" in other.problem


@pytest.mark.parametrize(
    ("text", "name", "said"),
    [
        ("{", "mine.jsonl", "mine.jsonl, line 1: no JSON"),
        ('{"prompt": "x", "evil": 1}', "mine.jsonl", "unknown field"),
        ('{"prompt": "\\ud800"}', "mine.jsonl", "half of a surrogate pair"),
        ('{"prompt": "x", "references": ["<script>alert(1)</script>\\ud800"]}', "mine.jsonl", "half of a surrogate"),
        ("", "mine.jsonl", "no question"),
        ("prompt,references\na,b,c\n", "mine.csv", "more fields than the heading"),
        ('{"prompt": "' + "x" * 5000 + '"}', "mine.jsonl", "has more than 4,000 characters"),
        ('{"prompt": "x"}\n' * 2001, "mine.jsonl", "this page takes 2,000"),
        ("[" * 100_000, "mine.jsonl", "no JSON"),
        ("x", "mine.exe", "give a .jsonl or .csv file"),
        ('{"prompt": "x", "<img src=x onerror=alert(1)>": 1}', "mine.jsonl", "&lt;img"),
    ],
    ids=lambda value: value[:20],
)
@pytest.mark.usefixtures("reader")
def test_hostile_files_are_refused_in_a_sentence(quick, file, text, name, said):
    path = file(text, name)
    taken, _, problem = evaluate.bring_questions(quick, "me", path)
    assert taken is None
    assert said in problem
    assert "<img" not in problem
    assert str(Path(path).parent) not in problem


@pytest.mark.slow
def test_a_packed_bomb_is_refused(quick, tmp_path):
    path = tmp_path / "bomb.jsonl.gz"
    with gzip.open(path, "wb", compresslevel=9) as packed:
        for _ in range(210):
            packed.write(b" " * 1_000_000)
    _, _, problem = evaluate.bring_questions(quick, "me", str(path))
    assert "more than 200000000 bytes" in problem


def test_hostile_questions_are_escaped_wherever_they_are_shown(quick, file):
    prompt = "<script>alert(1)</script>"
    line = json.dumps({"prompt": prompt, "references": ["<img src=x>"], "id": "</script>"})
    name, said, _ = evaluate.bring_questions(quick, "me", file(line))
    *_, last = evaluate.run(quick, "me", *choice(task="jsonl", own=name, questions=1))
    assert "<script" not in said + last.table + last.note
    assert "&lt;script" in said


def test_folders_expire_and_are_bounded(tmp_path):
    folders = Folders(Limits(file_seconds=60, max_visitors=1))
    made = [folders.of("../../me", {"choice": place}) for place in range(FOLDERS_OF_VISITOR + 1)]
    assert [path.is_dir() for path in made] == [False, *[True] * FOLDERS_OF_VISITOR]
    assert len({path.parent for path in made}) == 1
    assert "me" not in made[0].parent.name
    folders.of("another", {})
    assert sum(path.is_dir() for path in made) == FOLDERS_OF_VISITOR - 1
    folders._used = {path: used - 61 for path, used in folders._used.items()}
    kept = folders.of("another", {})
    assert kept.is_dir()
    assert not any(path.is_dir() for path in made)


def test_every_offered_method_and_grid_can_be_asked():
    names = [name for _, name in method_choices()]
    assert len(contenders_of(names, "", "", {"temperature": 1, "num_beams": 4})) == len(names)
    assert len(contenders_of(None, GRID, "", {"temperature": 1, "num_beams": 4})) > 10
    assert label_of("dsbd same-law draft_width=2") == "DSBD, same law as beam sampling · draft width 2"


def test_questions_to_sql_go_to_the_pair_that_writes_it():
    """Catches a task that is asked of models that were never taught it."""
    alone, several = PairShelf(toy_pair(), 1), PairShelf(toy_pair(), 2)
    assert [name for _, name in tasks_of(alone)] == ["stories", "jsonl"]
    assert [name for _, name in tasks_of(several)] == ["sql", "stories", "jsonl"]
    assert pair_of("sql", PAGE, several) == "bundled:sql"
    assert pair_of("stories", "bundled:sql", several) == "bundled:stories"
    assert pair_of("stories", PAGE, several) == PAGE
    assert pair_of("jsonl", "bundled:sql", several) == "bundled:sql"


@pytest.fixture(scope="module")
def client(address):
    return Client(address, verbose=False)


def test_evaluate_through_the_page(client):
    """Catches an endpoint whose settings or examples do not reach the decodes."""
    found = client.predict(
        "jsonl", ["sampling"], 2, 1, {"temperature": [0.5, 1.0]}, {"max_new_tokens": 3}, QUESTIONS, api_name="/evaluate"
    )
    assert found["complete"] is True
    assert [row["contender"] for row in found["tables"]["jsonl"]["rows"]] == [
        "sampling temperature=0.5",
        "sampling temperature=1.0",
    ]
    assert found["results"][0]["n-samples"]["dsbd_jsonl"] == {"original": 3, "effective": 2}


@pytest.mark.parametrize(
    ("given", "said"),
    [
        (["spider", ["sampling"]], "with these models"),
        (["stories", ["sampling"], 1, 1, None, None, None, "nowhere"], "is not in memory"),
        (["jsonl", ["sampling"], 1, 1, None, None, []], "examples is a list"),
        (["jsonl", ["sampling"], 1, 1, None, None, [{"prompt": 3}]], "prompt must be a text"),
        (["stories", ["sampling"], 1, 1, {"a": [1], "b": [2]}], "one setting and its values"),
        (["stories", ["sampling"], 1, 1, {"temperature": [[1]]}], "Values of the grid"),
        (["stories", ["sampling"], 1, 1, None, {"num_beams": "x"}], "num_beams"),
    ],
    ids=str,
)
def test_programs_are_refused_in_a_sentence(client, given, said):
    with pytest.raises(AppError, match="(?i)" + said):
        client.predict(*given, api_name="/evaluate")
