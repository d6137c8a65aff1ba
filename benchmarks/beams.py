"""Why beams, and does the width pay: decodes of many settings, with their answers, passes and processor time.

    python -m benchmarks.beams why --temperatures 0.3,1 --output why.jsonl
    OMP_NUM_THREADS=1 python -m benchmarks.beams width --limit 40 --only "alone|fixed" --output fixed.jsonl
    OMP_NUM_THREADS=1 python -m benchmarks.beams width --limit 100 --only "alone|to" --output dynamic.jsonl
    OMP_NUM_THREADS=1 python -m benchmarks.beams width --pair stories --task stories --limit 20 --depths 2,4
    python -m benchmarks.beams memory

*why*: one sample, the likeliest and the majority of n, beams. *width*: widths that are fixed, alone and with guesses,
and widths that vary; how often a layer of the forest goes on, by depth and position. Speed is layers per second of
processor time, the whole call: on one thread other programs change it little. *memory*: bytes of the cache behind 2,000
tokens (SmolLM2). With ``--output`` a run that was ended goes on; questions that all systems answered are counted.
"""

import argparse
import re
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from functools import partial
from itertools import product
from typing import Any

import numpy as np
import torch

import dsbd
from benchmarks.eight_bits import opened, scored
from dsbd.bench.benchmark import Benchmark, Turn, make_benchmark, run_benchmark
from dsbd.bench.measure import as_shipped, run_transformers
from dsbd.bench.record_file import RecordFile
from dsbd.bench.records import Mean, Run, to_plain
from dsbd.bench.report import run_of
from dsbd.bench.sql import run_query
from dsbd.bench.statistics import NONE, clustered_perplexity, clustered_rate, paired_difference
from dsbd.bench.systems import System
from dsbd.bench.tasks import load_task
from dsbd.errors import QueryError
from dsbd.iteration import Iteration
from dsbd.models.engines.choice import new_state
from dsbd.models.pair import Pair, conditions
from dsbd.session import Observer, RunStart
from dsbd.settings import DecodingSettings
from dsbd.util import BUNDLED_PAIRS, SMOLLM2, ProgressLine, asset_path

WIDTHS, SAMPLES = (2, 4, 8), 8
SIZES, ROUNDS = (1, 2, 4, 8, 16, 32, 64), 30
"""Tokens of the passes whose costs are measured, and how often."""
MEMORY_WIDTHS, PROMPT_TOKENS = (4, 8, 16), 2000
BY_POSITION, FEWEST = 8, 30
"""Tokens of a text that are counted together, and layers of which a share is shown."""
LIBRARY = asset_path("tasks/sql") / "databases" / "library.sqlite"
Vote = Callable[[str], Any]
Decode = tuple[Run, dict[str, Any]]
"""A decode, and what :class:`Counts` says of it."""


class Counts(Observer):
    """The passes of a decode, the beams that its layers kept, and its processor time."""

    reads_seconds = False

    def __init__(self) -> None:
        self.passes, self.draft_passes = list[tuple[int, int, int]](), list[int]()
        self.distinct = self.drawn = 0
        self.processor_seconds = 0.0

    def on_start(self, start: RunStart) -> None:
        self._start = time.process_time()

    def on_iteration(self, iteration: Iteration) -> None:
        beams, depth = len(iteration.input_beams), len(iteration.drafted)
        self.passes.append((beams + len(iteration.slots), len(iteration.layers), depth))
        self.draft_passes += [beams, *map(len, iteration.drafts)][:depth]
        self.distinct += sum(len(layer.beams) for layer in iteration.layers)
        self.drawn += sum(beam.multiplicity for layer in iteration.layers for beam in layer.beams)
        self.processor_seconds = time.process_time() - self._start

    def to_plain(self) -> dict[str, Any]:
        """Return the counts as plain data."""
        return {name: value for name, value in vars(self).items() if name != "_start"}


def why(temperatures: Sequence[float]) -> dict[str, dict[str, Any]]:
    """Return the settings of samples, of beams with (equal) and without replacement (distinct), and of searches."""
    chosen: dict[str, dict[str, Any]] = {"greedy": {"method": "greedy"}}
    chosen |= {f"beam search {width}": {"method": "beam_search", "num_beams": width} for width in WIDTHS}
    for heat in temperatures:
        for seed in range(SAMPLES):
            chosen[f"T {heat:g} sample {seed}"] = {"method": "sampling", "seed": seed, "temperature": heat}
        for width, (kind, replacement) in product(WIDTHS, (("equal", True), ("distinct", False))):
            own = {"method": "beam_sampling", "num_beams": width, "replacement": replacement, "temperature": heat}
            chosen[f"T {heat:g} {kind} {width}"] = own
    return chosen


