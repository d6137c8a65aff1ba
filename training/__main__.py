"""Command line: `python -m training {tokenizer,target,draft,export,evaluate}`."""

import argparse
import math
import sys
from pathlib import Path

import torch

from training import stages
from training.recipes import RECIPES


def positive(text: str) -> float:
    """Read a positive number."""
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not value > 0:
        raise argparse.ArgumentTypeError(f"{text!r} is not a positive number")
    return value


def build_parser() -> argparse.ArgumentParser:
    """Return the parser of all stages."""
    parser = argparse.ArgumentParser(prog="python -m training", description=__doc__)
    commands = parser.add_subparsers(dest="stage", required=True)
    for name, stage in stages.STAGES.items():
        command = commands.add_parser(name, help=(stage.__doc__ or "").splitlines()[0])
        command.add_argument("--recipe", choices=tuple(RECIPES), default="stories", help="which pair (stories)")
        command.add_argument("--data", type=Path, required=True, help="folder of the corpora")
        command.add_argument("--work", type=Path, required=True, help="folder of checkpoints")
        command.add_argument("--seed", type=int, default=0)
        command.add_argument("--threads", type=int, default=2, help="CPU threads of torch")
        if name in ("target", "draft"):
            command.add_argument("--tokens", type=positive, default=60e6, help="token budget")
            command.add_argument("--seconds", type=positive, default=math.inf, help="wall-clock budget")
        if name == "draft":
            command.add_argument("--pool-tokens", type=positive, default=4e6)
            command.add_argument("--sample-tokens", type=positive, default=5e5)
        if name == "export":
            command.add_argument("--output", type=Path, required=True, help="folder of the pair")
    return parser


def main(arguments: list[str] | None = None) -> int:
    """Run one stage; return the exit code."""
    parser = build_parser()
    options = parser.parse_args(arguments)
    options.recipe = RECIPES[options.recipe]
    try:
        stages.check(options)
    except ValueError as error:
        parser.error(str(error))
    torch.set_num_threads(options.threads)
    stages.STAGES[options.stage](options)
    return 0


if __name__ == "__main__":
    sys.exit(main())
