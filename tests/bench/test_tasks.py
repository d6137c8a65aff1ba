"""Tasks: where data is and how it is read, what is asked, where an answer ends, and how it is scored."""

import doctest
import json
from collections import Counter

import pytest

from dsbd.bench import files, task, tasks
from dsbd.bench.benchmark import make_benchmark, report_benchmark
from dsbd.bench.files import json_lines, read_json
from dsbd.bench.systems import systems
from dsbd.bench.task import Question, Task, in_order
from dsbd.bench.tasks import NEEDLE, MtBench, OwnQuestions, Squad, load_task
from dsbd.errors import TaskError
from dsbd.util import asset_path
from tests.bench.made_up import chance, mean_score
from tests.toy_pair import toy_pair

OWN = [
    {"id": "x", "prompt": "Capital of France?", "references": ["Paris", "the city of Paris"]},
    {"prompt": "Two and two?", "references": "Four"},
    {"id": 7, "prompt": "Three and one?", "references": " four "},
]
BRIDGES = "The old bridge was built in 1850 by the Hart brothers.\nIt fell in 1901."


def qa(id, question, *answers):
    return {"id": id, "question": question, "answers": [{"text": text, "answer_start": 0} for text in answers]}


SQUAD = {"data": [
    {"title": "Bridges", "paragraphs": [{"context": BRIDGES, "qas": [
        qa("a", "Who built it?", "the Hart brothers", "Hart brothers"), qa("b", "When?", "1850", "in 1850")]}]},
    {"title": "Rivers", "paragraphs": [{"context": "The Lind is 300 km long.", "qas": [
        qa("c", "How long is the Lind?", "300 km"), qa("d", "Which river?", "The Lind")]}]},
]}  # fmt: skip


def squad(path, data=SQUAD):
    (path / "dev.json").write_text(json.dumps(data), encoding="utf-8")
    return Squad(path / "dev.json")


def own(path, *entries, name="own.jsonl"):
    (path / name).write_text("\n".join(map(json.dumps, entries)), encoding="utf-8")
    return OwnQuestions(path / name)


def test_the_example_of_a_task_is_one():
    """Catches a protocol that a benchmark asks more of than it says."""
    example = doctest.DocTestParser().get_doctest(Task.__doc__, vars(task), "Task", None, None)
    assert doctest.DocTestRunner().run(example, clear_globs=False).failed == 0
    benchmark = make_benchmark(toy_pair(), systems(["sampling"], {}), [example.globs["Sums"]()], limit=3)
    report = report_benchmark(toy_pair(), benchmark)
    assert (report.tables["sums"].questions, report.tables["sums"].metric) == (3, "exact_match")
    assert {(run.score, run.reason) for run in report.runs} == {(0.0, "another number")}


def test_files_are_read_as_in_an_editor(tmp_path):
    """Catches numbers that forget empty lines, a line that is cut at a separator in a text."""
    (tmp_path / "a.json").write_bytes('\ufeff["é"]'.encode())
    assert read_json(tmp_path / "a.json") == ["é"]
    (tmp_path / "a.jsonl").write_bytes('{"a": 1}\r\n\n{"a": "x\u2028y"}'.encode())
    assert list(json_lines(tmp_path / "a.jsonl")) == [(1, {"a": 1}), (3, {"a": "x\u2028y"})]


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("a.json", None, "there is no file .*; check the path"),
        ("a.json", b"\xff", "not UTF-8 at byte 0"),
        ("a.json", b"[" * 100_000, "is not JSON"),
        ("a.json", b" " * 200_101, "more than 200,100 bytes"),
        ("a.json", b'[{"a": 1, "b": 2, "a": 3}]', "is not JSON: field 'a' stands twice in one object"),
        ("a.jsonl", b"{}\n{", "line 2: no JSON"),
        ("a.jsonl", b"{}\n[1]", "line 2: a list; each line holds one object"),
    ],
)
def test_a_damaged_file_is_an_error_that_names_the_line(name, content, message, tmp_path, monkeypatch):
    """Catches a traceback, and a file that fills the memory."""
    monkeypatch.setattr(files, "MAX_BYTES", 200_100)
    if content is not None:
        (tmp_path / name).write_bytes(content)
    read = json_lines if name == "a.jsonl" else lambda path: [read_json(path)]
    with pytest.raises(TaskError, match=message):
        list(read(tmp_path / name))


