"""``bench`` measures methods and settings over prompts; ``eval`` answers the questions of tasks, and scores them.

``report`` makes the table of the files that they wrote.
"""

import argparse
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from dsbd.bench.files import read_text
from dsbd.bench.record_file import Shard
from dsbd.bench.report import Report, read_report
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
from dsbd.commands.flags import add_batch_flag, add_output_flags, add_pair_flags, input_path, output_of, pair_of
from dsbd.commands.parser import CHECK_FAILED, OK, STOPPED, names, new_command, print_json, typed, value_of_text
from dsbd.errors import SettingsError
from dsbd.settings import FIELDS, DecodingSettings
from dsbd.util import asset_path

MAX_SEEDS = 1000
DEFAULT_SEEDS = 2


def add(commands: Any) -> None:
    """Add the subcommands with their flags."""
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
    add_batch_flag(parser)
    add("--history", action="store_true", help="guess from earlier answers, too: each method that drafts from its own")
    _add_benchmark_flags(parser, {"max_new_tokens": "each task has its own"})
    parser = new_command(commands, "report", "make the table of what bench or eval wrote", report)
    parser.add_argument("files", type=input_path, nargs="+", metavar="FILE", help="the file of each shard")


def _add_benchmark_flags(parser: argparse.ArgumentParser, defaults: Mapping[str, str] | None = None) -> None:
    """Add the flags that both have; ``defaults`` is what the help says of some settings."""
    known = f"{', '.join(SYSTEM_METHODS)}, dsbd:POINT with POINT one of {'|'.join(POINTS)}"
    add = parser.add_argument
    add("--methods", metavar="LIST", help=f"comma-separated, from {known} ({','.join(DEFAULT_METHODS)})")
    add("--limit", type=int, metavar="N", help="only the first N prompts or questions")
    add_output_flags(parser)
    group = parser.add_argument_group("settings", "for every method that reads them")
    for name in benchmark_settings():
        default = (defaults or {}).get(name, typed(getattr(DecodingSettings, name)))
        group.add_argument(
            "--" + name.replace("_", "-"), dest=name, metavar="V", help=f"{FIELDS[name].help} ({default})"
        )
    add_pair_flags(parser)


def bench(parsed: argparse.Namespace) -> int:
    """Run ``bench``; returns the exit code."""
    chosen, (output, shard) = systems_of(parsed), output_of(parsed, alone=True)
    lines = read_text(asset_path("prompts.txt") if parsed.prompts is None else Path(parsed.prompts)).splitlines()
    prompts = Prompts(list(dict.fromkeys(line for line in lines if line.strip())))
    return _run(parsed, chosen, [prompts], output, shard)


def evaluate(parsed: argparse.Namespace) -> int:
    """Run ``eval``; returns the exit code."""
    chosen, tasks, (output, shard) = systems_of(parsed), names(parsed.tasks), output_of(parsed)
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
    if parsed.history and (parsed.resume or shard.count > 1 or parsed.batch > 1):
        raise SettingsError(
            "--history grows from question to question; leave out --resume and --batch, and answer all in one process"
        )
    chosen = with_history(chosen) if parsed.history else chosen
    length = None if parsed.max_new_tokens is None else chosen[0].settings.max_new_tokens
    loaded = [load_task(name, data.get(name)) for name in tasks]
    return _run(parsed, chosen, loaded, output, shard, max_new_tokens=length, batch=parsed.batch)


def systems_of(parsed: argparse.Namespace) -> tuple[System, ...]:
    """Return the systems of ``--methods``, with the settings given. Raises: SettingsError."""
    require_count("seeds", parsed.seeds, MAX_SEEDS)
    if parsed.limit is not None:
        require_count("limit", parsed.limit)
    texts = {name: text for name in benchmark_settings() if (text := getattr(parsed, name)) is not None}
    values = {name: value_of_text(name, text) for name, text in texts.items()}
    for name, value in values.items():
        FIELDS[name].check(value)  # a bad value is refused even if no chosen method reads it
    return systems(DEFAULT_METHODS if parsed.methods is None else names(parsed.methods), values)


def _run(
    parsed: argparse.Namespace,
    chosen: Sequence[System],
    tasks: Sequence[Task],
    output: str | None,
    shard: Shard,
    **options: Any,
) -> int:
    """Run the benchmark, print one JSON object or a table, and return the exit code."""
    if shard.count > 1 and any(one.settings.is_auto for one in chosen):
        raise SettingsError("a setting is auto, and each process would find another; give numbers, or --shard 0/1")
    from dsbd.bench.benchmark import make_benchmark, report_benchmark

    pair = pair_of(parsed)
    benchmark = make_benchmark(
        pair, chosen, tasks, limit=parsed.limit, rounds=parsed.seeds, chat=parsed.chat, shard=shard, **options
    )
    if count := benchmark.count_read(pair):
        note = f"{count} prompts beyond the context are read into the memory; the distribution is p(. | memory)"
        print(f"dsbd: {note}", file=sys.stderr)
    if count := sum(item.prompt != item.question.prompt for item in benchmark.items):
        print(f"dsbd: {count} prompts are shortened to fit the models' context", file=sys.stderr)
    made = report_benchmark(pair, benchmark, output, parsed.resume)
    if shard.count > 1:
        note = f"{output} has shard {shard.index} of {shard.count}; python -m dsbd report makes the table of all"
        print(f"dsbd: {note}", file=sys.stderr)
    else:
        _print(parsed, made)
    return OK if made.complete else STOPPED


def report(parsed: argparse.Namespace) -> int:
    """Run ``report``; returns the exit code."""
    made = read_report(parsed.files)
    _print(parsed, made)
    if made.missing:
        print(f"dsbd: {made.missing} decodes are missing; make them by --resume, or name all files", file=sys.stderr)
    return OK if made.complete else CHECK_FAILED


def _print(parsed: argparse.Namespace, made: Report) -> None:
    """Print one JSON object or a table."""
    from dsbd.bench.records import to_plain
    from dsbd.bench.statistics import markdown_of

    if parsed.json:
        tables = {name: to_plain(table) for name, table in made.tables.items()}
        print_json({"complete": made.complete, "tables": tables})
    else:
        print(markdown_of(list(made.tables.values())))
