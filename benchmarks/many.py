"""Prompts per second, several at once over one at a time: both in turn, on the same prompts, in one process.

    python -m benchmarks.many sql --methods beam_sampling,dsbd:exact --batch 8

A row for each method: the median and the range of the ratio over the rounds, and how many prompts gave the same text.
"""

import argparse
import statistics
import time

import dsbd
from dsbd.bench.systems import systems
from dsbd.bench.tasks import load_task
from dsbd.models.loading import BUNDLED
from dsbd.util import BUNDLED_PAIRS, SMOLLM2

TOPICS = "cats", "Paris", "trees", "trains", "music", "winter", "bread", "rain"


def main() -> None:
    """Print a row for each method."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("pair", choices=(*BUNDLED_PAIRS, SMOLLM2))
    parser.add_argument("--methods", default="beam_sampling,dsbd:exact")
    for name, default in (("prompts", 8), ("batch", 8), ("rounds", 7), ("tokens", 64)):
        parser.add_argument(f"--{name}", type=int, default=default)
    parsed = parser.parse_args()
    is_chat = parsed.pair == SMOLLM2
    pair = dsbd.load_pair(SMOLLM2 if is_chat else f"{BUNDLED}:{parsed.pair}")
    if is_chat:
        prompts = [f"Tell me about {topic}." for topic in TOPICS]
    else:
        prompts = [one.prompt for one in load_task(parsed.pair, None).questions(parsed.prompts)]
    for one in systems(parsed.methods.split(","), {"max_new_tokens": parsed.tokens}):
        ratios = []
        for number in range(parsed.rounds + 1):
            seconds, texts = [], []
            for batch in (1, parsed.batch):
                start = time.perf_counter()
                results = dsbd.decode_many(pair, prompts[: parsed.prompts], one.settings, batch=batch)
                texts.append([result.token_ids for result in results])
                seconds.append(time.perf_counter() - start)
            ratios += [seconds[0] / seconds[1]] if number else []  # the first round warms up
        same = sum(own == other for own, other in zip(*texts, strict=True))
        print(
            f"{parsed.pair} {one.name}: {len(texts[0]) / seconds[1]:.2f} prompts/s in batches of {parsed.batch}, "
            f"{statistics.median(ratios):.2f} x [{min(ratios):.2f}, {max(ratios):.2f}]; the same text {same} times",
            flush=True,
        )


if __name__ == "__main__":
    main()
