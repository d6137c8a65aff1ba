"""What the watch of layers collects, against the statistics of the decode and the recorded trace."""

import doctest
import math

import pytest

import dsbd
from dsbd.measure import layer_watch
from dsbd.measure.layer_watch import LayerWatch
from tests.toy_pair import toy_pair


@pytest.fixture(scope="module")
def watched():
    watch, results = LayerWatch(), []
    for seed in range(3):
        settings = dsbd.DecodingSettings(max_new_tokens=12, seed=seed)
        results.append(dsbd.decode(toy_pair(), "Once", settings, observers=[watch], record=True))
    return watch, results


def test_the_counts_are_those_of_the_decode(watched):
    """Catches orphaned drafts counted as rejected, beams counted without duplicates, and layers that are left out."""
    watch, results = watched
    for facts, result in zip(watch.decodes, results, strict=True):
        stats = result.stats
        assert (sum(fact.accepted for fact in facts), sum(fact.rejected for fact in facts)) == (
            stats.accepted, stats.rejected
        )  # fmt: skip
        assert [fact.position for fact in facts] == list(range(stats.layers))
        assert sum(fact.beams for fact in facts) / stats.layers == pytest.approx(stats.mean_width)
    assert sum(watch.widths.values()) == sum(result.stats.layers for result in results)
    assert list(watch.widths) == sorted(watch.widths)


def test_the_places_are_those_of_the_trace(watched):
    """Catches a bonus layer taken for a drafted one, and a layer counted from the start of the text."""
    watch, results = watched
    for facts, result in zip(watch.decodes, results, strict=True):
        layers = [layer for iteration in result.trace.iterations for layer in iteration.layers]
        assert [(fact.layer, fact.drafted) for fact in facts] == [(one.layer, one.kind == "draft") for one in layers]
        assert [fact.went_on for fact in facts] == [one.outcome in ("passed", "landed") for one in layers]
        assert all(0 <= fact.entropy <= math.log(one.target_support) + 1e-9
                   for fact, one in zip(facts, layers, strict=True))  # fmt: skip


def test_a_certain_law_has_no_entropy():
    """Catches 0 * log 0, which is no number."""
    watch = LayerWatch()
    settings = dsbd.DecodingSettings(max_new_tokens=4, method="greedy")
    dsbd.decode(toy_pair(), "Once", settings, observers=[watch])
    assert {fact.entropy for facts in watch.decodes for fact in facts} == {0.0}


def test_the_example_holds():
    assert doctest.testmod(layer_watch).failed == 0
