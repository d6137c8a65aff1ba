"""Records what the page and the lessons show: ``python -m benchmarks.record traces``, ``lessons`` or ``races``.

- ``traces`` writes ``assets/traces``; the page opens with the first. Names after it record only these.
- ``lessons`` writes ``assets/lessons/traces``, but for the fifth. The lessons name nodes of these traces: record them
  again only together with the lessons.
- ``races`` writes ``assets/races``, which the page shows before a visitor's race; it needs a quiet machine. Names after
  it record only these.

The bundled pairs are in float32, as nearly every processor and every browser computes them, so that a run repeats them.
The chat needs ``python -m dsbd fetch smollm2``.
"""

import argparse
from collections.abc import Sequence
from dataclasses import replace
from pathlib import Path
from typing import Any

import dsbd
from dsbd.bench.race import race
from dsbd.bench.records import Race
from dsbd.bench.systems import systems
from dsbd.bench.tasks import load_task
from dsbd.machine import machine, versions
from dsbd.models.loading import WITH_MEMORY
from dsbd.util import SMOLLM2
from visualize.page.form import SQL, as_prompt, examples_for

ASSETS = Path(__file__).parents[1] / "assets"
STORY = "Once upon a time, there was a little fox who"
EXACT = {"min_width": 4, "max_width": 4}
PAPER = {"method": "dsbd", "landing": False, "cover_width": 0}
LONG: dict[str, Any] = {"max_new_tokens": 64, "seed": 7}
SPECULATIVE = LONG | {"method": "speculative"}
ON_ONE_LINE = {"method": "dsbd", "draft_depth": 0, "forest": "sampled"}
"""Beam sampling whose draws are random numbers on the line of all candidates, as its lesson shows them."""
DEEP = LONG | EXACT | {"draft_depth": 8, "draft_width": 4}
"""Where the page's form begins, on pairs whose guesses are nearly all kept."""
Recordings = dict[str, tuple[str, dict[str, Any]]]


def _example(pair: str, number: int) -> str:
    return as_prompt(pair, list(examples_for(pair).values())[number])


STORIES: Recordings = {
    "1-dynamic-width": (STORY, LONG | {"seed": 7544}),
    "2-exact-width-four": (STORY, LONG | EXACT),
    "3-without-replacement": (STORY, LONG | {"replacement": False}),
    "4-extra-candidates": (STORY, LONG | {"cover_width": 8, "min_width": 3}),
    "5-speculative-sampling": (STORY, SPECULATIVE),
    "6-beam-sampling": (STORY, LONG | {"method": "beam_sampling"}),
}
QUERIES: Recordings = {
    "7-SQL-young-members": (_example(SQL, 0), DEEP),
    "8-SQL-dynamic-width": ("Q: Which authors have won more prizes than the average?\nSQL:", LONG),
    "9-SQL-speculative-sampling": ("Q: Show the titles of long books not written in French.\nSQL:", SPECULATIVE),
    "10-SQL-counted-by-city": (_example(SQL, 1), DEEP),
    "11-SQL-the-most-loans": (_example(SQL, 2), DEEP),
    "12-SQL-not-in-French": (_example(SQL, 3), DEEP),
}
REMEMBERED: Recordings = {"13-a-word-from-long-before": (_example(WITH_MEMORY, 0), LONG | EXACT)}
CHATS: Recordings = {"14-chat-correct-the-spelling": (_example(SMOLLM2, 0), DEEP | {"temperature": 0.2})}
LESSONS: Recordings = {
    "1-speculative-decoding": (STORY, {"method": "speculative", "draft_depth": 4, "max_new_tokens": 16, "seed": 6}),
    "2-beam-sampling": (STORY, ON_ONE_LINE | {"min_width": 3, "max_width": 3, "max_new_tokens": 8, "seed": 2}),
    "3-one-iteration": (
        STORY,
        PAPER | {"draft_depth": 2, "draft_width": 3, "min_width": 2, "max_new_tokens": 9, "seed": 57},
    ),
    "4-dynamic-width": (STORY, PAPER | {"draft_depth": 3, "draft_width": 5, "max_new_tokens": 24, "seed": 445}),
}
CHAPTER = (ASSETS / "chapters" / "oz.txt").read_text(encoding="utf-8").rstrip("\n")
MEMORY_LESSONS: Recordings = {"7-long-prompts": (CHAPTER, {"max_new_tokens": 32, "seed": 7})}
SYSTEMS = ("sampling", "beam_sampling", "speculative", "dsbd:exact", "dsbd")
QUESTIONS, TOKENS, ROUNDS = 16, 48, 6
SURE: dict[str, Any] = {"temperature": 0.3, "draft_depth": 8, "draft_width": 4}
"""Of the race on questions: a query is right or wrong, and nearly every guess of that pair is kept."""
COPIED: dict[str, Any] = {"temperature": 0.2, "draft_depth": 8, "draft_width": 4}
"""Of the race on texts to correct: most of an answer is copied from its prompt."""
REWRITING = Path(__file__).with_name("rewriting.jsonl")


