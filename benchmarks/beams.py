"""Why beams, and does the width pay: many settings answer the same questions, and their passes are counted.

    python -m benchmarks.beams why --temperatures 0.3,1 --output why.jsonl
    python -m benchmarks.beams why --only "greedy|search 4|equal 4|distinct 4|sample [0-3]" --output four.jsonl
    OMP_NUM_THREADS=1 python -m benchmarks.beams width --limit 120 --only "alone|to" --output width.jsonl
    OMP_NUM_THREADS=1 python -m benchmarks.beams width --limit 30 --only "distinct.*(alone|fixed)" --depths 1,2,4
    OMP_NUM_THREADS=1 python -m benchmarks.beams width --pair stories --task stories --limit 24 --depths 2,4

*why*: one sample, the likeliest and the majority of n, beams with replacement (equal) and without (distinct). *width*:
widths that are fixed, alone and with guesses, and widths that vary; then how often a layer of the forest goes on, by
depth and by position. Speed is layers per second of processor time, the whole call: on one thread other programs change
it little. With ``--output`` a run that was ended goes on; questions that all systems answered are counted.
"""

import argparse
import re
import statistics
import time
from collections import Counter, defaultdict
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from itertools import product
from typing import Any

import numpy as np
import torch

import dsbd
from benchmarks.eight_bits import pass_times
from dsbd.bench.benchmark import Benchmark, Turn, make_benchmark, run_benchmark
from dsbd.bench.record_file import RecordFile
from dsbd.bench.records import Run, to_plain
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

WIDTHS, FIXED, SAMPLES = (2, 4, 8), (1, 2, 3, 4, 8), 8
KINDS = {"equal": True, "distinct": False}
"""Of beams, and whether they are drawn with replacement."""
SIZES = (1, 2, 4, 8, 16, 32, 64)
"""Tokens of the passes whose costs are measured."""
TOGETHER, FEWEST = 8, 30
"""Positions that are counted together, and layers from which on a share is printed."""
LIBRARY = asset_path("tasks/sql") / "databases" / "library.sqlite"
Vote = Callable[[str], Any]
Decode = tuple[Run, dict[str, Any]]
"""A decode, and what :class:`Counts` says of it."""


class Counts(Observer):
    """The passes of a decode (tokens, layers, draft layers), the beams that it kept, and its processor time."""

    reads_seconds = False

    def __init__(self) -> None:
        self.passes = list[tuple[int, int, int]]()
        self.distinct = self.drawn = 0
        self.processor_seconds = 0.0

    def on_start(self, start: RunStart) -> None:
        self._start = time.process_time()

    def on_iteration(self, iteration: Iteration) -> None:
        tokens = len(iteration.input_beams) + len(iteration.scored)
        self.passes.append((tokens, len(iteration.layers), len(iteration.drafted)))
        self.distinct += sum(len(layer.beams) for layer in iteration.layers)
        self.drawn += sum(beam.multiplicity for layer in iteration.layers for beam in layer.beams)
        self.processor_seconds = time.process_time() - self._start

    def to_plain(self) -> dict[str, Any]:
        return {name: value for name, value in vars(self).items() if name != "_start"}


def why(temperatures: Sequence[float]) -> dict[str, dict[str, Any]]:
    """Return the settings of samples, beams and searches, by name."""
    chosen: dict[str, dict[str, Any]] = {"greedy": {"method": "greedy"}}
    chosen |= {f"beam search {width}": {"method": "beam_search", "num_beams": width} for width in WIDTHS}
    for heat in temperatures:
        for seed in range(SAMPLES):
            chosen[f"T {heat:g} sample {seed}"] = {"method": "sampling", "seed": seed, "temperature": heat}
        for width, (kind, replacement) in product(WIDTHS, KINDS.items()):
            own = {"method": "beam_sampling", "num_beams": width, "replacement": replacement, "temperature": heat}
            chosen[f"T {heat:g} {kind} {width}"] = own
    return chosen


def width(temperatures: Sequence[float], depths: Sequence[int]) -> dict[str, dict[str, Any]]:
    """Return the settings of fixed widths, alone and with each kind of forest, and of widths that vary, by name."""
    chosen: dict[str, dict[str, Any]] = {}
    for heat, (kind, replacement) in product(temperatures, KINDS.items()):
        start, own = f"T {heat:g} {kind}", {"temperature": heat, "replacement": replacement}
        for beams in FIXED:
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
    by_system: dict[str, list[Decode]] = {one.name: [] for one in benchmark.systems}
    for one, own in decodes:
        if answered[one.question] == len(by_system):
            by_system[one.system].append((one, own))
    return by_system


