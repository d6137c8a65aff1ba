"""Record the traces of ``assets/traces``; the page opens with the first.

python -m benchmarks.record_traces
"""

from pathlib import Path

import dsbd

FOLDER = Path(__file__).parents[1] / "assets" / "traces"
PROMPT = "Once upon a time, there was a little fox who"
SETTINGS = {
    "1-dynamic-width": {"seed": 31},
    "2-same-law-width-four": {"min_width": 4, "max_width": 4},
    "3-without-replacement": {"replacement": False},
    "4-cover-nodes": {"cover_width": 8, "min_width": 3},
    "5-speculative-sampling": {"method": "speculative"},
    "6-beam-sampling": {"method": "beam_sampling"},
}


def main() -> None:
    FOLDER.mkdir(exist_ok=True)
    pair = dsbd.load_pair()
    for name, fields in SETTINGS.items():
        settings = dsbd.DecodingSettings(**{"max_new_tokens": 64, "seed": 7} | fields)
        result = dsbd.decode(pair, PROMPT, settings, record=True)
        assert result.trace is not None
        assert dsbd.verify_trace(result.trace).passed
        result.trace.save(FOLDER / f"{name}.json.gz")
        print(f"{name}: {result.stats.layers_per_iteration:.2f} layers per iteration\n  {result.text}")


if __name__ == "__main__":
    main()
