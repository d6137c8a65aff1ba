"""A small task, and exams of it with the toy pair."""

from typing import ClassVar

from dsbd.evaluation.exams import make_exam
from dsbd.evaluation.records import Exam, Prediction, TaskRun
from dsbd.measure.bench.contenders import contenders
from dsbd.tasks.records import Question, Score, Task

METHODS = ("dsbd:same-law", "beam_sampling", "sampling", "hf_sampling")


class Quiz(Task):
    """Six questions in three clusters; two filters."""

    name = "quiz"
    version = 3
    until = tuple("=AEFKSX")
    max_new_tokens = 6
    metrics: ClassVar = {"exact": True, "length": False}
    main_metric = "exact"
    filters = ("none", "upper")
    licence = "none"
    note = "a toy"

    def __init__(self):
        super().__init__(
            Question(f"q{number}", f"Say {'so ' * number}once", (f"yes {number}",), f"c{number // 2}", {"kind": "toy"})
            for number in range(6)
        )

    def answer(self, text, filter="none"):
        plain = super().answer(text, filter)
        return plain.upper() if filter == "upper" else plain

    def score(self, question, answer):
        right = answer.lower() == question.references[0]
        return Score({"exact": float(right), "length": float(len(answer))}, "" if right else "another text")


def exam(methods=METHODS, **changes) -> Exam:
    """Ask two questions with two seeds."""
    settings = {"limit": 2, "seeds": 2} | changes
    return make_exam([Quiz()], contenders(methods, ["defaults"], {"num_beams": [3]}), **settings)


def made_up_prediction(run: TaskRun, number: int, text: str, contender: str = "sampling", turn: int = 0, **changes):
    """Make a prediction of 10 tokens in one second."""
    question = run.questions[number]
    figures = {
        "contender": contender, "prompt": question.prompt, "prompt_tokens": 5, "seed": turn, "text": text,
        "seconds": 1.0, "prefill_seconds": 0.1, "layers": 10, "new_tokens": 10, "perplexity": 2.0 + number,
        "best_log_weight": -1.0, "best_log_weight_per_token": -0.1, "target_calls": 10, "task": run.name,
        "question": question.id, "cluster": question.cluster, "turn": turn, "shortened": False, "ended": "limit",
        "first_token_seconds": 0.1, "processes": 1,
    }  # fmt: skip
    return Prediction(**(figures | changes))
