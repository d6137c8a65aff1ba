"""The statistics of a decode, counted again from its iterations."""

import doctest

import pytest

import dsbd
from dsbd import results, stopping
from tests.toy_pair import Iterations, toy_pair


@pytest.mark.parametrize(
    "changes",
    [
        {"seed": 4, "draft_width": 5, "min_width": 3},
        {"forest": "likely", "draft_width": 9, "seed": 3},
        {"method": "beam_search"},
        {"method": "mjsd", "joint_threshold": 0.3},
    ],
    ids=str,
)
def test_figures_follow_from_the_iterations(changes):
    """Catches layers, widths or verdicts that are counted twice, or in the wrong iteration."""
    watch = Iterations()
    settings = dsbd.DecodingSettings(**{"max_new_tokens": 24, "draft_depth": 3, "draft_width": 4} | changes)
    stats = dsbd.decode(toy_pair(), "Once upon", settings, observers=[watch]).stats
    layers = [layer for iteration in watch.seen for layer in iteration.layers]
    verdicts = [trial.verdict for layer in layers for trial in layer.trials]
    draws = [draw for layer in layers for draw in layer.draws]
    assert (stats.layers, stats.iterations) == (len(layers), len(watch.seen))
    assert stats.layers_per_iteration == len(layers) / len(watch.seen)
    for verdict in ("accepted", "rejected", "orphaned", "unneeded"):
        carried = verdicts.count("carried") if verdict == "accepted" else 0
        assert getattr(stats, verdict) == verdicts.count(verdict) + carried
    for kind in ("recovered", "fresh", "bonus"):
        assert getattr(stats, kind) == sum(draw.kind == kind for draw in draws)
    assert stats.landed == sum(draw.landed for draw in draws)
    assert stats.mean_width == sum(beam.multiplicity for layer in layers for beam in layer.beams) / len(layers)
    tried = stats.accepted + stats.rejected
    assert stats.acceptance_rate == (stats.accepted / tried if tried else None)
    phases = ("prefill", "draft", "score", "verify", "commit")
    assert stats.seconds == pytest.approx(sum(getattr(stats, f"{phase}_seconds") for phase in phases))
    assert stats.tokens_per_second == pytest.approx(stats.layers / (stats.seconds - stats.prefill_seconds))


def test_the_examples_hold():
    """Catches an example that says something else than the code does."""
    for module in (results, stopping):
        assert doctest.testmod(module).failed == 0
