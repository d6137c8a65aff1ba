"""Makes scored decodes and tables with given figures."""

from dsbd.evaluation.make_tables import ScoredRun, make_table
from dsbd.evaluation.tables import ContestTable
from dsbd.measure.bench.contenders import OPPONENTS, Contender

from dsbd.settings import DecodingSettings
from tests.measure.bench.made_up import made_up_run

RIGHT = {"beam_sampling num_beams=2": "1101 0110", "beam_sampling num_beams=4": "1111 0110",
         "dsbd draft_width=4 input_beams=None": "1111 0111", "dsbd draft_width=4 input_beams=1": "1101 0100",
         "speculative": "1001 0100", "sampling": "0001 0110"}  # fmt: skip
"""By contender: which of the questions, in two clusters, it answers right."""
SPEED = {"beam_sampling num_beams=2": 60, "beam_sampling num_beams=4": 40, "dsbd draft_width=4 input_beams=None": 90,
         "dsbd draft_width=4 input_beams=1": 110, "speculative": 130, "sampling": 70}  # fmt: skip
BASELINE = "beam_sampling num_beams=4"


def answer(contender: str, question: int, score: float | None, **changes) -> ScoredRun:
    """Make an answer of 40 tokens."""
    method, *parts = contender.split(" ")
    fields = {name: None if value == "None" else int(value) for name, value in (part.split("=") for part in parts)}
    figures = {
        "contender": contender, "question": f"q{question}", "cluster": f"db{question // 4}",
        "perplexity": 2.0 + question / 10, "layers": 40, "seconds": 40 / SPEED.get(contender, 50) + question / 100,
        "iterations": 16, "mean_width": 1.0 + (method == "dsbd"), "accepted": 30, "rejected": 10,
        "widths": {1: 20, 3: 20} if method == "dsbd" else {1: 40},
    }  # fmt: skip
    run = made_up_run(40, **(figures | changes))
    return ScoredRun(
        Contender(contender, method, DecodingSettings(method=OPPONENTS.get(method, method), **fields)), run, score
    )


def made_up_answers(**changes) -> list[ScoredRun]:
    """Make the answers of every contender of :data:`RIGHT`."""
    return [
        answer(name, question, float(right), **changes)
        for name, row in RIGHT.items()
        for question, right in enumerate(row.replace(" ", ""))
    ]


def made_up_table(**changes) -> ContestTable:
    """Make their table."""
    return make_table(made_up_answers(**changes), task="sql", metric="execution_accuracy", baselines=[BASELINE])