def voted(samples: Sequence[Run], vote: Vote | None = None) -> Run:
    """Return the likeliest sample per token; with a vote, of those whose answer most samples have.

    Where the vote is None an answer has no voice; of equally many the likeliest wins.
    """
    ranked = sorted(samples, key=lambda one: one.perplexity)
    ballots = [None if vote is None else vote(one.answer) for one in ranked]
    count = Counter(one for one in ballots if one is not None)
    return ranked[ballots.index(count.most_common(1)[0][0])] if count else ranked[0]


def text_of(answer: str) -> str:
    """Return what a vote for texts counts."""
    return " ".join(answer.split())


def rows_of(query: str) -> Any:
    """Return what a vote for rows counts: those of the bundled database; None where the query fails."""
    with suppress(QueryError):
        return tuple(sorted(map(repr, run_query(LIBRARY, query))))


def report_why(decodes: Mapping[str, Sequence[Decode]], is_sql: bool) -> None:
    """Print right answers beside those of one sample, of votes and beams of as many, and of the greedy text."""
    runs = {name: [one for one, _ in own] for name, own in decodes.items()}
    rows = {name: own for name, own in runs.items() if " sample " not in name}
    votes: dict[str, Vote | None] = {"likeliest of": None, "majority of": text_of}
    votes |= {"majority by rows of": rows_of} if is_sql else {}
    for start in dict.fromkeys(name.partition("sample")[0] for name in runs if " sample " in name):
        samples = [own for name, own in runs.items() if name.startswith(f"{start}sample ")]
        rows[f"{start}sample"] = [one for own in samples for one in own]
        for (name, vote), count in product(votes.items(), WIDTHS):
            groups = [samples[first : first + count] for first in range(0, len(samples) - count + 1, count)]
            chosen = [voted(own, vote) for one in groups for own in zip(*one, strict=True)]
            rows |= {f"{start}{name} {count}": chosen} if chosen else {}
    others = ("sample", "likeliest of", "majority of", "equal", "greedy")
    print(f"| system | right, % | minus {' | minus '.join(others)} |\n|" + " --- |" * (2 + len(others)))
    for name, own in sorted(rows.items()):
        start, number = name[: re.match(r"T \S+ |", name).end()], name.split()[-1]
        names = [next((one for one in (other, f"{start}{other}", f"{start}{other} {number}") if one in rows), name)
                 for other in others]  # fmt: skip
        cells = [NONE if one == name else right(own, rows[one]) for one in names]
        print(f"| {name} | {right(own)} | {' | '.join(cells)} |")


def right(ours: Sequence[Run], theirs: Sequence[Run] | None = None) -> str:
    """Return the share of right answers, or ours minus theirs, in %, and how many questions each answered better."""
    clusters = {one.question: one.cluster for one in ours}
    scores, others = scores_of(ours), scores_of(theirs or ())
    between = paired_difference(scores, others, clusters)
    of = between.of if between else clustered_rate([*scores.values()], [*clusters.values()])
    counts = f": {between.above} better, {between.below} worse" if between else ""
    ends = "" if of.low is None or of.high is None else f" [{100 * of.low:.1f}, {100 * of.high:.1f}]"
    return f"{100 * of.mean:.1f}{ends}{counts}"


def scores_of(runs: Sequence[Run]) -> dict[str, float]:
    """Return the mean score of each question; 0 where none is right or wrong."""
    scores = defaultdict[str, list[float]](list)
    for one in runs:
        scores[one.question].append(one.score or 0.0)
    return {question: statistics.fmean(own) for question, own in scores.items()}


def report_width(decodes: Mapping[str, Sequence[Decode]], costs: Sequence[float]) -> None:
    """Print quality and speed; ``costs``: of a pass of the target over so many tokens, for a bound on the speed.

    Widths that vary have no beams alone to stand beside.
    """
    columns = ("system", "right, %", "minus four equal beams", "perplexity", "distinct of drawn", "text of beams alone",
               "layers a pass", "tokens a pass", "x four equal beams", "x own beams", "guesses free")  # fmt: skip
    print(f"| {' | '.join(columns)} |\n|" + " --- |" * len(columns))
    for name, own in decodes.items():
        start, beams = re.match(r"(T \S+ )(\w+ \d+(?: to)?)", name).groups()
        four, alone = (decodes.get(f"{start}{one} alone") for one in ("equal 4", beams))
        runs, counts = [one for one, _ in own], [each for _, each in own]
        sizes, layers, _ = np.array([one for each in counts for one in each["passes"]]).T
        kept, drawn = (sum(each[which] for each in counts) / layers.sum() for which in ("distinct", "drawn"))
        perplexity = clustered_perplexity([one.perplexity for one in runs], [one.cluster for one in runs])
        same = sum(one.text == other.text for one, (other, _) in zip(runs, alone or (), strict=False))
        paces = [(pace(own), pace(other), bound(own, costs), bound(other, costs)) if other else None
                 for other in (four, alone)]  # fmt: skip
        cells = [right(runs), right(runs, [one for one, _ in four]) if four else NONE, f"{perplexity.mean:.3f}",
                 f"{kept:.2f} of {drawn:.2f}", f"{same} of {len(runs)}" if alone else NONE, f"{layers.mean():.2f}",
                 f"{sizes.mean():.1f}", *(f"{one[0] / one[1]:.2f}" if one else NONE for one in paces),
                 f"{paces[-1][2] / paces[-1][3]:.2f}" if paces[-1] else NONE]  # fmt: skip
        print(f"| {name} | {' | '.join(cells)} |")


