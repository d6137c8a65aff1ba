"""A small task, and exams of it with the toy pair."""

from typing import ClassVar

from dsbd.evaluation.exam import Exam, make_exam
from dsbd.measure.bench.contenders import contenders
from dsbd.tasks.task import Question, Score, Task

METHODS = ("dsbd:same-law", "beam_sampling", "sampling", "hf_sampling")


class Quiz(Task):
    """Six questions in three clusters."""

    name = "quiz"
    version = 3
    until = tuple("=AEFKSX")
    max_new_tokens = 6
    metrics: ClassVar = {"exact": True, "length": False}
    main_metric = "exact"
    note = "a toy"

    def __init__(self):
        super().__init__(
            Question(f"q{number}", f"Say {'so ' * number}once", (f"yes {number}",), f"c{number // 2}", {"kind": "toy"})
            for number in range(6)
        )

    def score(self, question, answer):
        right = answer.lower() == question.references[0]
        return Score({"exact": float(right), "length": float(len(answer))}, "" if right else "another text")


def exam(methods=METHODS, **changes) -> Exam:
    """Ask two questions with two seeds."""
    settings = {"limit": 2, "seeds": 2} | changes
    return make_exam([Quiz()], contenders(methods, {"num_beams": [3]}), **settings)
