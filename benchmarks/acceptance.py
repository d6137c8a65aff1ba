"""Measures how drafts fare by layer, by position and by the target's uncertainty; no clock, the same on every machine.

    python -m benchmarks.acceptance --output benchmarks/results/acceptance.json --report acceptance.html

By position a text that ends early is in the first bins only: later bins are of the long texts.
"""

import argparse
import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import dsbd
from dsbd.commands.bench_flags import prompts_of
from dsbd.commands.pair_flags import add_pair_flags, pair_of
from dsbd.evaluation.acceptance import AcceptanceTable, Bin, acceptance_table
from dsbd.files import write_file
from dsbd.machine import conditions
from dsbd.measure.bench.contenders import Contender, contenders
from dsbd.measure.bench.plain import to_plain
from dsbd.measure.bench.tables import cell, table
from dsbd.measure.layer_watch import LayerWatch

POINTS = ("defaults", "same-law")
PANELS = ("by_layer", "by_position", "by_entropy")


def main(arguments: list[str] | None = None) -> None:
    asked = flags().parse_args(arguments)
    pair, prompts = pair_of(asked), prompts_of(asked.prompts, asked.limit)
    tables = []
    for contender in contenders(["dsbd"], asked.points.split(","), {"max_new_tokens": [asked.max_new_tokens]}):
        tables.append(watched(pair, contender, prompts, asked.seeds))
        print(f"{contender.name}\n\n{shown(tables[-1])}\n", flush=True)
    report: dict[str, Any] = {"format": "dsbd-acceptance/1", "conditions": conditions(pair), "prompts": len(prompts),
                              "seeds": asked.seeds, "max_new_tokens": asked.max_new_tokens,
                              "tables": [to_plain(one) for one in tables]}  # fmt: skip
    if asked.output:
        write_file(asked.output, json.dumps(report, indent=1) + "\n")
    if asked.report:
        from visualize.figures.acceptance import acceptance_figure

        acceptance_figure(tables).write_html(asked.report, include_plotlyjs=True)


def flags() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="Acceptance by layer, position and entropy")
    add_pair_flags(parser)
    parser.add_argument("--points", default=",".join(POINTS), help="of dsbd")
    parser.add_argument("--prompts", help="one prompt a line (a small set comes with the package)")
    parser.add_argument("--limit", type=int, help="only the first N prompts")
    parser.add_argument("--seeds", type=int, default=4, help="runs of each prompt (4)")
    parser.add_argument("--max-new-tokens", type=int, default=64)
    parser.add_argument("--output", type=Path)
    parser.add_argument("--report", type=Path)
    return parser


def watched(pair: dsbd.Pair, contender: Contender, prompts: tuple[str, ...], seeds: int) -> AcceptanceTable:
    """Return the acceptance over all prompts and seeds."""
    watch, clusters = LayerWatch(), []
    for prompt in prompts:
        for turn in range(seeds):
            settings = replace(contender.settings, seed=contender.settings.seed + turn)
            dsbd.decode(pair, prompt, settings, observers=[watch])
            clusters.append(prompt)
    return acceptance_table(contender.name, list(zip(clusters, watch.decodes, strict=True)))


def shown(found: AcceptanceTable) -> str:
    """Return the three groups of bins as one Markdown table."""
    rows = [[panel.removeprefix("by_"), *row(one)] for panel in PANELS for one in getattr(found, panel)]
    return table(["by", "from", "to", "layers", "accepted [95 %]", "went on"], rows)


def row(found: Bin) -> list[str]:
    rate, on = found.acceptance, found.went_on
    shown = cell(None) if rate is None else cell(rate.mean)
    if rate is not None and rate.low is not None and rate.high is not None:
        shown += f" [{rate.low:.2f}, {rate.high:.2f}]"
    return [f"{found.low:.3g}", f"{found.high:.3g}", str(found.layers), shown, cell(on.mean if on else None)]


if __name__ == "__main__":
    main()
