"""A run beside the large model alone: what is measured of it, and that no sentence says more."""

import math
import re
from collections.abc import Iterator
from dataclasses import replace
from itertools import chain

import pytest

import dsbd
from dsbd.errors import StoppedError
from dsbd.settings import DecodingSettings
from tests.toy_pair import toy_pair
from visualize.page import comparison
from visualize.page.comparison import (
    FEWEST,
    Compared,
    Costs,
    answers_said,
    describe,
    interval,
    measure_costs,
    measure_speed,
)
from visualize.race import describe_seconds

DECODE = dsbd.decode(toy_pair(), "Once", DecodingSettings(max_new_tokens=12, min_width=4, max_width=4), record=True)
SAMPLED = replace(DECODE.trace, settings=replace(DECODE.settings, forest="sampled"))
SAME = tuple(DECODE.token_ids)
OTHER = Compared("beam_sampling", 4, "measured", "other", (*SAME[:3], -1), (1.5, 2.0), 8)
UP_TO = "alone, the large model writes the same text up to token 4"
TURNED = "The texts part at token 4: a pass over several tokens rounds its numbers ("


@pytest.mark.parametrize(
    ("changed", "measured", "sentence"),
    [
        ({"speed": (1.71, 2.08)}, "measured: 1.7 to 2.1 × as fast", "Perplexity of the text: 1.50, alone 2.00 (texts"),
        ({"speed": (0.95, 1.06)}, "measured: about as fast", "as long as"),
        ({"speed": (0.8, 1.2)}, "measured: 0.8 to 1.2 × as fast", "as long as"),
        ({"speed": (0.52, 0.61)}, "measured: 1.6 to 1.9 × the time", "Beside a larger model, guesses weigh less."),
        ({"speed": (0.6, 1.9), "state": "busy"}, "this machine is busy: not measured", "so the speed was not"),
        (
            {"state": "long", "token_ids": None, "perplexity": None},
            "too long a run: not measured",
            "too long here to be repeated",
        ),
        ({"state": "stopped", "perplexity": None, "runs": 0}, "this machine is busy: not measured", "gave way to"),
        ({"state": "measuring"}, "measuring …", ""),
    ],
)
def test_what_is_measured_is_what_the_clock_can_tell(changed, measured, sentence):
    """Catches a winner that the spread does not carry, and a sentence that says another thing than the range."""
    shown = describe(SAMPLED, OTHER._replace(**changed))
    assert (shown["measured"], shown["same"]) == (measured, "")
    assert sentence in shown["sentences"]
    coupled = describe(DECODE.trace, OTHER._replace(**changed))
    assert coupled["parts"] == (coupled["same"] == UP_TO) == ("token_ids" not in changed)
    assert (TURNED in coupled["sentences"]) == (coupled["parts"] and not coupled["goes_on"])
    assert "by chance" not in coupled["sentences"]
    narrower = replace(SAMPLED, settings=replace(SAMPLED.settings, min_width=1))
    assert "by chance" not in describe(narrower, OTHER._replace(**changed))["sentences"]
    distinct = replace(SAMPLED, settings=replace(SAMPLED.settings, replacement=False))
    told = describe(distinct, OTHER._replace(**changed))["sentences"]
    assert told == shown["sentences"].replace("4 beams", "4 distinct beams")
    same = describe(DECODE.trace, OTHER._replace(**changed | {"token_ids": SAME}))
    assert (same["same"], same["parts"]) == (f"{comparison.ALONE} the same text, token for token", False)
    assert "Perplexity" not in same["sentences"]
    if "speed" in changed and "state" not in changed:
        cost = re.search("as long as (.*?) passes", shown["sentences"])[1]
        ends = [float(one) for one in cost.split(" to ")]
        won, (low, high) = DECODE.stats.layers_per_iteration, changed["speed"]
        assert ends == pytest.approx([won / high, won / low], abs=0.06) or len(ends) == 1


FAILS, ROWS, NONE = "no such column: x", [("name",), ("Ada",)], [("name",)]


@pytest.mark.parametrize(
    ("alone", "rows", "words"),
    [
        ([1], (FAILS, FAILS), "the same query, which fails"),
        ([2], (FAILS, FAILS), "both queries fail"),
        ([2], (FAILS, ROWS), "this query fails; alone, the large model writes one that does not"),
        ([2], (ROWS, FAILS), "a query that fails"),
        ([2], (ROWS, [("n",), ("Ada",)]), "another query, with the same rows"),
        ([2], (ROWS, NONE), ""),
        ([2], (NONE, NONE), "another query, with the same rows"),
        ([1], (ROWS, ROWS), "the same text, token for token"),
        ([1], (None, None), "the same text, token for token"),
        ([2], (None, None), ""),
        (None, (FAILS, None), ""),
    ],
)
def test_answers_are_the_same_only_where_both_are_answers(alone, rows, words):
    assert answers_said([1], alone, rows).removeprefix(f"{comparison.ALONE} ") == words


