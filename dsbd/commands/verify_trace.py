"""``verify-trace``: decide everything in a trace again."""

import argparse
from dataclasses import asdict
from typing import Any

from dsbd.commands.output import CHECK_FAILED, OK, print_json
from dsbd.commands.parser import new_command


def add(commands: Any) -> None:
    """Its flags."""
    parser = new_command(commands, "verify-trace", "decide everything in a trace again", run)
    parser.add_argument("file", metavar="FILE")


def run(parsed: argparse.Namespace) -> int:
    """Returns the exit code."""
    from dsbd.tracing.audit import verify_trace
    from dsbd.tracing.trace import Trace

    report = verify_trace(Trace.load(parsed.file), list_sealed=True)
    if parsed.json:
        print_json(asdict(report))
    elif report.passed:
        print(f"all {report.checks} decisions and identities follow")
        print("sealed by the digest only:", *report.sealed, sep="\n  ")
    else:
        print(f"does not follow: {report.failure}")
    return OK if report.passed else CHECK_FAILED
