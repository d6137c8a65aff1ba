"""Measures how the cost of a token grows with the prompt, the width, the depth and the new tokens.

    python -m benchmarks.scaling --output benchmarks/results/scaling.json --report scaling.html

Each axis is swept alone. Beside each measured time stands the limit: the time of an iteration's forwards, measured at
that context and with that many tokens, divided by the layers that the iteration yielded. The measured cost should
grow no faster: the last column, measured over limit, should stay level.
"""

import argparse
import json
import statistics
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

import dsbd
from dsbd.files import write_file
from dsbd.machine import conditions
from dsbd.measure.bench.contenders import Contender, Contest
from dsbd.measure.bench.records import Run
from dsbd.measure.bench.results_file import ResultsFile
from dsbd.measure.bench.schedule import measure, runs_of
from dsbd.measure.bench.summary import known
from dsbd.measure.bench.tables import cell, table
from dsbd.measure.hardware import forward_milliseconds

AXES = ("prompt_tokens", "num_beams", "draft_depth", "max_new_tokens")
PROMPT_TOKENS = (16, 64, 256, 512, 1024, 1536)
WIDTHS = (1, 2, 4, 6, 8)
DEPTHS = (1, 2, 4, 6, 8)
NEW_TOKENS = (16, 64, 128, 256, 512)
STORY = "Once upon a time, there was a little fox who lived near the old mill. Every day she walked to the river. "


class Axis(NamedTuple):
    """One sweep: a contest whose contenders or prompts are the places on the axis, all interleaved."""

    name: str
    contest: Contest
    places: dict[str, int]
    """The value at each place; the key is the name of its contender, or the prompt on the axis of prompts."""


def flags() -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description="How the cost of a token grows")
    parser.add_argument("--target")
    parser.add_argument("--draft")
    parser.add_argument("--device", default="auto")
    parser.add_argument("--dtype", default="auto")
    parser.add_argument("--engine", default="auto")
    parser.add_argument("--axes", default=",".join(AXES), help=f"of {', '.join(AXES)}")
    parser.add_argument("--max-new-tokens", type=int, default=64, help="where it is not the axis (64)")
    parser.add_argument("--largest", type=int, default=10**6, help="leave out values above this")
    parser.add_argument("--seeds", type=int, default=3, help="runs of each (3)")
    parser.add_argument("--output", type=Path)
    parser.add_argument("--report", type=Path)
    return parser


def main(arguments: list[str] | None = None) -> None:
    asked = flags().parse_args(arguments)
    pair = dsbd.load_pair(asked.target, asked.draft, asked.device, asked.dtype, asked.engine)
    rows = [row for name in asked.axes.split(",") for row in measured(pair, axis_of(pair, name, asked))]
    report = {"format": "dsbd-scaling/1", "conditions": conditions(pair), "seeds": asked.seeds, "rows": rows}
    print(table_of(rows))
    if asked.output:
        write_file(asked.output, json.dumps(report, indent=1) + "\n")
    if asked.report:
        from visualize.figures.scaling import scaling_figure

        scaling_figure(report).write_html(asked.report, include_plotlyjs=True)


def axis_of(pair: dsbd.Pair, name: str, asked: argparse.Namespace) -> Axis:
    """Return the places on an axis that fit the context."""
    base = dsbd.DecodingSettings(max_new_tokens=asked.max_new_tokens)
    if name == "prompt_tokens":
        room = min((pair.target.context_size or 10**9) - asked.max_new_tokens, asked.largest)
        places = {prompt_of(pair, size): size for size in PROMPT_TOKENS if size <= room}
        return Axis(name, Contest(contenders(base, ""), tuple(places), asked.seeds), places)
    values = {"num_beams": WIDTHS, "draft_depth": DEPTHS, "max_new_tokens": NEW_TOKENS}[name]
    swept = {
        value: contenders(replace(base, **{name: value}), f" {name}={value}")
        for value in values
        if value <= asked.largest
    }
    everyone = tuple(one for several in swept.values() for one in several)
    contest = Contest(everyone, (prompt_of(pair, PROMPT_TOKENS[0]),), asked.seeds)
    return Axis(name, contest, {one.name: value for value, several in swept.items() for one in several})


