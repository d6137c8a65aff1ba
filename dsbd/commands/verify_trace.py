"""``verify-trace``: decide everything in a trace again, and check who signed it."""

import argparse
from dataclasses import asdict
from typing import Any

from dsbd.commands.output import CHECK_FAILED, OK, print_json
from dsbd.commands.parser import new_command
from dsbd.commands.paths import input_path
from dsbd.errors import SettingsError


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "verify-trace", "decide everything in a trace again", run)
    parser.add_argument("file", type=input_path, metavar="FILE")
    parser.add_argument(
        "--public-key", type=input_path, metavar="PEM", help="also check the signature, with this Ed25519 key"
    )
    parser.add_argument("--signature", type=input_path, metavar="SIG", help="the signature file (FILE.sig)")


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    from dsbd.tracing.audit import verify_trace
    from dsbd.tracing.trace import Trace

    if parsed.signature and not parsed.public_key:
        raise SettingsError("--signature needs --public-key; give the key of who signed it")
    trace = Trace.load(parsed.file)
    signed = _is_signed(trace, parsed) if parsed.public_key else None
    report = verify_trace(trace, list_sealed=True)
    lossless = trace.settings.lossless
    if parsed.json:
        print_json({**asdict(report), "lossless": lossless, "signed": signed})
    else:
        if report.passed:
            print(f"all {report.checks} decisions and identities follow")
            print("sealed by the digest only:", *report.sealed, sep="\n  ")
        else:
            print(f"does not follow: {report.failure}")
        if not lossless:
            print(f"method {trace.settings.method} keeps no law: what follows is its own test, not the target's law")
        if signed is not None:
            print(f"the signature is {'good' if signed else 'not of this trace and key'}")
    return OK if report.passed and signed is not False else CHECK_FAILED


def _is_signed(trace: Any, parsed: argparse.Namespace) -> bool:
    from dsbd.tracing.signature import SUFFIX, is_signed

    return is_signed(trace, parsed.public_key, parsed.signature or parsed.file + SUFFIX)
