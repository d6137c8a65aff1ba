"""Record the traces of ``assets/traces``; the page opens with the first.

python -m benchmarks.record_traces
"""

from pathlib import Path
from typing import Any

import dsbd

FOLDER = Path(__file__).parents[1] / "assets" / "traces"
STORY = "Once upon a time, there was a little fox who"
SAME_LAW = {"min_width": 4, "max_width": 4}
STORIES = {
    "1-dynamic-width": (STORY, {"seed": 31}),
    "2-same-law-width-four": (STORY, SAME_LAW),
    "3-without-replacement": (STORY, {"replacement": False}),
    "4-cover-nodes": (STORY, {"cover_width": 8, "min_width": 3}),
    "5-speculative-sampling": (STORY, {"method": "speculative"}),
    "6-beam-sampling": (STORY, {"method": "beam_sampling"}),
}
QUERIES = {
    "7-SQL-same-law-width-four": ("Q: How many old branches are there in each city?\nSQL:", SAME_LAW),
    "8-SQL-dynamic-width": ("Q: Which authors have won more prizes than the average?\nSQL:", {}),
    "9-SQL-speculative-sampling": (
        "Q: Show the titles of long books not written in French.\nSQL:",
        {"method": "speculative"},
    ),
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    for pair, recordings in (("stories", STORIES), ("sql", QUERIES)):
        record(dsbd.load_pair(f"bundled:{pair}"), recordings)


def record(pair: dsbd.Pair, recordings: dict[str, tuple[str, dict[str, Any]]]) -> None:
    for name, (prompt, fields) in recordings.items():
        settings = dsbd.DecodingSettings(**{"max_new_tokens": 64, "seed": 7} | fields)
        result = dsbd.decode(pair, prompt, settings, record=True)
        assert result.trace is not None
        assert dsbd.verify_trace(result.trace).passed
        result.trace.save(FOLDER / f"{name}.json.gz")
        print(f"{name}: {result.stats.layers_per_iteration:.2f} layers per iteration\n  {result.text}")


if __name__ == "__main__":
    main()
