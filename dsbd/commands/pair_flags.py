"""The flags that name a pair, and loading it."""

import argparse
import sys
from typing import TYPE_CHECKING

from dsbd.commands.paths import model_name

if TYPE_CHECKING:
    from dsbd.models.pair import Pair


def add_pair_flags(parser: argparse.ArgumentParser) -> None:
    """Add the flags of ``load_pair``."""
    parser.add_argument("--target", type=model_name, metavar="PATH_OR_ID", help="target model (the bundled pair)")
    parser.add_argument("--draft", type=model_name, metavar="PATH_OR_ID", help="draft model of the same vocabulary")
    parser.add_argument("--device", default="auto", help="auto, cpu, cuda, ... (auto)")
    parser.add_argument("--dtype", default="auto", help="auto, float32, bfloat16, float16, float64 (auto)")
    parser.add_argument("--engine", default="auto", help="auto, eager, traced, graph (auto)")


def pair_of(parsed: argparse.Namespace) -> "Pair":
    """Load the pair that the flags name; fallbacks are printed on stderr."""
    from dsbd.models.pair import load_pair

    pair = load_pair(parsed.target, parsed.draft, parsed.device, parsed.dtype, parsed.engine)
    for line in pair.fallbacks:
        print(f"dsbd: {line}", file=sys.stderr)
    return pair
