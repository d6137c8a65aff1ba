"""Build a twin: a Llama of a real model's shape and cost that computes what a bundled model computes.

    python -m benchmarks.scale_twin --size 8B --output twins/8B
    python -m benchmarks.scale_twin --size 68M --of draft --output twins/68M
    python -m dsbd bench --target twins/8B --draft twins/68M

The vocabulary stays the bundled pair's 4,096 tokens, so the head and the sampling cost less than a real model's.
"""

import argparse
from pathlib import Path

import torch

from benchmarks.twin import SHAPES, build_twin


def main() -> None:
    parser = argparse.ArgumentParser(description="Build a twin at scale")
    parser.add_argument("--size", choices=SHAPES, required=True)
    parser.add_argument("--of", choices=("target", "draft"), default="target", help="which bundled model (target)")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="where it is built")
    asked = parser.parse_args()
    print(build_twin(asked.of, asked.size, asked.output, asked.device))


if __name__ == "__main__":
    main()
