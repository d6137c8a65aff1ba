"""Measures what recording a trace costs: seconds of ``decode`` with and without ``record=True``, interleaved.

python -m benchmarks.recording_cost
"""

import statistics
import time

import dsbd

PROMPT = "Once upon a time, there was a little fox who"
ROUNDS = 15


def main() -> None:
    pair = dsbd.load_pair()
    seconds: dict[bool, list[float]] = {False: [], True: []}
    for seed in range(ROUNDS + 1):
        for record in (False, True):
            start = time.perf_counter()
            dsbd.decode(pair, PROMPT, dsbd.DecodingSettings(seed=seed), record=record)
            if seed:
                seconds[record].append(time.perf_counter() - start)
    ratios = [on / off for on, off in zip(seconds[True], seconds[False], strict=True)]
    without, with_trace = (1000 * statistics.median(seconds[record]) for record in (False, True))
    print(f"without {without:.0f} ms, with {with_trace:.0f} ms")
    print(f"median ratio {statistics.median(ratios):.3f} over {ROUNDS} rounds")


if __name__ == "__main__":
    main()
