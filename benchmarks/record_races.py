"""Record the races of ``assets/races``, which the page shows before a visitor's own; needs a quiet machine.

python -m benchmarks.record_races
"""

import json
from pathlib import Path

import dsbd
from dsbd.evaluation.race import make_race, race
from dsbd.evaluation.races import Race
from dsbd.files import write_file
from dsbd.machine import machine, versions
from dsbd.measure.bench.contenders import contenders
from dsbd.tasks.registry import load_task

FOLDER = Path(__file__).parents[1] / "assets" / "races"
RACERS = ("sampling", "beam_sampling", "speculative", "dsbd:same-law", "dsbd")
STORY = "Once upon a time, there was a little fox who"
QUESTIONS = 6
TOKENS = 48
ROUNDS = 5


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for name in ("stories", "sql"):
        recorded = record(name)
        content = json.dumps(recorded.to_dict(), ensure_ascii=False, separators=(",", ":"))
        write_file(FOLDER / f"{name}.json", content)
        for racer in recorded.racers:
            print(name, racer.name, racer.ratio)


def record(name: str) -> Race:
    pair = dsbd.load_pair(f"bundled:{name}")
    task = load_task("sql") if name == "sql" else None
    questions = task.questions(QUESTIONS) if task else []
    prompts = [question.prompt for question in questions] or [STORY]
    racing = contenders(RACERS, ("defaults",), {"max_new_tokens": [TOKENS]})
    *_, last = race(pair, racing, prompts, ROUNDS)
    assert last.runs is not None, "a race ends with its runs"
    conditions = {"machine": machine(pair.device), "versions": versions()}
    return make_race(last.runs, task, questions, conditions)


if __name__ == "__main__":
    main()
