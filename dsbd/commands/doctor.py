"""``doctor``: report what this machine and this pair can do."""

import argparse
from importlib.metadata import version
from typing import Any

from dsbd.commands.flags import add_pair_flags, pair_of
from dsbd.commands.parser import OK, new_command, print_json
from dsbd.util import ProgressLine

PROMPT, SIZES = "Once upon a time", (1, 8, 32)
"""Behind which passes of the target are timed, and over how many tokens."""


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    add_pair_flags(new_command(commands, "doctor", "what this machine and this pair can do", run))


def run(parsed: argparse.Namespace) -> int:
    """Run the subcommand; returns the exit code."""
    pair = pair_of(parsed)
    with ProgressLine("measuring passes"):
        report = examine(pair)
    if parsed.json:
        print_json(report)
        return OK
    print("versions   " + ", ".join(f"{name} {number}" for name, number in report["versions"].items()))
    print(f"device     {report['device']}, {report['cores']} cores, {report['threads']} threads")
    for role, model in report["models"].items():
        how = f"{model['dtype']}, engine {model['engine']}, {model['attention']} attention"
        print(f"{role:<11}{model['id']}, {model['parameters']:,} parameters, {how}")
        print(f"{'':<11}{model['check']['reason']} (error {model['check']['error']:.2g} of the spread)")
    for line in report["advice"]:
        print(f"{'':<11}{line}")
    return OK


def examine(pair: Any) -> dict[str, Any]:
    """Return versions, machine, of each model its engine and its check, and what a pass takes."""
    from dsbd.contest.measure import time_passes
    from dsbd.machine import machine, versions
    from dsbd.models.pair import model_identity

    sizes = SIZES if pair.draft else SIZES[:1]
    times = {size: 1000 * seconds for size, seconds in time_passes(pair, PROMPT, sizes).items()}
    models = {
        role: model_identity(model) | {"check": pair.checks[role]._asdict()}
        for role, model in (("target", pair.target), ("draft", pair.draft))
        if model is not None
    }
    lines = [
        "A pass of the target takes " + ", ".join(f"{times[size]:.2f} ms for {size}" for size in sizes) + " tokens."
    ]
    if pair.draft:
        growth, share = times[SIZES[-1]] / times[1], times[0] / times[1]
        pays = "wide and deep forests pay" if growth < 2 else "keep the forest small"
        lines.append(f"A forest of 32 tokens costs {growth:.1f} x one token: {pays}.")
        smaller = "" if share <= 0.15 else ": a smaller one pays"
        lines.append(f"A draft step costs {share:.2f} of a target step{smaller}.")
    lines += [f"Less than it could be: {line}." for line in pair.fallbacks]
    named = versions() | {name: version(name) for name in ("gradio", "plotly")}
    return {"versions": named, **machine(pair.device), "models": models, "milliseconds": times, "advice": lines}
