"""``eval``: answer the questions of tasks with several decoders, and score the answers."""

import argparse
from typing import Any

from dsbd.commands.contender_flags import add_contest_flags, contenders_of, hold
from dsbd.commands.flags import add_pair_flags
from dsbd.commands.parser import names, new_command
from dsbd.contest.tasks import TASKS, load_tasks
from dsbd.errors import SettingsError


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "eval", "answer the questions of tasks with several decoders, and score them", run)
    add = parser.add_argument
    add("--tasks", default="", metavar="LIST", help=f"comma-separated, from {', '.join(sorted(TASKS))}")
    add("--data", action="append", default=[], metavar="TASK=PATH", help="where a task's data is; once for each task")
    add("--seeds", type=int, default=1, metavar="N", help="how often every question is answered (1)")
    add("--chat", action="store_true", help="apply the model's chat template")
    add_contest_flags(parser, {"max_new_tokens": "each task has its own"})
    add_pair_flags(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    racing = contenders_of(parsed)
    lengths = {one.settings.max_new_tokens for one in racing}
    if len(lengths) > 1:
        raise SettingsError(f"max_new_tokens is {parsed.max_new_tokens}; give one value: it belongs to the question")
    data: dict[str, str] = {}
    for entry in parsed.data:
        name, equals, place = entry.partition("=")
        if not equals or not name or not place:
            raise SettingsError(f"data is {entry!r}; give it as TASK=PATH, such as squad=dev-v1.1.json")
        if name in data:
            raise SettingsError(f"data of {name!r} is given twice; name it once")
        data[name] = place
    length = None if parsed.max_new_tokens is None else lengths.pop()
    return hold(parsed, racing, load_tasks(names(parsed.tasks), data), max_new_tokens=length, chat=parsed.chat)