def test_data_that_is_missing_is_an_error_with_its_remedy():
    for name in ("gsm8k", "jsonl", "mt_bench", "spider", "squad"):
        with pytest.raises(TaskError, match=r"give (the|a) (path|folder)"):
            load_task(name)
        with pytest.raises(TaskError, match=f"nothing at 'no/such', the data of task {name}; give"):
            load_task(name, "no/such")
    with pytest.raises(TaskError, match="data of task sql is 'x', and its data is bundled; leave it out"):
        load_task("sql", "x")
    with pytest.raises(TaskError, match="there is no task 'sqad'; tasks are gsm8k, jsonl, mt_bench, needle, "):
        load_task("sqad")


def test_right_answers_score_all_and_shuffled_ones_what_chance_gives(tmp_path):
    """By chance: 4 questions about passages share no word; of 3 own questions two share their answer."""
    passages, mine = squad(tmp_path), own(tmp_path, *OWN)
    assert (mean_score(passages), mean_score(mine)) == (1.0, 1.0)
    assert chance(passages) == pytest.approx(4 / 16)
    assert chance(mine) == pytest.approx((3 + 2) / 9)


@pytest.mark.parametrize(
    ("answer", "references", "exact"),
    [
        ("the Hart Brothers.", ["Hart brothers"], 1),
        ("Hart", ["the Hart brothers", "Hart"], 1),
        ("a-b", ["ab"], 1),
        ("theatre", ["atre"], 0),
        ("x “y”", ["x y"], 0),
    ],
)
def test_squad_by_hand(tmp_path, answer, references, exact):
    """The last one is a quirk of the official scoring: only ASCII punctuation goes."""
    assert squad(tmp_path).score(Question("q", "", tuple(references)), answer) == (exact, "")


@pytest.mark.parametrize(
    ("right", "answer", "score"),
    [
        *(("1,005", answer, 1) for answer in ("2 + 3 = 5, so $1,005.00.", "1,005", "x=01005", "2010-1005")),
        *(("1,005", answer, 0) for answer in ("1005 or 1006", "no number", "-1005", "\u22121005", "1,0,05", ".1005")),
        ("-5", "minus: \u22125", 1),
        ("-5", "-$5", 1),
        ("-5", "10 - 5", 0),
        ("5", "20-15 = 10-5", 1),
        ("5", ".5", 0),
        (".5", "0.50", 1),
        ("12345678901", "12345678902", 0),
        ("12,345,678,901", "12345678901.0", 1),
        ("3", "1,2,3", 1),
        ("100000", "1,00,000", 1),
    ],
)
def test_the_last_number_of_an_answer_counts(tmp_path, right, answer, score):
    """Catches a minus that takes away, one that is a character of its own, and digits that are not looked at."""
    task = load_task("gsm8k", lines(tmp_path, {"question": "How many?", "answer": f"5 * 201\n#### {right}"}))
    assert task.score(task.questions()[0], answer) == (score, "")


def lines(path, *entries):
    (path / "a.jsonl").write_text("\n".join(map(json.dumps, entries)), encoding="utf-8")
    return path / "a.jsonl"


@pytest.mark.parametrize(
    ("name", "entry", "message"),
    [
        ("gsm8k", {"question": None, "answer": "#### 1"}, ""),
        ("gsm8k", {"question": "q", "answer": "5"}, "no number behind ####"),
        ("mt_bench", {"turns": []}, "out of range"),
        ("mt_bench", {"turns": "Write."}, "first turn is no text"),
    ],
)
def test_a_bad_item_is_an_error_that_names_its_line(name, entry, message, tmp_path):
    good = {"question": "q", "answer": "#### 1", "turns": ["q"]}
    with pytest.raises(TaskError, match=rf"a\.jsonl, line 2 is not in the format .*{message}.*give the path"):
        load_task(name, lines(tmp_path, good, entry))


def test_a_passage_is_a_cluster(tmp_path):
    task = squad(tmp_path)
    by_id = {question.id: question for question in task.questions()}
    assert by_id["a"].cluster == by_id["b"].cluster != by_id["c"].cluster == by_id["d"].cluster
    assert by_id["a"].prompt.startswith("Read each passage. Answer the question with the shortest piece")
    assert by_id["a"].prompt.endswith("It fell in 1901.\nQuestion: Who built it?\nAnswer:")
    assert task.answer(" the Hart brothers\nQuestion: more?") == "the Hart brothers"


def article(*questions):
    return {"data": [{"title": "t", "paragraphs": [{"context": "c", "qas": questions}]}]}