def test_a_comparison_goes_on_until_it_can_tell_and_a_stop_is_no_error(monkeypatch):
    """Catches other seeds, whose runs do other work; one of the two that always goes first; and a busy machine."""
    steps = iter(range(10**6))
    run, decodes = dsbd.decode, []

    def decode(pair, prompt, settings, **how):
        decodes.append((settings.method, settings.seed))
        return run(pair, prompt, settings, **how)

    monkeypatch.setattr(comparison.dsbd, "decode", decode)
    monkeypatch.setattr(comparison, "measure_costs", lambda *_: None)
    first, second, last = measure_speed(toy_pair(), "Once", DECODE, lambda: False)
    alone = run(toy_pair(), "Once", comparison._alone(DECODE.settings))
    assert (first.state, first.text, second.text) == ("measuring", None, alone.text)
    assert last.runs >= FEWEST
    turns = decodes[1:]
    assert {method for method, _ in turns[::4]} == {"beam_sampling"} == {method for method, _ in turns[3::4]}
    assert {seed for _, seed in decodes} == {DECODE.settings.seed}
    for speeds, state in (([(2, 1), (2.1, 1)] * 3, "measured"), ([(1, 1), (4, 1)] * 3, "busy"), ([(1, 1)], "busy")):
        monkeypatch.setattr(comparison, "_repeated", lambda *_, speeds=speeds: speeds)
        *_, last = measure_speed(toy_pair(), "Once", DECODE, lambda: False)
        assert last.state == state, speeds
    *_, stopped = measure_speed(toy_pair(), "Once", DECODE, lambda: next(steps) > 4)
    assert stopped.state == "stopped"


def test_an_interval_is_that_of_the_ratio_and_widens_with_the_spread():
    low, high = interval([2, 2, 2, 2], [1, 1, 1, 1])
    assert (low, high) == pytest.approx((2, 2))
    low, high = interval([1, 4, 1, 4], [1, 1, 1, 1])
    assert (low * high, low < 1) == (pytest.approx(4), True)
    assert high / low > comparison.BUSY


class Timed(comparison._Clock):
    """Passes of so many seconds, in turn: alone, one that checks, with nine nodes more."""

    rounds: Iterator[tuple[float, int, float]]

    def mean(self) -> tuple[float, float, float]:
        return next(self.rounds)


@pytest.mark.parametrize(
    ("checks", "node"),
    [([1.9] * 7, 0.1), ([9.0, 2.0, 1.9, 2.1, 2.0, 1.9, 2.2], 0.1), ([0.8] * 7, 0.0), ([1.0, 4.0] * 4, None)],
)
def test_costs_are_those_of_quiet_moments_and_the_same_again(monkeypatch, checks, node):
    """Catches the cost of one disturbed moment, a node that costs less than nothing, a number that changes from run to
    run, and a busy machine whose numbers are kept."""
    moments = [(slower * 1.0, one) for slower in (2, 1) for one in checks]
    rounds = chain.from_iterable(((alone, 1, 0.0), (alone * one, 10, 0.2)) for alone, one in moments)
    monkeypatch.setattr(Timed, "rounds", rounds, False)
    monkeypatch.setattr(comparison, "_Clock", Timed)
    monkeypatch.setattr(comparison, "_COSTS", {})
    pair = toy_pair()
    first, costs = measure_costs(pair, "Once"), measure_costs(pair, "Once")
    assert first == (node if node is None else Costs(2.0, pytest.approx(2 * node), 0.2))
    assert costs == (node if node is None else Costs(1.0, pytest.approx(node), 0.2))
    if costs:
        assert measure_costs(pair, "Once") == costs, "the clocks are at their end"


def test_passes_are_timed_and_no_duration_is_zero(monkeypatch):
    monkeypatch.setattr(comparison, "BUSY", math.inf)
    monkeypatch.setattr(comparison, "_COSTS", {})
    with pytest.raises(StoppedError):
        measure_costs(toy_pair(), "Once", lambda: True)
    _, costs = measure_costs(toy_pair(), "Once"), measure_costs(toy_pair(), "Once")
    assert min(costs.alone, costs.guess) > 0 <= costs.node
    assert measure_costs(toy_pair(), "Once " * 10_000) == costs, "once measured, no prompt is too long"
    monkeypatch.setattr(comparison, "_COSTS", {})
    assert measure_costs(toy_pair(), "Once " * 10_000) is None
    assert [describe_seconds(one) for one in (0.0, 0.04, 1.26)] == ["0 ms", "40 ms", "1.3 s"]