def main() -> None:
    parser = argparse.ArgumentParser(description="Record what the page and the lessons show")
    parser.add_argument("what", choices=("traces", "lessons", "races"))
    parser.add_argument("names", nargs="*", help="only these")
    parsed = parser.parse_args()
    if parsed.what == "races":
        for name in parsed.names or ("stories", "sql", SMOLLM2):
            record_race(name)
    elif parsed.what == "lessons":
        record("bundled:stories", LESSONS, ASSETS / "lessons" / "traces", parsed.names)
        record(WITH_MEMORY, MEMORY_LESSONS, ASSETS / "lessons" / "traces", parsed.names)
    else:
        record("bundled:stories", STORIES, ASSETS / "traces", parsed.names)
        record(SQL, QUERIES, ASSETS / "traces", parsed.names)
        record(WITH_MEMORY, REMEMBERED, ASSETS / "traces", parsed.names)
        record(SMOLLM2, CHATS, ASSETS / "traces", parsed.names)


def record(pair: str, recordings: Recordings, folder: Path, names: list[str]) -> None:
    """Decode each prompt on a pair, check the trace, and save it; only those of these names, if there are."""
    recordings = {name: fields for name, fields in recordings.items() if not names or name in names}
    if not recordings:
        return
    loaded = dsbd.load_pair(pair, dtype="auto" if pair == SMOLLM2 else "float32")
    for name, (prompt, fields) in recordings.items():
        result = dsbd.decode(loaded, prompt, dsbd.DecodingSettings(**fields), record=True)
        assert result.trace is not None
        assert dsbd.verify_trace(result.trace).passed
        result.trace.save(folder / f"{name}.json.gz")
        print(f"{name}: {result.stats.layers_per_iteration:.2f} layers per iteration\n  {result.text}")


def record_race(name: str) -> None:
    """Race on a story, on questions to SQL, or on texts to correct, and save the race."""
    pair = dsbd.load_pair(name) if name == SMOLLM2 else dsbd.load_pair(f"bundled:{name}", dtype="float32")
    task = load_task("sql") if name == "sql" else None
    prompts: Sequence[Any] = task.questions(QUESTIONS) if task else [STORY]
    suited = SURE if task else {}
    if name == SMOLLM2:
        prompts, suited = [one.prompt for one in load_task("jsonl", REWRITING).questions()], COPIED
    chosen = systems(SYSTEMS, {"max_new_tokens": TOKENS, **suited})
    *_, last = race(pair, chosen, prompts, task, ROUNDS if len(prompts) == 1 else ROUNDS // 2)
    assert isinstance(last, Race), "it is the last step"
    table = replace(last.table, conditions={"machine": machine(pair.device), "versions": versions()})
    replace(last, table=table).save(ASSETS / "races" / f"{name}.json")
    for row in table.rows:
        print(name, row.system, row.ratio)


if __name__ == "__main__":
    main()
