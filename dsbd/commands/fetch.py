"""``fetch``: put a model that is not bundled on this machine."""

import argparse
from typing import Any

from dsbd.commands.parser import OK, new_command, print_json
from dsbd.util import SMOLLM2, ProgressLine


def add(commands: Any) -> None:
    """Add the subcommand."""
    parser = new_command(commands, "fetch", "fetch a small chat model once (SmolLM2-135M-Instruct, 270 MB)", run)
    parser.add_argument("pair", choices=[SMOLLM2], help="its name, for --pair")


def run(parsed: argparse.Namespace) -> int:
    """Fetch the model, and print its folder; returns the exit code."""
    from dsbd.models.smollm2 import fetch

    with ProgressLine("starting") as progress:
        folder = fetch(progress.show)
    if parsed.json:
        print_json({"pair": parsed.pair, "folder": str(folder)})
    else:
        print(f"{parsed.pair} is in {folder}")
    return OK
