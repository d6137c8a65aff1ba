"""``doctor``: report what this machine and this pair can do."""

import argparse
from typing import Any

from dsbd.commands.output import OK, print_json
from dsbd.commands.pair_flags import add_pair_flags, pair_of
from dsbd.commands.parser import new_command


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "doctor", "what this machine and this pair can do", run)
    add_pair_flags(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    from dsbd.measure.doctor import examine

    report = examine(pair_of(parsed))
    if parsed.json:
        print_json(report)
        return OK
    print("versions   " + ", ".join(f"{name} {number}" for name, number in report["versions"].items()))
    machine = f"{report['device']}, {report['cores']} cores, {report['threads']} threads"
    print(f"device     {machine}, {report['dtype']}, engine {report['engine']}")
    for role, model in report["models"].items():
        if model is not None:
            check = report["checks"][role]
            print(f"{role:<11}{model['id']}, {model['parameters']:,} parameters, {model['attention']} attention")
            print(f"{'':<11}{check['reason']} (error {check['error']:.2g} of the spread)")
    for role in ("target", "draft"):
        times = report[f"{role}_forward_milliseconds"]
        if times is not None:
            shown = ", ".join(f"T({size}) {milliseconds:.2f} ms" for size, milliseconds in times.items())
            print(f"{role:<11}{shown}")
    for line in report["advice"]:
        print(f"{'':<11}{line}")
    return OK
