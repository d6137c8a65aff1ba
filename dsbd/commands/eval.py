"""``eval``: answer the questions of tasks with several decoders; its flags are in ``dsbd.commands.eval_flags``."""

import argparse
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

from dsbd.commands.eval_flags import add_eval_flags, exam_of_flags
from dsbd.commands.output import OK, STOPPED, print_json
from dsbd.commands.pair_flags import add_pair_flags, pair_of, sources_of_flags
from dsbd.commands.parser import new_command

if TYPE_CHECKING:
    from dsbd.evaluation.processes import Processes
    from dsbd.evaluation.records import Exam
    from dsbd.evaluation.report import Report
    from dsbd.evaluation.store import Store


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
    earlier = _earlier(parsed, exam)
    from dsbd.evaluation.evaluation import Evaluation
    from dsbd.evaluation.processes import Processes

    processes = Processes(parsed.device)
    if parsed.resume and earlier is not None and earlier.has_all(exam.jobs()):
        return _reported(parsed, earlier, processes)
    if processes.device is not None and parsed.device == "auto":
        parsed.device = processes.device
    evaluation = Evaluation(pair_of(parsed), exam, parsed.output_path, processes)
    if evaluation.shortened and processes.is_main:
        print(f"dsbd: {evaluation.shortened} prompts are shortened to fit the models' context", file=sys.stderr)
    finished = evaluation.run()
    return _reported(parsed, evaluation.store, processes, finished)


def _earlier(parsed: argparse.Namespace, exam: "Exam") -> "Store | None":
    """Return what the folder has; what can be seen to differ before models are loaded is refused.

    Raises:
        SettingsError: the folder has another evaluation, or none where it is to be resumed.
    """
    from dsbd.evaluation.store import HEAD, read_store

    if not parsed.resume and not Path(parsed.output_path, HEAD).is_file():
        return None
    store = read_store(parsed.output_path)
    store.require_same({"asked": exam.asked()})
    from dsbd.machine import versions
    from dsbd.models.loading import display_name, sources_of

    conditions = (store.head or {}).get("conditions", {})
    models = conditions.get("models", {})
    for role, source in zip(("target", "draft"), sources_of(*sources_of_flags(parsed)), strict=True):
        named = None if source is None else {**(models.get(role) or {}), "id": display_name(source)}
        models = {**models, role: named}
    store.require_same({"conditions": {**conditions, "versions": versions(), "models": models}})
    return store


def _reported(parsed: argparse.Namespace, store: "Store", processes: "Processes", finished: bool = True) -> int:
    from dsbd.evaluation.exams import exam_of
    from dsbd.evaluation.report import write_report

    processes.close()
    if not processes.is_main:
        return OK
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
