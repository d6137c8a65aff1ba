"""Command line: `python -m training.sql {databases,training,questions} --output DIR`."""

import argparse
import sys
from pathlib import Path

from dsbd.errors import DsbdError
from training.sql import files, rows

COMMANDS = {"databases": rows.write_all, "training": files.write_training, "questions": files.write_questions}


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit code."""
    parser = argparse.ArgumentParser(prog="python -m training.sql", description=__doc__)
    parser.add_argument("command", choices=COMMANDS)
    parser.add_argument("--output", type=Path, required=True, help="folder of the files")
    options = parser.parse_args(arguments)
    try:
        options.output.mkdir(parents=True, exist_ok=True)
        COMMANDS[options.command](options.output)
    except (OSError, DsbdError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; the file being written is not whole", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
