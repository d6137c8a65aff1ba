"""Record the traces of the lessons on the bundled pair in ``assets/lessons/traces``.

The lessons name nodes of these traces: record them again only together with the lessons. The trace and the figures
of the fifth lesson come from ``lossless_lab.py``.

python -m benchmarks.record_lessons
"""

from pathlib import Path

import dsbd

FOLDER = Path(__file__).parents[1] / "assets" / "lessons" / "traces"
PROMPT = "Once upon a time, there was a little fox who"
PAPER = {"method": "dsbd", "landing": False, "cover_width": 0}
SETTINGS = {
    "1-speculative-decoding": {"method": "speculative", "draft_depth": 4, "max_new_tokens": 16, "seed": 6},
    "2-beam-sampling": {"method": "beam_sampling", "num_beams": 3, "max_new_tokens": 8, "seed": 2},
    "3-one-iteration": {**PAPER, "draft_depth": 2, "draft_width": 3, "min_width": 2, "max_new_tokens": 9, "seed": 57},
    "4-dynamic-width": {**PAPER, "draft_depth": 3, "draft_width": 5, "max_new_tokens": 24, "seed": 9},
}


def main() -> None:
    FOLDER.mkdir(parents=True, exist_ok=True)
    pair = dsbd.load_pair()
    for name, fields in SETTINGS.items():
        trace = dsbd.decode(pair, PROMPT, dsbd.DecodingSettings(**fields), record=True).trace
        assert trace is not None
        assert dsbd.verify_trace(trace).passed
        trace.save(FOLDER / f"{name}.json.gz")
        print(f"{name}: {len(trace.iterations)} iterations")


if __name__ == "__main__":
    main()
