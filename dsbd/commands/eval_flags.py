"""The flags of ``python -m dsbd eval``, and the exam they ask for. Needs no torch, so that help is quick."""

import argparse

from dsbd.commands.contender_flags import add_contender_flags, contenders_of, names
from dsbd.commands.paths import input_path, output_folder
from dsbd.errors import SettingsError
from dsbd.evaluation.exams import make_exam
from dsbd.evaluation.records import Exam
from dsbd.tasks.registry import TASKS

DEFAULT_POINTS = ("same-law",)


def add_eval_flags(parser: argparse.ArgumentParser) -> None:
    """Add all flags except those of the pair and ``--json``."""
    add = parser.add_argument
    add("--tasks", default="", metavar="LIST", help=f"of {', '.join(sorted(TASKS))}")
    add("--output-path", type=output_folder, metavar="DIR", help="folder for predictions, results and samples")
    add("--data", action="append", default=[], metavar="TASK=PATH", help="where a task's data is; once for each task")
    add("--limit", type=int, metavar="N", help="only the first N questions of each task")
    add("--seeds", type=int, default=1, metavar="N", help="how often every question is answered (1)")
    add("--log-samples", action="store_true", help="also write every question with its answers")
    add("--report", type=output_folder, metavar="DIR", help="folder for report.md and figures.html")
    add("--resume", action="store_true", help="go on with the evaluation of the folder; refuse where there is none")
    add("--score", type=input_path, metavar="DIR", help="score the predictions of a folder again; nothing is decoded")
    add("--chat", action="store_true", help="apply the model's chat template")
    add_contender_flags(parser, DEFAULT_POINTS, {"max_new_tokens": "each task has its own"})


def exam_of_flags(parsed: argparse.Namespace) -> Exam:
    """Return the exam that the flags ask for. Raises: SettingsError, TaskError."""
    if parsed.output_path is None:
        raise SettingsError("--output-path is missing; name a folder for the results")
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
