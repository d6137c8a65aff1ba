"""``python -m dsbd compare``."""

import json

from tests.command_line import run


def test_compare_prints_one_object(capsys, pair_flags):
    flags = ["--prompt", "Once", "--methods", "dsbd,beam_sampling,greedy", "--runs", "2", "--max-new-tokens", "4"]
    code, out, _ = run(capsys, "compare", *flags, "--json", *pair_flags)
    assert code == 0
    printed = json.loads(out)
    assert [row["method"] for row in printed["methods"]] == ["dsbd", "beam_sampling", "greedy"]
    for row in printed["methods"]:
        assert len(row["seconds"]) == 2
        assert row["perplexity"] > 1
        assert row["best_log_weight"] < 0
        assert row["target_calls"] >= 1
    assert printed["ratios"]["beam_sampling"] == 1.0
    flags = ["--prompt", "Once", "--methods", "greedy", "--runs", "1", "--max-new-tokens", "4", "--json"]
    _, out, _ = run(capsys, "compare", *flags, *pair_flags)
    assert json.loads(out)["ratios"] == {"greedy": None}  # no baseline, no ratio