def contenders(settings: dsbd.DecodingSettings, label: str) -> tuple[Contender, ...]:
    """Return beam sampling, DSBD with the same law, and DSBD with its defaults."""
    beams = settings.num_beams
    fixed = replace(settings, min_width=beams, max_width=beams)
    return (
        Contender(f"beam_sampling{label}", "beam_sampling", replace(settings, method="beam_sampling")),
        Contender(f"dsbd same-law{label}", "dsbd", fixed),
        Contender(f"dsbd defaults{label}", "dsbd", settings),
    )


def prompt_of(pair: dsbd.Pair, size: int) -> str:
    """Return a text of so many tokens, give or take two: its end may be tokenised in another way."""
    ids = pair.encode(STORY * (2 + size // STORY.count(" ")))
    return pair.decode(ids[:size])


def measured(pair: dsbd.Pair, axis: Axis) -> list[dict[str, Any]]:
    """Return one row per contender and place, in ascending order of the value."""
    results = ResultsFile()
    for _ in measure(pair, axis.contest, results):
        pass
    found = [
        row(pair, axis, contender, known([turns]))
        for contender in axis.contest.contenders
        for turns in runs_of(axis.contest, results)[contender.name]
    ]
    return sorted(found, key=lambda one: one["value"])


def row(pair: dsbd.Pair, axis: Axis, contender: Contender, runs: list[Run]) -> dict[str, Any]:
    """Return the medians, and the limit at this context and size of forest."""
    context = runs[0].prompt_tokens + runs[0].layers // 2
    layers = sum(run.layers for run in runs) / sum(run.iterations or 0 for run in runs)
    steps = sum((run.draft_calls or 1) - 1 for run in runs) / sum(run.iterations or 0 for run in runs)
    width = statistics.fmean(run.mean_width or 1 for run in runs)
    settings = contender.settings
    beams, drafted = max(round(width), 1), 0 if contender.method == "beam_sampling" else settings.draft_width
    nodes = beams + round(steps * drafted)
    target = forward_milliseconds(pair.target, (nodes,), context)[nodes]
    draft = 0.0
    if drafted and pair.draft is not None:
        draft = forward_milliseconds(pair.draft, (drafted,), context)[drafted]
    milliseconds = statistics.median(1000 / run.tokens_per_second for run in runs)
    limit = (target + max(steps, 0) * draft) / layers
    return {
        "axis": axis.name,
        "value": axis.places[runs[0].prompt if axis.name == "prompt_tokens" else contender.name],
        "contender": contender.name.split(f" {axis.name}=")[0],
        "prompt_tokens": runs[0].prompt_tokens,
        "new_tokens": settings.max_new_tokens,
        "milliseconds_per_token": milliseconds,
        "prefill_milliseconds": 1000 * statistics.median(run.prefill_seconds for run in runs),
        "layers_per_iteration": layers,
        "forward_tokens": nodes,
        "target_forward_milliseconds": target,
        "limit_milliseconds_per_token": limit,
        "measured_over_limit": milliseconds / limit,
        "kv_peak_bytes": max(run.kv_peak_bytes or 0 for run in runs),
    }


def table_of(rows: list[dict[str, Any]]) -> str:
    """Return a Markdown table."""
    heads = ["axis", "value", "contender", "ms/token", "prefill ms", "layers/iteration", "limit ms/token",
             "measured / limit"]  # fmt: skip
    names = ("milliseconds_per_token", "prefill_milliseconds", "layers_per_iteration", "limit_milliseconds_per_token",
             "measured_over_limit")  # fmt: skip
    return table(heads, [[one["axis"], str(one["value"]), one["contender"], *(cell(one[name]) for name in names)]
                         for one in rows])  # fmt: skip


if __name__ == "__main__":
    main()
