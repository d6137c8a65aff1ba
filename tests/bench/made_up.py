"""Small tasks, databases, runs and tables for the tests of benchmarks."""

import sqlite3
from contextlib import closing

from dsbd.bench.records import Run, Table
from dsbd.bench.statistics import make_table
from dsbd.bench.systems import TRANSFORMERS
from dsbd.bench.task import Question, QuestionList

BASELINE = "beam_sampling num_beams=4"
RIGHT = {"beam_sampling num_beams=2": "1101 0110", BASELINE: "1111 0110", "dsbd draft_width=4": "1111 0111",
         "speculative": "1001 0100", "sampling": "0001 0110"}  # fmt: skip
"""By system: which of the questions, in two clusters, it answers right."""
SPEED = {"beam_sampling num_beams=2": 60, BASELINE: 40, "dsbd draft_width=4": 90, "speculative": 130, "sampling": 70}


class Quiz(QuestionList):
    """Six questions in three clusters."""

    name = "quiz"
    until = tuple("=AEFKSX")
    max_new_tokens = 6
    main_metric = "exact"

    def __init__(self, questions=None):
        super().__init__(
            questions
            or [
                Question(f"q{number}", f"Say {'so ' * number}once", (f"yes {number}",), f"c{number // 2}")
                for number in range(6)
            ]
        )

    def score(self, question, answer):
        right = answer.lower() == question.references[0]
        return float(right), "" if right else "another text"


def made_up_run(system: str, question: int = 0, score: float | None = None, **changes) -> Run:
    """Make a run of 40 tokens."""
    method, *parts = system.split(" ")
    assert method not in TRANSFORMERS
    figures = {
        "system": system, "method": method, "task": "quiz", "question": f"q{question}", "round": 0,
        "settings": {"num_beams": 4} | {name: int(value) for name, value in (part.split("=") for part in parts)},
        "cluster": f"db{question // 4}", "seed": 0, "prompt": "p", "text": "", "answer": "", "score": score,
        "ended": "limit", "seconds": 40 / SPEED.get(system, 50) + question / 100, "prefill_seconds": 0.0,
        "layers": 40, "new_tokens": 40, "perplexity": 2.0 + question / 10,
        "target_calls": 16, "iterations": 16, "accepted": 30, "rejected": 10, "mean_width": 1.0,
    }  # fmt: skip
    return Run(**(figures | changes))


def made_up_table(**changes) -> Table:
    """Make the table of every system of :data:`RIGHT`."""
    runs = [
        made_up_run(name, question, float(right), **changes)
        for name, row in RIGHT.items()
        for question, right in enumerate(row.replace(" ", ""))
    ]
    return make_table(runs, Quiz(), BASELINE)


def mean_score(task, shift=0):
    """Return the mean score when every question gets the right answer of the question ``shift`` further on."""
    questions = task.questions()
    dealt = [questions[(index + shift) % len(questions)] for index in range(len(questions))]
    answers = [task.answer(f" {question.references[0]}") for question in dealt]
    scores = [task.score(question, answer)[0] for question, answer in zip(questions, answers, strict=True)]
    return sum(scores) / len(scores)


def chance(task):
    """Return the mean score over all shifts: the expected score of right answers dealt at random."""
    count = len(task.questions())
    return sum(mean_score(task, shift) for shift in range(count)) / count


def write_database(path, pages):
    """Write a database of books with these numbers of pages, None for an unknown one."""
    with closing(sqlite3.connect(path)) as connection:
        connection.execute("CREATE TABLE books (book_id INTEGER PRIMARY KEY, title TEXT, pages INTEGER)")
        rows = [(f"Book {index}", count) for index, count in enumerate(pages)]
        connection.executemany("INSERT INTO books (title, pages) VALUES (?, ?)", rows)
        connection.commit()
