"""Layers per iteration of each kind of forest, at a fixed width of four: no clock, the same on every machine.

python -m benchmarks.forests --output benchmarks/results/forests.json
"""

import argparse
import json
import statistics
from pathlib import Path
from typing import Any

import dsbd
from dsbd.assets import asset_path
from dsbd.files import write_file

WIDTH = 4
NEW_TOKENS = 64
PROMPTS = 8
TEMPERATURES = (1.0, 0.7)
FORESTS: dict[str, dict[str, Any]] = {
    "the paper: sampled, 6 x 4, without landing": {"draft_width": 6, "draft_depth": 4, "landing": False},
    "sampled, 6 x 4": {"draft_width": 6, "draft_depth": 4},
    "sampled, 6 x 4, 8 cover nodes": {"draft_width": 6, "draft_depth": 4, "cover_width": 8},
    "sampled, 4 x 3, 8 cover nodes": {"draft_width": 4, "draft_depth": 3, "cover_width": 8},
    **{
        f"likely, {width} x {depth}": {"forest": "likely", "draft_width": width, "draft_depth": depth}
        for width, depth in ((12, 4), (24, 4), (24, 6), (48, 4), (48, 6))
    },
}


def main() -> None:
    parser = argparse.ArgumentParser(description="Layers per iteration of each kind of forest")
    parser.add_argument("--output", type=Path)
    output = parser.parse_args().output
    pair = dsbd.load_pair()
    prompts = asset_path("prompts.txt").read_text(encoding="utf-8").splitlines()[:PROMPTS]
    rows = []
    for name, forest in FORESTS.items():
        row: dict[str, Any] = {"forest": name}
        for temperature in TEMPERATURES:
            row[f"temperature {temperature}"] = layers(pair, prompts, {"temperature": temperature, **forest})
        rows.append(row)
        print(json.dumps(row), flush=True)
    if output:
        write_file(output, json.dumps({"prompts": PROMPTS, "new_tokens": NEW_TOKENS, "rows": rows}, indent=1) + "\n")


def layers(pair: dsbd.Pair, prompts: list[str], changes: dict[str, Any]) -> dict[str, float]:
    """Return the mean over the prompts, and its standard error."""
    settings = dsbd.DecodingSettings(min_width=WIDTH, max_width=WIDTH, max_new_tokens=NEW_TOKENS, **changes)
    found = [dsbd.decode(pair, prompt, settings).stats.layers_per_iteration for prompt in prompts]
    return {"mean": statistics.mean(found), "standard_error": statistics.stdev(found) / len(found) ** 0.5}


if __name__ == "__main__":
    main()
