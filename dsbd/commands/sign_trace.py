"""``sign-trace``: vouch for a trace with a key."""

import argparse
from typing import Any

from dsbd.commands.output import CHECK_FAILED, OK, print_json
from dsbd.commands.parser import new_command
from dsbd.commands.paths import input_path, output_file


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "sign-trace", "sign a trace with an Ed25519 key", run)
    parser.add_argument("file", type=input_path, metavar="FILE")
    parser.add_argument(
        "--key", type=input_path, required=True, metavar="PEM", help="private Ed25519 key, without a password"
    )
    parser.add_argument("--output", type=output_file, metavar="OUT", help="where the signature goes (FILE.sig)")


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code. A trace in which something does not follow is not signed."""
    from dsbd.tracing.audit import verify_trace
    from dsbd.tracing.signature import SUFFIX, sign
    from dsbd.tracing.trace import Trace

    output = parsed.output or parsed.file + SUFFIX
    trace = Trace.load(parsed.file)
    report = verify_trace(trace)
    if report.passed:
        sign(trace, parsed.key, output)
    if parsed.json:
        print_json({"output": output if report.passed else None, "digest": trace.digest, "failure": report.failure})
    else:
        print(f"signed: {output}" if report.passed else f"not signed, because it does not follow: {report.failure}")
    return OK if report.passed else CHECK_FAILED
