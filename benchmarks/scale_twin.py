"""Build a twin: a Llama of a real model's shape and cost that computes what a bundled model computes.

    python benchmarks/scale_twin.py --size 8B --output twins/8B
    python benchmarks/scale_twin.py --size 68M --of draft --output twins/68M
    python -m dsbd bench --target twins/8B --draft twins/68M

The vocabulary stays the bundled pair's 4,096 tokens, so the head and the sampling cost less than a real model's.
"""

import argparse
from pathlib import Path

import torch
from transformers import AutoTokenizer, LlamaForCausalLM

from dsbd.assets import asset_path
from dsbd.training.twin import SHAPES, make_twin


def main() -> None:
    parser = argparse.ArgumentParser(description="Build a twin at scale")
    parser.add_argument("--size", choices=SHAPES, required=True)
    parser.add_argument("--of", choices=("target", "draft"), default="target", help="which bundled model (target)")
    parser.add_argument("--output", type=Path, required=True, metavar="FOLDER")
    parser.add_argument("--device", default="cuda" if torch.cuda.is_available() else "cpu", help="where it is built")
    asked = parser.parse_args()
    build(asked.of, asked.size, asked.output, asked.device)


def build(role: str, size: str, folder: Path, device: str = "cpu") -> Path:
    """Write the twin of a bundled model and its tokenizer as an ordinary folder, unless it is there already."""
    if not (folder / "config.json").is_file():
        source = asset_path(f"models/{role}")
        original = LlamaForCausalLM.from_pretrained(source, dtype=torch.bfloat16)
        twin = make_twin(original, SHAPES[size], torch.bfloat16, device)
        AutoTokenizer.from_pretrained(source).save_pretrained(folder)
        twin.save_pretrained(folder)
        parameters = sum(weight.numel() for weight in twin.parameters())
        print(f"{folder}: {parameters:,} parameters, the function of the bundled {role}")
    return folder


if __name__ == "__main__":
    main()
