"""``custom-generate``: a folder ready for the Hub, by which ``generate`` of transformers decodes as this package."""

import argparse
import shutil
from typing import Any

from dsbd.commands.flags import output_folder
from dsbd.commands.parser import OK, new_command, print_json
from dsbd.errors import SettingsError
from dsbd.util import asset_path


def add(commands: Any) -> None:
    """Add the subcommand with its flags."""
    parser = new_command(commands, "custom-generate", "write a folder for custom_generate of transformers", run)
    parser.add_argument("output", type=output_folder, metavar="FOLDER", help="folder to write")


def run(parsed: argparse.Namespace) -> int:
    """Copy the folder. Returns the exit code."""
    without = shutil.ignore_patterns("__pycache__")
    try:
        shutil.copytree(asset_path("custom_generate"), parsed.output, ignore=without, dirs_exist_ok=True)
    except OSError as error:
        raise SettingsError(f"cannot write into {parsed.output!r}: {error.strerror or error}; name another") from None
    if parsed.json:
        print_json({"output": parsed.output})
    else:
        print(f"written: {parsed.output}; its README.md says how to call it")
    return OK
