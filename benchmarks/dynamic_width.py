"""Measures what the dynamic width is worth: quality and speed with it, and with everything but its rule.

    python -m benchmarks.dynamic_width --task stories --limit 50 --work build/dynamic_width \\
        --output benchmarks/results/dynamic_width.json --report dynamic_width.html

First the dynamic decoder answers alone, and its widths are counted. Then these answer in turn:

- *dynamic*: the decoder as it is; the others are compared with it, question by question.
- *fixed*: the same drafts, every layer as wide as the mean of the counted widths, rounded.
- *same widths, by chance*: beam sampling whose widths are drawn from the counted histogram; nothing is drafted.
- *the rule alone*: beam sampling whose widths come from the rule; the draft model only serves the rule.
- *beam sampling*: at the rounded mean.

What the rule does for quality shows against *same widths, by chance*; what it does for speed, against *fixed*.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dsbd
from dsbd.commands.pair_flags import add_pair_flags, pair_of
from dsbd.evaluation.evaluation import Evaluation
from dsbd.evaluation.exams import make_exam
from dsbd.evaluation.markdown import report_markdown
from dsbd.evaluation.scoring import score_all, table_of
from dsbd.evaluation.tables import ContenderRow, EvaluationTable
from dsbd.files import write_file
from dsbd.machine import conditions
from dsbd.measure.bench.contenders import Contender

DYNAMIC = "dynamic"


def main(arguments: list[str] | None = None) -> None:
    asked = flags().parse_args(arguments)
    pair = pair_of(asked)
    own = dsbd.DecodingSettings(
        draft_depth=asked.draft_depth, draft_width=asked.draft_width, width_threshold=asked.width_threshold
    )
    first = Contender(DYNAMIC, "dsbd", own)
    (counted,) = answered(pair, asked, (first,), "counted").rows
    table = answered(pair, asked, arms(first, counted), "arms")
    print(report_markdown({table.task: table}))
    if asked.output:
        write_file(asked.output, json.dumps(table.to_dict(), indent=1) + "\n")
    if asked.report:
        from visualize.figures.dynamic_width import dynamic_width_figure

        dynamic_width_figure(table).write_html(asked.report, include_plotlyjs=True)


def flags() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="What the dynamic width is worth")
    add_pair_flags(parser)
    parser.add_argument("--task", default="stories")
    parser.add_argument("--limit", type=int, help="only the first N questions")
    parser.add_argument("--seeds", type=int, default=1, help="answers to each question (1)")
    parser.add_argument("--max-new-tokens", type=int, help="instead of what the task allows")
    parser.add_argument("--draft-depth", type=int, default=dsbd.DecodingSettings.draft_depth)
    parser.add_argument("--draft-width", type=int, default=dsbd.DecodingSettings.draft_width)
    parser.add_argument("--width-threshold", type=float, default=dsbd.DecodingSettings.width_threshold)
    parser.add_argument(
        "--work", type=Path, required=True, help="folder of the answers; the same command goes on there"
    )
    parser.add_argument("--output", type=Path)
    parser.add_argument("--report", type=Path)
    return parser


def answered(
    pair: dsbd.Pair, asked: argparse.Namespace, contenders: tuple[Contender, ...], part: str
) -> EvaluationTable:
    """Return the table of some contenders; what the folder holds already is not decoded again."""
    exam = make_exam(
        [asked.task], contenders, limit=asked.limit, seeds=asked.seeds, max_new_tokens=asked.max_new_tokens
    )
    evaluation = Evaluation(pair, exam, asked.work / part)
    if not evaluation.run():
        raise SystemExit("dynamic_width: stopped; the same command goes on")
    scored = score_all(exam, evaluation.store.predictions)
    return table_of(exam.runs[0], exam, scored, conditions(pair), baseline=DYNAMIC)


def arms(first: Contender, counted: ContenderRow) -> tuple[Contender, ...]:
    """Return what is compared, made of the widths that were counted."""
    widths, settings = counted.widths or {}, first.settings
    mean = max(round(sum(width * count for width, count in widths.items()) / sum(widths.values())), 1)
    weights = tuple(float(widths.get(width, 0)) for width in range(1, max(widths) + 1))
    changed: dict[str, dict[str, Any]] = {
        f"fixed {mean}": {"min_width": mean, "max_width": mean},
        "same widths, by chance": {"method": "random_width", "width_weights": weights},
        "the rule alone": {"method": "width_rule_sampling"},
        f"beam sampling {mean}": {"method": "beam_sampling", "num_beams": mean},
    }
    others = (
        Contender(name, changes.get("method", "dsbd"), replace(settings, **changes))
        for name, changes in changed.items()
    )
    return (first, *others)


if __name__ == "__main__":
    main()