def width(temperatures: Sequence[float], depths: Sequence[int]) -> dict[str, dict[str, Any]]:
    """Return the settings of fixed widths, alone and with each kind of forest, and of widths that vary."""
    chosen: dict[str, dict[str, Any]] = {}
    for heat, (kind, replacement) in product(temperatures, (("equal", True), ("distinct", False))):
        start, own = f"T {heat:g} {kind}", {"temperature": heat, "replacement": replacement}
        for beams in WIDTHS:
            chosen[f"{start} {beams} alone"] = own | {"method": "beam_sampling", "num_beams": beams}
            for forest, depth, nodes in product(("coupled", "sampled"), depths, (beams, 2 * beams, 4 * beams)):
                fixed = {"min_width": beams, "max_width": beams, "forest": forest}
                name = f"{start} {beams} fixed, {forest} {depth} x {nodes}"
                chosen[name] = own | fixed | {"draft_depth": depth, "draft_width": nodes}
        for depth, most, least, threshold in product(depths, (4, 8), (1, 2), (0.5, 0.7, 0.9)):
            limits = {"min_width": least, "max_width": most, "width_threshold": threshold}
            name = f"{start} {least} to {most}, threshold {threshold}, {depth} x {most}"
            chosen[name] = own | limits | {"draft_depth": depth, "draft_width": most}
    return chosen


def run(pair: Pair, benchmark: Benchmark, path: str | None) -> dict[str, list[Decode]]:
    """Decode everything that the file lacks, until Ctrl-C; return by system the questions that all have answered."""
    counts, decodes = defaultdict[tuple[str, str, str, int], Counts](Counts), list[Decode]()

    def observe(turn: Turn) -> list[Observer]:
        return [counts[turn.key]]

    with RecordFile(path, benchmark.conditions() | conditions(pair), resume=path is not None) as file:
        decodes += [(run_of(record), own) for record in file.records if (own := record.pop("counts"))]
        earlier = [one for one, _ in decodes]
        with suppress(KeyboardInterrupt), ProgressLine("starting", "decode") as bar:
            for step in run_benchmark(pair, benchmark, observe=observe, earlier=earlier):
                bar.show(f"{step.doing} {step.name}", step.done, step.total)
                if (one := step.run) is not None:
                    own = counts.pop((one.system, one.task, one.question, one.round)).to_plain()
                    decodes.append((one, own))
                    file.append({"record": "decode", **to_plain(one), "counts": own})
    answered = Counter(one.question for one, _ in decodes)
    complete = [decode for decode in decodes if answered[decode[0].question] == len(benchmark.systems)]
    return {name: own for name in (each.name for each in benchmark.systems)
            if (own := [decode for decode in complete if decode[0].system == name])}  # fmt: skip


def voted(samples: Sequence[Run], vote: Vote | None = None) -> Run:
    """Return the likeliest sample per token; with a vote, of those whose answer most samples have.

    An answer of which the vote is None counts only where all are; of equally many the likeliest one wins.
    """
    ranked = sorted(samples, key=lambda one: one.perplexity)
    ballots = [None if vote is None else vote(one.answer) for one in ranked]
    count = Counter(own for own in ballots if own is not None)
    return ranked[ballots.index(count.most_common(1)[0][0])] if count else ranked[0]


def text_of(answer: str) -> str:
    """Return an answer with single spaces, to vote for."""
    return " ".join(answer.split())


def rows_of(query: str) -> Any:
    """Return the rows of a query on the bundled database, to vote for; None where it fails."""
    with suppress(QueryError):
        return tuple(sorted(map(repr, run_query(LIBRARY, query))))


def report_why(decodes: Mapping[str, Sequence[Decode]], is_sql: bool) -> None:
    """Print right answers, beside one sample and beside the majority of as many samples as there are beams."""
    runs = {name: [one for one, _ in own] for name, own in decodes.items()}
    rows = {name: own for name, own in runs.items() if " sample " not in name}
    votes: dict[str, Vote | None] = {"likeliest of": None, "majority of": text_of}
    votes |= {"majority by rows of": rows_of} if is_sql else {}
    for start in dict.fromkeys(name.partition("sample")[0] for name in runs if " sample " in name):
        samples = [runs[f"{start}sample {seed}"] for seed in range(SAMPLES)]
        rows[f"{start}sample"] = [one for own in samples for one in own]
        for (name, vote), count in product(votes.items(), WIDTHS):
            groups = [samples[first : first + count] for first in range(0, SAMPLES, count)]
            rows[f"{start}{name} {count}"] = [voted(own, vote) for one in groups for own in zip(*one, strict=True)]
    print("| system | right, % | minus one sample | minus the majority of as many |\n|" + " --- |" * 4)
    for name, own in sorted(rows.items()):
        start, number = re.match(r"T \S+ |", name)[0], name.split()[-1]
        others = (f"{start}sample", f"{start}majority of {number}")
        cells = [NONE if other == name or other not in rows else difference(own, rows[other]) for other in others]
        print(f"| {name} | {right(own)} | {' | '.join(cells)} |")


