"""``eval``: answer the questions of tasks with several decoders; its flags are in ``dsbd.commands.eval_flags``."""

import argparse
import sys
from typing import TYPE_CHECKING, Any

from dsbd.commands.eval_flags import add_eval_flags, exam_of_flags
from dsbd.commands.output import OK, STOPPED, print_json
from dsbd.commands.pair_flags import add_pair_flags, pair_of
from dsbd.commands.parser import new_command

if TYPE_CHECKING:
    from dsbd.evaluation.report import Report


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "eval", "answer the questions of tasks with several decoders, and score them", run)
    add_eval_flags(parser)
    add_pair_flags(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    from dsbd.evaluation.report import score_folder

    if parsed.score is not None:
        return _show(parsed, score_folder(parsed.score, parsed.log_samples), finished=True)
    exam = exam_of_flags(parsed)
    from dsbd.evaluation.evaluation import Evaluation
    from dsbd.evaluation.exams import exam_of
    from dsbd.evaluation.processes import Processes
    from dsbd.evaluation.report import write_report
    from dsbd.evaluation.store import read_store

    if parsed.resume:
        read_store(parsed.output_path)
    processes = Processes(parsed.device)
    if processes.device is not None and parsed.device == "auto":
        parsed.device = processes.device
    evaluation = Evaluation(pair_of(parsed), exam, parsed.output_path, processes)
    if evaluation.shortened and processes.is_main:
        print(f"dsbd: {evaluation.shortened} prompts are shortened to fit the models' context", file=sys.stderr)
    finished = evaluation.run()
    processes.close()
    if not processes.is_main:
        return OK
    store = evaluation.store
    assert store.head is not None, "the evaluation has begun"
    return _show(parsed, write_report(store, exam_of(store.head), parsed.log_samples), finished)


def _show(parsed: argparse.Namespace, report: "Report", finished: bool) -> int:
    from dsbd.evaluation.summary import summary_table

    if parsed.json:
        print_json(report.to_dict())
    else:
        print(summary_table(report))
    if parsed.report is not None:
        from dsbd.commands.eval_report import write_pages

        write_pages(report, parsed.report)
    return OK if finished else STOPPED
