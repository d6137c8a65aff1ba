"""Prompts per second, several at once over one at a time: both in turn, on the same prompts, in one process.

    python -m benchmarks.many sql --methods beam_sampling,dsbd:exact --batch 8

A row for each method: prompts per second one at a time and together, the median and the range of their ratio over the
rounds, and how many prompts gave the same text. ``--alone`` compares one decode that has a batch to itself instead.
"""

import argparse
import statistics
import time
from collections.abc import Callable

import dsbd
from dsbd.bench.systems import systems
from dsbd.bench.tasks import load_task
from dsbd.models.engines.batch import Batch
from dsbd.models.loading import BUNDLED
from dsbd.models.pair import Pair
from dsbd.util import BUNDLED_PAIRS, SMOLLM2

CHATS = [f"Tell me about {topic}." for topic in
         ("cats", "the sea", "Paris", "trees", "trains", "music", "winter", "bread")]  # fmt: skip


def seconds_of(work: Callable[[], list[dsbd.DecodingResult]]) -> tuple[float, list[dsbd.DecodingResult]]:
    """Return how long work takes, and its results."""
    start = time.perf_counter()
    results = work()
    return time.perf_counter() - start, results


def compare(
    pair: Pair, prompts: list[str], settings: dsbd.DecodingSettings, batch: int, rounds: int, alone: bool
) -> str:
    """Return a row: both ways in turn, after one round that does not count."""

    def in_turn() -> list[dsbd.DecodingResult]:
        return list(dsbd.decode_many(pair, prompts, settings))

    def in_a_lane() -> list[dsbd.DecodingResult]:
        with Batch(pair.used_by(settings).models, batch, 512).joined():
            return in_turn()

    def together() -> list[dsbd.DecodingResult]:
        return list(dsbd.decode_many(pair, prompts, settings, batch=batch))

    ways = in_turn, in_a_lane if alone else together
    seconds = [[], []]
    for number in range(rounds + 1):
        (one, own), (other, theirs) = [seconds_of(way) for way in ways]
        if number:
            seconds[0].append(one)
            seconds[1].append(other)
    ratios = sorted(one / other for one, other in zip(*seconds, strict=True))
    same = sum(one.token_ids == other.token_ids for one, other in zip(own, theirs, strict=True))
    speeds = [len(prompts) / statistics.median(one) for one in seconds]
    return (
        f"{speeds[0]:.2f} and {speeds[1]:.2f} prompts/s, {statistics.median(ratios):.2f} x "
        f"[{ratios[0]:.2f}, {ratios[-1]:.2f}], the same text {same} of {len(prompts)} times"
    )


def main() -> None:
    """Print a row for each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pair", choices=(*BUNDLED_PAIRS, SMOLLM2))
    parser.add_argument("--methods", default="beam_sampling,dsbd:exact")
    parser.add_argument("--prompts", type=int, default=8)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--rounds", type=int, default=7)
    parser.add_argument("--tokens", type=int, default=64)
    parser.add_argument("--alone", action="store_true")
    parsed = parser.parse_args()
    is_chat = parsed.pair == SMOLLM2
    pair = dsbd.load_pair(SMOLLM2 if is_chat else f"{BUNDLED}:{parsed.pair}")
    prompts = CHATS if is_chat else [one.prompt for one in load_task(parsed.pair, None).questions(parsed.prompts)]
    for one in systems(parsed.methods.split(","), {"max_new_tokens": parsed.tokens}):
        row = compare(pair, prompts[: parsed.prompts], one.settings, parsed.batch, parsed.rounds, parsed.alone)
        print(f"{parsed.pair} {one.name}, batch {parsed.batch}: {row}", flush=True)


if __name__ == "__main__":
    main()
