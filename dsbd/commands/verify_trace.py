"""``verify-trace``: decide everything in a trace again."""

import argparse
from dataclasses import asdict
from typing import Any

from dsbd.commands.parser import CHECK_FAILED, OK, new_command, print_json
from dsbd.commands.paths import input_path


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "verify-trace", "decide everything in a trace again", run)
    parser.add_argument("file", type=input_path, metavar="FILE")


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    from dsbd.tracing.audit import verify_trace
    from dsbd.tracing.trace import Trace

    trace = Trace.load(parsed.file)
    report = verify_trace(trace)
    lossless = trace.settings.lossless
    if parsed.json:
        print_json({**asdict(report), "lossless": lossless})
    else:
        if report.passed:
            print(f"all {report.checks} decisions and identities follow")
        else:
            print(f"does not follow: {report.failure}")
        if not lossless:
            print(f"method {trace.settings.method} keeps no law: what follows is its own test, not the target's law")
    return OK if report.passed else CHECK_FAILED