def scores_of(runs: Iterable[Run]) -> dict[str, float]:
    """Return the mean score of each question."""
    scores = defaultdict[str, list[float]](list)
    for one in runs:
        scores[one.question].append(one.score or 0.0)
    return {question: statistics.fmean(own) for question, own in scores.items()}


def right(runs: Sequence[Run]) -> str:
    """Return the share of right answers, in %."""
    clusters, scores = {one.question: one.cluster for one in runs}, scores_of(runs)
    return percent(clustered_rate([*scores.values()], [clusters[question] for question in scores]))


def difference(ours: Sequence[Run], theirs: Sequence[Run]) -> str:
    """Return ours minus theirs in points, and how many questions each answered better."""
    between = paired_difference(scores_of(ours), scores_of(theirs), {one.question: one.cluster for one in ours})
    assert between is not None, "all systems answered the same questions"
    return f"{percent(between.of)}: {between.above} better, {between.below} worse"


def percent(of: Mean) -> str:
    ends = "" if of.low is None or of.high is None else f" [{100 * of.low:.1f}, {100 * of.high:.1f}]"
    return f"{100 * of.mean:.1f}{ends}"


@torch.inference_mode()
def pass_costs(pair: Pair, prompt: str) -> list[Callable[[Any], Any]]:
    """Print milliseconds of processor time of a pass over so many tokens, for each model; return them as functions."""
    ids, costs = pair.encode(prompt), list[Callable[[Any], Any]]()
    for model in pair.models:
        state, taken = new_state(model), defaultdict[int, list[float]](list)
        beam = opened(state, ids)
        for _, size in product(range(ROUNDS), SIZES):
            start = time.process_time()
            scored(state, beam, (ids * max(SIZES))[: size - 1])
            taken[size].append(1000 * (time.process_time() - start))
            state.commit([beam])
        values = [statistics.median(taken[size]) for size in SIZES]
        print(f"a pass over {SIZES} tokens, ms: {', '.join(f'{one:.2f}' for one in values)}")
        costs.append(partial(np.interp, xp=SIZES, fp=values))
    return costs


def report_width(decodes: Mapping[str, Sequence[Decode]], costs: Sequence[Callable[[Any], Any]]) -> None:
    """Print quality and speed: measured, by the costs of passes alone, and as if guesses cost nothing."""
    columns = ("system", "right, %", "minus four equal beams", "perplexity", "distinct of drawn", "text of beams alone",
               "layers a pass", "tokens a pass", "x four equal beams", "x own beams", "by passes",
               "guesses free")  # fmt: skip
    print(f"| {' | '.join(columns)} |\n|" + " --- |" * len(columns))
    for name, own in decodes.items():
        start, beams = re.match(r"(T \S+ )(\w+ \d+)", name).groups()
        base, plain = (decodes.get(f"{start}{one} alone") for one in ("equal 4", beams))
        runs, counts = [one for one, _ in own], [each for _, each in own]
        sizes, layers, _ = np.array([one for each in counts for one in each["passes"]]).T
        kept, drawn = (sum(each[which] for each in counts) / layers.sum() for which in ("distinct", "drawn"))
        ratios, same = [pace(own)[0] / pace(base)[0] if base else np.nan], NONE
        if plain:
            ratios += [now / before for now, before in zip(pace(own, costs), pace(plain, costs), strict=True)]
            same = f"{sum(one.text == other.text for one, (other, _) in zip(runs, plain, strict=True))} of {len(runs)}"
        print(f"| {name} | {right(runs)} | {difference(runs, [one for one, _ in base]) if base else NONE} | "
              f"{clustered_perplexity([one.perplexity for one in runs], [one.cluster for one in runs]).mean:.3f} | "
              f"{kept:.2f} of {drawn:.2f} | {same} | {layers.mean():.2f} | {sizes.mean():.1f} | "
              f"{' | '.join(f'{one:.2f}' for one in ratios)} |")  # fmt: skip


def pace(own: Sequence[Decode], costs: Sequence[Callable[[Any], Any]] = ()) -> list[float]:
    """Return layers per second of processor time; by the costs of all passes, and of those of the target alone."""
    layers, passes = sum(one.layers for one, _ in own), [one[0] for _, each in own for one in each["passes"]]
    spent = [sum(each["processor_seconds"] for _, each in own)]
    if costs:
        target, *draft = (cost(sizes).sum() for cost, sizes in zip(
            costs, (passes, [one for _, each in own for one in each["draft_passes"]]), strict=False))  # fmt: skip
        spent += [target + sum(draft), target]
    return [layers / one for one in spent]