def pace(own: Sequence[Decode]) -> float:
    """Return layers per second of processor time."""
    return sum(one.layers for one, _ in own) / sum(each["processor_seconds"] for _, each in own)


def bound(own: Sequence[Decode], costs: Sequence[float]) -> float:
    """Return layers per cost of the target's passes, as if guesses and all else cost nothing."""
    sizes, layers, _ = np.array([one for _, each in own for one in each["passes"]]).T
    return float(layers.sum() / np.interp(sizes, SIZES, costs).sum())


def report_acceptance(decodes: Mapping[str, Sequence[Decode]]) -> None:
    """Print how often verification goes on below a layer of the forest that it reached, by depth and by position."""
    for name, own in decodes.items():
        reached, passed = Counter[tuple[str, int]](), Counter[tuple[str, int]]()
        for _, counts in own:
            position = 0
            for number, (_, layers, depth) in enumerate(counts["passes"], 1):
                ends = number == len(counts["passes"])  # its last layer ends the decode
                for index in range(min(layers - ends, depth)):
                    for place in (("depth", index + 1), ("token", (position + index) // TOGETHER * TOGETHER)):
                        reached[place] += 1
                        passed[place] += index + 1 < layers
                position += layers
        for what in ("depth", "token"):
            shares = [f"{place[1]}: {passed[place] / count:.2f}" for place, count in sorted(reached.items())
                      if place[0] == what and count >= FEWEST]  # fmt: skip
            if shares:
                print(f"{name}, goes on by {what}: {', '.join(shares)}")


@torch.inference_mode()
def main() -> None:
    """Run one of the two, and print its tables."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("what", choices=("why", "width"))
    add("--pair", default="sql", choices=(*BUNDLED_PAIRS, SMOLLM2))
    add("--task", default="sql", help="NAME or NAME=PATH, as for eval --data (sql)")
    add("--limit", type=int, help="questions (all)")
    add("--temperatures", default="1", help="with commas between (1)")
    add("--depths", default="4,12", help="of the forests of width (4,12)")
    add("--only", default="", help="systems whose names this regular expression finds")
    add("--max-new-tokens", type=int, default=64, help="(64)")
    add("--batch", type=int, default=8, help="decodes of why at the same time (8)")
    add("--output", help="a file for every decode; goes on with it")
    parsed = parser.parse_args()
    pair = dsbd.load_pair(parsed.pair if parsed.pair == SMOLLM2 else f"bundled:{parsed.pair}")
    name, _, data = parsed.task.partition("=")
    task, is_why = load_task(name, data or None), parsed.what == "why"
    temperatures, depths = [*map(float, parsed.temperatures.split(","))], [*map(int, parsed.depths.split(","))]
    sweep = why(temperatures) if is_why else width(temperatures, depths)
    chosen = [System(one, values.get("method", "dsbd"), DecodingSettings(**values))
              for one, values in sweep.items() if re.search(parsed.only, one)]  # fmt: skip
    options = {"limit": parsed.limit, "max_new_tokens": parsed.max_new_tokens, "batch": parsed.batch if is_why else 1}
    decodes = run(pair, make_benchmark(pair, chosen, [task], **options), parsed.output)
    if is_why:
        report_why(decodes, name == "sql")
        return
    ids = pair.encode(task.questions(1)[0].prompt, chat=False)
    costs = pass_times([new_state(pair.target)], ids * SIZES[-1], SIZES)[0]
    print(f"a pass of the target over {SIZES} tokens, ms: {', '.join(f'{one:.2f}' for one in costs)}")
    report_width(decodes, costs)
    report_acceptance(decodes)


if __name__ == "__main__":
    main()
