"""Quality at equal time: the best of several samples, as many as fit the time of one decode of another system.

Reads the ``--output`` of two ``python -m dsbd eval`` on the same questions: one of the samples, with some ``--seeds``,
and one of the decodes that they are compared with. Samples share one prefill. The best has the highest log-probability
per token, as beams are ranked:

    python -m benchmarks.best_of samples.jsonl decodes.jsonl --sampler speculative --against "dsbd exact"
"""

import argparse
import json
import math
from collections import defaultdict
from itertools import accumulate
from pathlib import Path

from dsbd.bench.statistics import clustered_mean, clustered_rate, paired_difference


def read_runs(path: Path, system: str) -> dict[str, list[dict]]:
    """Return the decodes of a system by question, in the order of their seeds."""
    by_question = defaultdict(list)
    for line in path.read_text(encoding="utf-8").splitlines():
        run = json.loads(line)
        if run["record"] == "decode" and run["system"] == system:
            by_question[f"{run['task']} {run['question']}"].append(run)
    return {question: sorted(runs, key=lambda run: run["round"]) for question, runs in by_question.items()}


def best_within(samples: list[dict], seconds: float) -> tuple[dict, int]:
    """Return the best of the samples that end within the seconds, and how many do; the first is always one."""
    own = [run["seconds"] - run["prefill_seconds"] for run in samples]
    ends = accumulate(own, initial=samples[0]["prefill_seconds"])
    count = max(sum(end <= seconds for end in list(ends)[1:]), 1)
    return min(samples[:count], key=lambda run: run["perplexity"]), count


def main() -> None:
    """Print a row for each task."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("samples", type=Path)
    parser.add_argument("decodes", type=Path)
    parser.add_argument("--sampler", default="speculative")
    parser.add_argument("--against", default="dsbd exact")
    parsed = parser.parse_args()
    samples, decodes = read_runs(parsed.samples, parsed.sampler), read_runs(parsed.decodes, parsed.against)
    for task in sorted({question.split()[0] for question in samples.keys() & decodes.keys()}):
        both = [one for one in sorted(samples) if one in decodes and one.split()[0] == task]
        best = {one: best_within(samples[one], decodes[one][0]["seconds"]) for one in both}
        full = sum(count == len(samples[one]) for one, (_, count) in best.items())
        print(f"{task}: {len(both)} questions; best of {sum(n for _, n in best.values()) / len(both):.2f} samples, all "
              f"of them in {full}")  # fmt: skip
        clusters = {one: decodes[one][0]["cluster"] for one in both}
        for name, figure in (("score", lambda run: run["score"]), ("log-probability", _log_probability)):
            own, other = {}, {}
            for one in both:
                own[one], other[one] = figure(best[one][0]), figure(decodes[one][0])
            if None in own.values():
                continue
            mean = clustered_rate if name == "score" else clustered_mean
            for who, values in (("best of n", own), (parsed.against, other)):
                print(f"  {name}, {who}: {_shown(mean([*values.values()], [*clusters.values()]))}")
            print(f"  difference: {_shown(paired_difference(own, other, clusters).of)}")


def _log_probability(run: dict) -> float:
    return -math.log(run["perplexity"])


def _shown(mean) -> str:
    return f"{mean.mean:.3f} [{mean.low:.3f}, {mean.high:.3f}]"


if __name__ == "__main__":
    main()
