"""``doctor``: report what this machine and this pair can do."""

import argparse
from collections.abc import Mapping
from typing import Any

from dsbd.commands.pair_flags import add_pair_flags, pair_of, prepare
from dsbd.commands.parser import OK, new_command, print_json
from dsbd.progress import ProgressLine


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "doctor", "what this machine and this pair can do", run)
    add_pair_flags(parser)


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    from dsbd.measure.doctor import PLAN_PROMPT, PLAN_SETTINGS, examine

    pair = pair_of(parsed)
    if pair.draft is not None:
        prepare(pair, PLAN_PROMPT, PLAN_SETTINGS)
    with ProgressLine("measuring forwards"):
        report = examine(pair)
    if parsed.json:
        print_json(report)
        return OK
    print("versions   " + ", ".join(f"{name} {number}" for name, number in report["versions"].items()))
    print(f"device     {report['device']}, {report['cores']} cores, {report['threads']} threads")
    for role, model in report["models"].items():
        if model is not None:
            check = report["checks"][role]
            how = f"{model['dtype']}, engine {model['engine']}, {model['attention']} attention"
            print(f"{role:<11}{model['id']}, {model['parameters']:,} parameters, {how}")
            print(f"{'':<11}{check['reason']} (error {check['error']:.2g} of the spread)")
    for role in ("target", "draft"):
        times = report[f"{role}_forward_milliseconds"]
        if times is not None:
            print(f"{role:<11}{_shown(times)}")
    for line in report["advice"]:
        print(f"{'':<11}{line}")
    return OK


def _shown(times: Mapping[Any, float]) -> str:
    """Return milliseconds by number of tokens in one line."""
    return ", ".join(f"T({size}) {milliseconds:.2f} ms" for size, milliseconds in times.items())
