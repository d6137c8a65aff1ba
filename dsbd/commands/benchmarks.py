"""``bench`` measures methods and settings over prompts; ``eval`` answers the questions of tasks, and scores them."""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dsbd.bench.files import read_text
from dsbd.bench.systems import (
    DEFAULT_METHODS,
    POINTS,
    SYSTEM_METHODS,
    System,
    benchmark_settings,
    require_count,
    require_names,
    systems,
    with_history,
)
from dsbd.bench.task import Task
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
    add("--history", action="store_true", help="guess from earlier answers, too: each method that drafts from its own")
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
    chosen = systems_of(parsed)
    lines = read_text(asset_path("prompts.txt") if parsed.prompts is None else Path(parsed.prompts)).splitlines()
    return _run(parsed, chosen, [Prompts(list(dict.fromkeys(line for line in lines if line.strip())))])


def evaluate(parsed: argparse.Namespace) -> int:
    """Run ``eval``; returns the exit code."""
    chosen, tasks = systems_of(parsed), names(parsed.tasks)
    require_names("tasks", tasks, sorted(TASKS))
    data: dict[str, str] = {}
    for entry in parsed.data:
        name, _, path = entry.partition("=")
        if not name or not path:
            raise SettingsError(f"data is {entry!r}; give it as TASK=PATH, such as squad=dev-v1.1.json")
        if name in data:
            raise SettingsError(f"data of {name!r} is given twice; name it once")
        if name not in tasks:
            raise SettingsError(f"data is given for {name!r}, which is not asked for; tasks are {', '.join(tasks)}")
        data[name] = path
    chosen = with_history(chosen) if parsed.history else chosen
    length = None if parsed.max_new_tokens is None else chosen[0].settings.max_new_tokens
    return _run(parsed, chosen, [load_task(name, data.get(name)) for name in tasks], max_new_tokens=length)


def systems_of(parsed: argparse.Namespace) -> tuple[System, ...]:
    """Return the systems of ``--methods``, with the settings given. Raises: SettingsError."""
    require_count("seeds", parsed.seeds, MAX_SEEDS)
    if parsed.limit is not None:
        require_count("limit", parsed.limit)
    if parsed.output is not None and Path(parsed.output).exists():
        raise SettingsError(f"{parsed.output!r} exists; name another --output")
    check_output(parsed.output or "", "JSON lines")
    texts = {name: text for name in benchmark_settings() if (text := getattr(parsed, name)) is not None}
    values = {name: value_of_text(name, text) for name, text in texts.items()}
    for name, value in values.items():
        FIELDS[name].check(value)  # a bad value is refused even if no chosen method reads it
    return systems(DEFAULT_METHODS if parsed.methods is None else names(parsed.methods), values)


def _run(parsed: argparse.Namespace, chosen: Sequence[System], tasks: Sequence[Task], **options: Any) -> int:
    """Run the benchmark, print one JSON object or a table, and return the exit code."""
    from dsbd.bench.benchmark import make_benchmark, report_benchmark
    from dsbd.bench.records import to_plain
    from dsbd.bench.statistics import markdown_of

    pair = pair_of(parsed)
    benchmark = make_benchmark(
        pair, chosen, tasks, limit=parsed.limit, rounds=parsed.seeds, chat=parsed.chat, **options
    )
    if count := benchmark.count_read(pair):
        note = f"{count} prompts beyond the context are read into the memory; the distribution is p(. | memory)"
        print(f"dsbd: {note}", file=sys.stderr)
    if count := sum(item.prompt != item.question.prompt for item in benchmark.items):
        print(f"dsbd: {count} prompts are shortened to fit the models' context", file=sys.stderr)
    report = report_benchmark(pair, benchmark, parsed.output)
    if parsed.json:
        tables = {name: to_plain(table) for name, table in report.tables.items()}
        print_json({"complete": report.complete, "tables": tables})
    else:
        print(markdown_of(list(report.tables.values())))
    return OK if report.complete else STOPPED
