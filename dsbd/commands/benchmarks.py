"""``bench`` measures methods and settings over prompts; ``eval`` answers the questions of tasks, and scores them."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dsbd.bench.systems import (
    DEFAULT_METHODS,
    POINTS,
    SYSTEM_METHODS,
    System,
    benchmark_settings,
    require_count,
    require_names,
    systems,
)
from dsbd.bench.task import Task, read_text
from dsbd.bench.tasks import TASKS, Prompts, load_task
from dsbd.commands.flags import add_pair_flags, input_path, output_file, pair_of
from dsbd.commands.parser import OK, STOPPED, names, new_command, print_json, typed, value_of_text
from dsbd.errors import SettingsError
from dsbd.settings import FIELDS, DecodingSettings
from dsbd.util import asset_path, check_output

MAX_SEEDS = 1000
DEFAULT_SEEDS = 2


def add(commands: Any) -> None:
    """Add both subcommands with their flags."""
    parser = new_command(commands, "bench", "measure methods and settings over many prompts", bench)
    add = parser.add_argument
    add("--prompts", type=input_path, metavar="FILE", help="one prompt per line (a small set comes with the package)")
    add("--seeds", type=int, default=DEFAULT_SEEDS, metavar="N", help=f"runs of each prompt ({DEFAULT_SEEDS})")
    _add_benchmark_flags(parser)
    summary = "answer the questions of tasks with several decoders, and score them"
    parser = new_command(commands, "eval", summary, evaluate)
    add = parser.add_argument
    add("--tasks", default="", metavar="LIST", help=f"comma-separated, from {', '.join(sorted(TASKS))}")
    add("--data", action="append", default=[], metavar="TASK=PATH", help="where a task's data is; once for each task")
    add("--seeds", type=int, default=1, metavar="N", help="how often every question is answered (1)")
    _add_benchmark_flags(parser, {"max_new_tokens": "each task has its own"})


def _add_benchmark_flags(parser: argparse.ArgumentParser, defaults: Mapping[str, str] | None = None) -> None:
    """Add the flags that both have; ``defaults`` is what the help says of some settings."""
    known = f"{', '.join(SYSTEM_METHODS)}, dsbd:POINT with POINT one of {'|'.join(POINTS)}"
    add = parser.add_argument
    add("--methods", metavar="LIST", help=f"comma-separated, from {known} ({','.join(DEFAULT_METHODS)})")
    add("--limit", type=int, metavar="N", help="only the first N prompts or questions")
    add("--output", type=output_file, metavar="FILE", help="write one line of JSON per decode, as soon as it is made")
    group = parser.add_argument_group("settings", "for every method that reads them")
    for name in benchmark_settings():
        default = (defaults or {}).get(name, typed(getattr(DecodingSettings, name)))
        group.add_argument(
            "--" + name.replace("_", "-"), dest=name, metavar="V", help=f"{FIELDS[name].help} ({default})"
        )
    add_pair_flags(parser)


def bench(parsed: argparse.Namespace) -> int:
    """Run ``bench``; returns the exit code."""
    racing = systems_of(parsed)
    lines = read_text(asset_path("prompts.txt") if parsed.prompts is None else Path(parsed.prompts)).splitlines()
    return _hold(parsed, racing, [Prompts(list(dict.fromkeys(line for line in lines if line.strip())))])


def evaluate(parsed: argparse.Namespace) -> int:
    """Run ``eval``; returns the exit code."""
    racing, tasks = systems_of(parsed), names(parsed.tasks)
    require_names("tasks", tasks, sorted(TASKS))
    data: dict[str, str] = {}
    for entry in parsed.data:
        name, equals, place = entry.partition("=")
        if not equals or not name or not place:
            raise SettingsError(f"data is {entry!r}; give it as TASK=PATH, such as squad=dev-v1.1.json")
        if name in data:
            raise SettingsError(f"data of {name!r} is given twice; name it once")
        if name not in tasks:
            raise SettingsError(f"data is given for {name!r}, which is not asked for; tasks are {', '.join(tasks)}")
        data[name] = place
    length = None if parsed.max_new_tokens is None else racing[0].settings.max_new_tokens
    asked = [load_task(name, data.get(name)) for name in tasks]
    return _hold(parsed, racing, asked, max_new_tokens=length)


def systems_of(parsed: argparse.Namespace) -> tuple[System, ...]:
    """Return the systems of ``--methods``, with the settings given. Raises: SettingsError."""
    require_count("seeds", parsed.seeds, MAX_SEEDS)
    if parsed.limit is not None:
        require_count("limit", parsed.limit)
    if parsed.output is not None and Path(parsed.output).exists():
        raise SettingsError(f"{parsed.output!r} exists; name another --output")
    check_output(parsed.output or "", "JSON lines")
    given = {name: getattr(parsed, name) for name in benchmark_settings() if getattr(parsed, name) is not None}
    values = {name: value_of_text(name, text) for name, text in given.items()}
    for name, value in values.items():
        FIELDS[name].check(value)  # refuses a bad one also where no method that was asked for reads it
    return systems(DEFAULT_METHODS if parsed.methods is None else names(parsed.methods), values)


def _hold(parsed: argparse.Namespace, racing: Sequence[System], tasks: Sequence[Task], **options: Any) -> int:
    """Run the benchmark, print one JSON object or a table, and return the exit code."""
    from dsbd.bench.benchmark import make_benchmark, report_benchmark
    from dsbd.bench.records import to_plain
    from dsbd.bench.statistics import markdown_of

    pair = pair_of(parsed)
    benchmark = make_benchmark(
        pair, racing, tasks, limit=parsed.limit, rounds=parsed.seeds, chat=parsed.chat, **options
    )
    if read := benchmark.count_read(pair):
        print(
            f"dsbd: into the memory go {read} prompts beyond the context; the distribution is p(. | memory)",
            file=sys.stderr,
        )
    if shortened := sum(asked.prompt != asked.question.prompt for asked in benchmark.asked):
        print(f"dsbd: {shortened} prompts are shortened to fit the models' context", file=sys.stderr)
    report = report_benchmark(pair, benchmark, parsed.output)
    if parsed.json:
        tables = {name: to_plain(table) for name, table in report.tables.items()}
        print_json({"complete": report.complete, "tables": tables})
    else:
        print(markdown_of(list(report.tables.values())))
    return OK if report.complete else STOPPED
