"""``eval``: answer the questions of tasks with several decoders, and score the answers."""

import argparse
import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsbd.commands.contender_flags import (
    add_contender_flags,
    add_output_flags,
    contenders_of,
    print_report,
    require_output,
)
from dsbd.commands.pair_flags import add_pair_flags, pair_of, say_read
from dsbd.commands.parser import OK, STOPPED, names, new_command
from dsbd.commands.paths import input_path, output_folder
from dsbd.errors import SettingsError
from dsbd.evaluation.exam import Exam, make_exam
from dsbd.tasks.registry import TASKS

if TYPE_CHECKING:
    from dsbd.evaluation.report import Report

REPORT, FIGURES, SCORED = "report.md", "figures.html", "answers.jsonl"


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "eval", "answer the questions of tasks with several decoders, and score them", run)
    add = parser.add_argument
    add("--tasks", default="", metavar="LIST", help=f"comma-separated, from {', '.join(sorted(TASKS))}")
    add("--data", action="append", default=[], metavar="TASK=PATH", help="where a task's data is; once for each task")
    add("--limit", type=int, metavar="N", help="only the first N questions of each task")
    add("--seeds", type=int, default=1, metavar="N", help="how often every question is answered (1)")
    add("--chat", action="store_true", help="apply the model's chat template")
    add_output_flags(parser)
    add("--score", type=input_path, metavar="FILE", help="score the answers of a file again; nothing is decoded")
    add("--report", type=output_folder, metavar="DIR", help=f"folder for {REPORT}, {FIGURES} and {SCORED}")
    add_contender_flags(parser, {"max_new_tokens": "each task has its own"})
    add_pair_flags(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    from dsbd.evaluation.report import make_report, score_file

    if parsed.score is not None:
        return _show(parsed, score_file(parsed.score))
    exam = exam_of_flags(parsed)
    answers = require_output(parsed, exam.asked())
    if answers is not None and all(answers.find(turn) for turn in exam.turns()):
        return _show(parsed, make_report(answers))
    from dsbd.evaluation.evaluation import Evaluation

    evaluation = Evaluation(pair_of(parsed), exam, parsed.output)
    if evaluation.shortened:
        print(f"dsbd: {evaluation.shortened} prompts are shortened to fit the models' context", file=sys.stderr)
    say_read(evaluation.read)
    finished = evaluation.run()
    _show(parsed, make_report(evaluation.answers))
    return OK if finished else STOPPED


def exam_of_flags(parsed: argparse.Namespace) -> Exam:
    """Return the exam that the flags ask for. Raises: SettingsError, TaskError."""
    contenders = contenders_of(parsed)
    lengths = {one.settings.max_new_tokens for one in contenders}
    if len(lengths) > 1:
        raise SettingsError(f"max_new_tokens is {parsed.max_new_tokens}; give one value: it belongs to the question")
    return make_exam(
        names(parsed.tasks),
        contenders,
        data=_data(parsed.data),
        limit=parsed.limit,
        seeds=parsed.seeds,
        max_new_tokens=None if parsed.max_new_tokens is None else lengths.pop(),
        chat=parsed.chat,
    )


def _data(given: list[str]) -> dict[str, str]:
    found: dict[str, str] = {}
    for entry in given:
        name, equals, place = entry.partition("=")
        if not equals or not name or not place:
            raise SettingsError(f"data is {entry!r}; give it as TASK=PATH, such as squad=dev-v1.1.json")
        if name in found:
            raise SettingsError(f"data of {name!r} is given twice; name it once")
        found[name] = place
    return found


def _show(parsed: argparse.Namespace, report: "Report") -> int:
    print_report(parsed, report)
    if parsed.report is not None:
        write_pages(report, Path(parsed.report))
    return OK


def write_pages(report: "Report", folder: Path) -> None:
    """Write the report, its figures and every scored answer into a folder. Raises: SettingsError: it is impossible."""
    import visualize
    from dsbd.evaluation.markdown import report_tables
    from dsbd.measure.bench.answers_file import cannot_write, write_text

    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise cannot_write(folder, error) from None
    write_text(folder / REPORT, f"# Evaluation\n\n[Figures]({FIGURES})\n\n{report_tables(report)}\n")
    write_text(folder / SCORED, "".join(json.dumps(answer) + "\n" for answer in report.answers))
    visualize.export_contest(report.tables, folder / FIGURES)
