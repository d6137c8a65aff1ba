"""Command line: `python -m training.sql {databases,questions,training,coverage,readings}`."""

import argparse
import sys
from pathlib import Path

from dsbd.errors import DsbdError
from training.sql import files, readings, rows, splits


def positive(text: str) -> int:
    """Read a whole number above 0."""
    if not text.isdigit() or int(text) < 1:
        raise argparse.ArgumentTypeError(f"{text!r} is not a whole number above 0")
    return int(text)


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all commands."""
    parser = argparse.ArgumentParser(prog="python -m training.sql", description=__doc__)
    commands = parser.add_subparsers(dest="command", required=True)
    command = commands.add_parser("databases", help="write the library and its siblings")
    command.add_argument("--output", type=Path, required=True, help="folder of the databases")
    command = commands.add_parser("questions", help="write validation.jsonl and test.jsonl")
    command.add_argument("--output", type=Path, required=True, help="folder of the two files")
    command = commands.add_parser("training", help="write train.jsonl.gz")
    command.add_argument("--output", type=Path, required=True, help="folder of the file")
    command.add_argument("--shards", type=positive, default=splits.SHARDS, help=f"shards of {splits.SHARD:,} examples")
    command = commands.add_parser("coverage", help="print how many questions of each skeleton the splits have")
    command.add_argument("--data", type=Path, required=True, help="folder of the three files")
    commands.add_parser("readings", help="print the ambiguous wordings and the rates of their readings")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one command; return the exit code."""
    options = build_parser().parse_args(arguments)
    try:
        if options.command == "coverage":
            print(files.coverage(options.data))
            return 0
        if options.command == "readings":
            print(readings.table())
            return 0
        options.output.mkdir(parents=True, exist_ok=True)
        if options.command == "databases":
            for name, seed in rows.SEEDS.items():
                rows.write(options.output / f"{name}.sqlite", seed)
        elif options.command == "questions":
            files.write_questions(options.output)
        else:
            files.write_training(options.output, options.shards)
    except (OSError, DsbdError) as error:
        print(f"error: {error}", file=sys.stderr)
        return 1
    except KeyboardInterrupt:
        print("stopped; the file being written is not whole", file=sys.stderr)
        return 130
    return 0


if __name__ == "__main__":
    sys.exit(main())
