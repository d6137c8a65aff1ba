"""What the watch of acceptance collects."""

from dsbd.api import decode
from dsbd.measure.bench.acceptance import AcceptanceWatch
from dsbd.measure.bench.records import Acceptance
from dsbd.settings import DecodingSettings
from tests.toy_pair import toy_pair


def watched(**settings) -> Acceptance:
    watch = AcceptanceWatch()
    decode(toy_pair(), "Once", DecodingSettings(max_new_tokens=8, **settings), observers=[watch])
    return watch.summary()


def test_a_wider_minimum_is_less_probable():
    """Catches the probability of one acceptance used in place of that of ``min_width`` acceptances."""
    narrow, wide = watched(min_width=1), watched(min_width=5)
    assert 0 <= wide.beta < narrow.beta <= 1
    assert narrow.forward_tokens > 4


def test_a_width_that_is_always_reached_passes_for_sure():
    """Catches a pass probability of another width than the chosen one."""
    assert watched(width_threshold=1.0, min_width=1, max_width=1).pass_probability == watched(max_width=1).beta


def test_without_draft_layers_nothing_is_known():
    """Catches a division by zero, and a probability of 0 where none was seen."""
    seen = watched(method="beam_sampling")
    assert (seen.layers, seen.beta, seen.pass_probability) == (0, None, None)