@pytest.mark.parametrize(
    ("data", "message"),
    [
        ({}, "'data'"),
        ([], "indices"),
        (article(qa("x", ["q"], "c")), "split"),
        (article(qa("x", "q", 1890)), "lower"),
        *((article(qa("x", "q", *answers)), "'x' has no right answer with a word") for answers in ((), ("the",))),
    ],
)
def test_what_is_not_squad_is_an_error_with_its_remedy(tmp_path, data, message):
    """Catches a traceback after the decode, and an empty answer that is right."""
    with pytest.raises(TaskError, match=rf"dev\.json is not in the format .*{message}.*give the path of SQuAD"):
        squad(tmp_path, data)


def test_no_empty_answer_is_right(tmp_path):
    task = squad(tmp_path, article(qa("x", "q", "the", "cat")))
    assert (task.questions()[0].references, task.score(task.questions()[0], "a")) == (("cat",), (0.0, ""))


def test_own_questions_keep_their_order_and_are_compared_without_case_and_spaces(tmp_path):
    task = own(tmp_path, *OWN)
    assert [question.id for question in task.questions()] == ["x", "2", "7"]
    for answer, right in (("PARIS", 1), (" the  city of\tparis", 1), ("Paris.", 0), ("", 0)):
        assert task.score(task.questions()[0], task.answer(answer)) == (right, "")
    plain = own(tmp_path, {"prompt": "Go on:"}, {"prompt": "And on:"})
    assert (plain.main_metric, plain.until, task.until) == ("", (), ("\n",))


@pytest.mark.parametrize(
    ("entry", "message"),
    [
        ({}, "prompt is None; write a text that is not blank"),
        ({"prompt": " "}, "prompt is ' '; write a text that is not blank"),
        ({"prompt": "a", "answer": "b"}, "unknown field 'answer'"),
        ({"prompt": "a", "references": "b\nc"}, r"a reference is 'b\\nc'; write one line"),
        ({"prompt": "a", "references": ["b", ""]}, "a reference is ''; write a text that is not blank"),
        (
            {"prompt": "a", "references": "b", "id": True},
            "id is True; write a text that is not blank, or a whole number",
        ),
        ({"prompt": "a"}, "no right answer, and other lines have one"),
        ({"prompt": "\ud800", "references": "b"}, "prompt is .*, with half of a surrogate pair"),
    ],
)
def test_a_bad_line_is_an_error_that_names_it(entry, message, tmp_path):
    with pytest.raises(TaskError, match=rf"own\.jsonl, line 2: ({message})"):
        own(tmp_path, {"prompt": "a", "references": "b"}, entry)
    with pytest.raises(TaskError, match=r"'own\.csv'; give a \.jsonl file: JSON lines"):
        own(tmp_path, name="own.csv")
    with pytest.raises(TaskError, match="several questions with the id '2'"):
        own(tmp_path, {"prompt": "a", "id": 2}, {"prompt": "b"})


def test_the_needle_is_told_first_and_asked_last():
    """Catches a story that tells of the secret animal too, and equal stories."""
    task = load_task("needle")
    for question in task.questions():
        (word,) = question.references
        assert question.prompt.startswith(f"{NEEDLE} {word}.\n\n")
        assert question.prompt.endswith(f"\n{NEEDLE}")
        assert question.prompt.count(NEEDLE) == 2
    distances = Counter(question.id.partition("-")[0] for question in task.questions())
    assert distances == {f"{distance}": tasks.PER_DISTANCE for distance in tasks.DISTANCES}
    assert {question.references[0] for question in task.questions()} == set(tasks.needle_words())
    question = next(question for question in task.questions() if question.references == ("cat",))
    for text, score in ((" cat. It", 1), (" cat\n", 1), (" Cat.", 0), (" big cat.", 0), ("", 0)):
        assert task.score(question, task.answer(text)) == (score, "")


def test_mt_bench_asks_the_first_turns(tmp_path):
    file = lines(tmp_path, {"question_id": 81, "turns": ["Write a letter.", "Shorten it."]})
    assert [(one.id, one.prompt) for one in MtBench(file).questions()] == [("81", "Write a letter.")]


def test_bundled_prompts_are_enough_and_in_a_fixed_order():
    """Catches an order that depends on the file, and a sample that changes with its size."""
    prompts = [question.prompt for question in load_task("stories").questions()]
    assert len(prompts) == len(set(prompts)) == 400
    bundled = asset_path("prompts.txt").read_text(encoding="utf-8").splitlines()
    assert prompts[: len(bundled)] == bundled
    with pytest.raises(TaskError, match="limit is 0; give at least 1"):
        load_task("stories").questions(0)
    assert [one.id for one in in_order(Question(str(at), "") for at in range(19, -1, -1))][:3] == ["7", "11", "4"]
