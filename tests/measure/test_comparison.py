"""Methods side by side on one prompt."""

import pytest

import dsbd
from dsbd.measure.comparison import compare
from tests.toy_pair import toy_pair


def test_intervals_are_over_the_seeds_of_the_prompt():
    """Catches the normal quantile over two runs, and seeds that count as rounds of one prompt: no interval is left."""

    def row(runs: int, seed: int) -> dict:
        settings = dsbd.DecodingSettings(seed=seed, max_new_tokens=6)
        *_, last = compare(toy_pair(), "Once", settings, ["dsbd"], runs)
        return last.result["methods"][0]

    first, second, both = row(1, 0), row(1, 1), row(2, 0)
    assert (first["perplexity_half_width"], second["best_log_weight_half_width"]) == (None, None)
    for name in ("perplexity", "best_log_weight"):
        assert both[name] == pytest.approx((first[name] + second[name]) / 2)
        assert both[f"{name}_half_width"] == pytest.approx(12.7062 * abs(first[name] - second[name]) / 2, rel=1e-5)