def report_acceptance(decodes: Mapping[str, Sequence[Decode]]) -> None:
    """Print how often verification goes on below a layer of the forest that it reached, by depth and by position."""
    for name, own in decodes.items():
        reached, passed = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
        for _, counts in own:
            position = 0
            for _, layers, depth in counts["passes"]:
                for index in range(min(layers, depth)):
                    for place in (("depth", index + 1), ("token", (position + index) // BY_POSITION * BY_POSITION)):
                        reached[place] += 1
                        passed[place] += index + 1 < layers
                position += layers
        for what in ("depth", "token"):
            shares = [f"{place[1]}: {passed[place] / count:.2f}" for place, count in sorted(reached.items())
                      if place[0] == what and count >= FEWEST]  # fmt: skip
            if shares:
                print(f"{name}, goes on by {what}: {', '.join(shares)}")


def report_memory() -> None:
    """Print the megabytes of keys and values at the fullest moment, by system and width."""
    pair = dsbd.load_pair(SMOLLM2)
    text = (asset_path("chapters") / "oz.txt").read_text(encoding="utf-8")
    prompt, plain = pair.encode(text, chat=False)[:PROMPT_TOKENS], DecodingSettings(method="beam_sampling")
    print(f"| MB at widths | {' | '.join(map(str, MEMORY_WIDTHS))} |\n|" + " --- |" * 4)
    for name in ("equal beams", "distinct beams", "dsbd exact", "transformers"):
        peaks = list[int]()
        for beams in MEMORY_WIDTHS:
            settings = replace(plain, num_beams=beams, replacement=name != "distinct beams")
            if name == "dsbd exact":
                settings = DecodingSettings(min_width=beams, max_width=beams, draft_depth=8, draft_width=beams)
            is_ours = name != "transformers"
            peaks.append(dsbd.decode(pair, prompt, settings).stats.kv_peak_bytes if is_ours else
                         peak_of_transformers(pair, prompt, settings))  # fmt: skip
        print(f"| {name} | {' | '.join(f'{peak / 1e6:.1f}' for peak in peaks)} |", flush=True)


def peak_of_transformers(pair: Pair, prompt: Sequence[int], settings: DecodingSettings) -> int:
    """Return the bytes of the cache of ``transformers`` at its largest."""
    peaks = list[int]()

    def note(_: Any, __: Any, output: Any) -> None:
        layers = output.past_key_values.layers
        peaks.append(sum(one.nbytes for layer in layers for one in (layer.keys, layer.values)))

    handle = pair.target.model.register_forward_hook(note)
    try:
        with as_shipped(pair):
            run_transformers(pair, prompt, "hf_beam_sampling", settings)
    finally:
        handle.remove()
    return max(peaks)


def main() -> None:
    """Run one of the three."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("what", choices=("why", "width", "memory"))
    add("--pair", default="sql", choices=(*BUNDLED_PAIRS, SMOLLM2))
    add("--task", default="sql", help="NAME or NAME=PATH, as for eval --data (sql)")
    add("--limit", type=int, help="questions (all)")
    add("--temperatures", default="1", help="with commas between (1)")
    add("--depths", default="4,12", help="of forests (4,12)")
    add("--only", default="", help="systems whose names this regular expression finds")
    add("--max-new-tokens", type=int, default=64, help="(64)")
    add("--batch", type=int, default=8, help="decodes at the same time, of why (8)")
    add("--output", help="a file for every decode; goes on with it")
    parsed = parser.parse_args()
    if parsed.what == "memory":
        report_memory()
        return
    pair = dsbd.load_pair(parsed.pair if parsed.pair == SMOLLM2 else f"bundled:{parsed.pair}")
    name, _, data = parsed.task.partition("=")
    task, temperatures = load_task(name, data or None), [*map(float, parsed.temperatures.split(","))]
    is_why, depths = parsed.what == "why", [*map(int, parsed.depths.split(","))]
    sweep = why(temperatures) if is_why else width(temperatures, depths)
    chosen = [System(one, values.get("method", "dsbd"), DecodingSettings(**values))
              for one, values in sweep.items() if re.search(parsed.only, one)]  # fmt: skip
    options = {"limit": parsed.limit, "max_new_tokens": parsed.max_new_tokens, "batch": parsed.batch if is_why else 1}
    decodes = run(pair, make_benchmark(pair, chosen, [task], **options), parsed.output)
    if is_why:
        report_why(decodes, name == "sql")
    else:
        report_width(decodes, pass_costs(pair, task.questions(1)[0].prompt))
        report_acceptance(decodes)


if __name__ == "__main__":
    main()
