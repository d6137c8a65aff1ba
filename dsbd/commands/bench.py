"""``bench``: measure methods and settings over many prompts; its flags are in ``dsbd.commands.bench_flags``."""

import argparse
from pathlib import Path
from typing import Any

from dsbd.commands.bench_flags import add_bench_flags, baselines_of, contest_of
from dsbd.commands.output import OK, STOPPED, print_json
from dsbd.commands.pair_flags import add_pair_flags, pair_of
from dsbd.commands.parser import new_command


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "bench", "measure methods and settings over many prompts", run)
    add_bench_flags(parser)
    add_pair_flags(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    contest = contest_of(parsed)
    baselines = baselines_of(parsed, contest)
    from dsbd.machine import versions
    from dsbd.measure.bench.bench import Bench
    from dsbd.measure.bench.results_file import ResultsFile

    if parsed.output is not None and Path(parsed.output).is_file() and Path(parsed.output).stat().st_size:
        ResultsFile(parsed.output, {"versions": versions()})  # refuses another file before models are loaded
    bench = Bench(pair_of(parsed), contest, parsed.output)
    finished = bench.run()
    summary = bench.summary(baselines)
    if parsed.json:
        print_json(summary.to_dict())
    else:
        from dsbd.measure.bench.tables import bench_tables

        print(bench_tables(summary))
    if parsed.report:
        import visualize

        visualize.export_bench(summary, parsed.report)
    return OK if finished else STOPPED
