"""How fast, how large, how good: the tables of the pages about performance and quality, on this device."""

import argparse
from collections import Counter
from collections.abc import Mapping, Sequence
from typing import Any

import dsbd
from benchmarks import gpu, overhead
from benchmarks.gpu_day.models import bundled, twin
from benchmarks.gpu_day.runner import Day, MissingError, Outcome
from benchmarks.iteration_parts import PROMPTS, SETTINGS
from dsbd.commands.bench import prompts_of
from dsbd.errors import DsbdError
from dsbd.evaluation.markdown import summary_table
from dsbd.measure.bench.bench import Bench
from dsbd.measure.bench.contenders import TRANSFORMERS, contenders
from dsbd.measure.bench.contest import Contest, plain_prompts
from dsbd.measure.bench.tables import bench_tables, cell, table
from dsbd.methods import resolve
from dsbd.models.hub import local_folder
from dsbd.models.load_options import resolve_device
from dsbd.models.presets import PRESETS
from dsbd.observer import IterationEnd, Observer
from dsbd.results import PHASES

BASELINES = ("beam_sampling", "hf_beam_sampling")
LAWS = ("same-law", "auto-same-law")
QUALITY_METHODS = ("sampling", "greedy", "beam_sampling", "dsbd:same-law", "speculative", "hf_beam_sampling")


def contest(
    day: Day,
    name: str,
    pair: dsbd.Pair,
    methods: Sequence[str],
    points: Sequence[str],
    values: Mapping[str, Sequence[Any]],
    prompts: int,
    seeds: int,
) -> Outcome:
    """Run a bench; every decode is kept in a file, where a stopped bench continues."""
    if day.small:
        prompts, seeds, points = 1, 1, [point for point in points if "auto" not in point]
        values = {name: several[:2] for name, several in values.items()} | {"max_new_tokens": [4]}
    chosen = contenders(list(methods), list(points), values)
    bench = Bench(pair, Contest(chosen, plain_prompts(prompts_of(None, prompts)), seeds), day.file(name, "jsonl"))
    finished = bench.run()
    summary = bench.summary(BASELINES)
    return Outcome(bench_tables(summary), summary.to_dict(), finished)


def stories(day: Day, temperature: float) -> Outcome:
    """Measure every decoder on the bundled pair."""
    methods, points = ("dsbd", "beam_sampling", *TRANSFORMERS), gpu.POINTS_RUN
    values = {"max_new_tokens": [128], "temperature": [temperature]}
    name = f"temperature-{temperature:g}"
    return contest(day, name, bundled(day), methods, points, values, prompts=12, seeds=2)


def other_pair(day: Day, dtype: str = "auto", engine: str = "auto") -> Outcome:
    """Measure the bundled pair in another dtype, or with another engine."""
    pair, values = bundled(day, dtype=dtype, engine=engine), {"max_new_tokens": [128]}
    return contest(day, f"{dtype}-{engine}", pair, ("dsbd", *BASELINES), LAWS, values, prompts=12, seeds=1)


def at_scale(day: Day, part: str) -> Outcome:
    """Measure a part of :mod:`benchmarks.gpu` on a twin at the size of real models."""
    asked = argparse.Namespace(max_new_tokens=128, points=",".join(gpu.POINTS_RUN))
    methods, points, values = gpu.contents(part, asked)
    if part == "methods":
        methods = ["dsbd", "beam_sampling", "speculative", "greedy", *TRANSFORMERS]
    prompts = 4 if part == "methods" else 2
    return contest(day, f"scale-{part}", twin(day), methods, points, values, prompts, seeds=1)


def real_pairs(day: Day) -> Outcome:
    """Measure every known pair of public models whose files are on this machine; the others are named."""
    parts, data, absent, complete = [], dict[str, Any](), [], True
    for preset in PRESETS:
        target, draft = (model.id for model in preset.models)
        missing = [name for name in (target, draft) if day.small or local_folder(name) is None]
        if missing:
            absent += missing
            continue
        file = f"real-{target.replace('/', '--')}"
        try:
            pair = dsbd.load_pair(target, draft, day.device)
            found = contest(day, file, pair, ("dsbd", *BASELINES), ("defaults", "same-law"), {}, 4, 1)
        except DsbdError as error:
            parts.append(f"**{target}**: not measured: {error}")
            continue
        parts.append(f"**{target}** with {draft}\n\n{found.table}")
        data[target], complete = found.data, complete and found.complete
    if not parts:
        raise MissingError(f"not on this machine: {', '.join(dict.fromkeys(absent))}")
    left_out = f"Not on this machine: {', '.join(dict.fromkeys(absent)) or 'none'}."
    return Outcome("\n\n".join([*parts, left_out]), data, complete)


class Phases(Observer):
    """Adds up the seconds of each phase, with the device brought to rest after each."""

    def __init__(self) -> None:
        self.seconds: Counter[str] = Counter()
        self.iterations = 0

    def on_iteration(self, iteration: IterationEnd) -> None:
        self.seconds.update(iteration.seconds)
        self.iterations += 1


def phases(day: Day) -> Outcome:
    """Measure where an iteration goes, phase by phase."""
    pair, found = bundled(day), dict[str, dict[str, float]]()
    for name, changes in SETTINGS.items():
        settings = dsbd.DecodingSettings(max_new_tokens=4 if day.small else 128, **changes)
        dsbd.decode(pair, PROMPTS[0], settings)
        watch = Phases()
        for prompt in PROMPTS:
            dsbd.decode(pair, prompt, settings, observers=[watch])
        found[name] = {phase: 1000 * watch.seconds[phase] / watch.iterations for phase in PHASES if phase != "prefill"}
    names = list(next(iter(found.values())))
    rows = [[name, *(cell(times[phase]) for phase in names)] for name, times in found.items()]
    return Outcome(table(["ms an iteration", *names], rows), {"milliseconds": found})


def outside_the_models(day: Day) -> Outcome:
    """Measure an iteration on logits that were made before, by vocabulary."""
    sizes = overhead.VOCABULARIES[: 1 if day.small else None]
    found = {
        size: {
            name: overhead.measure(resolve(dsbd.DecodingSettings(**changes)), size, resolve_device(day.device))
            for name, changes in overhead.FORESTS.items()
        }
        for size in sizes
    }
    heads = ["vocabulary", *overhead.FORESTS]
    rows = [[f"{size:,}", *(cell(one["total_milliseconds"]) for one in by.values())] for size, by in found.items()]
    return Outcome(table(heads, rows), {"rows": {str(size): by for size, by in found.items()}})


def quality(day: Day) -> Outcome:
    """Ask the decoders questions to SQL, and score the answers."""
    methods = QUALITY_METHODS[2:3] if day.small else QUALITY_METHODS
    settings: dict[str, Any] = {"draft_depth": 12, "draft_width": 4} | ({"max_new_tokens": 4} if day.small else {})
    limit, file = 1 if day.small else 100, day.file("quality-answers", "jsonl")
    report = dsbd.evaluate(bundled(day, "sql"), ["sql"], file, methods, limit=limit, **settings)
    return Outcome(summary_table(report), report.to_dict(), report.complete)
