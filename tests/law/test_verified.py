"""What a layer that was decided says of itself."""

from types import SimpleNamespace

import pytest

from dsbd.law.verified import draft_layers_passed


@pytest.mark.parametrize(
    ("outcomes", "passed"),
    [(["short"], (0, True)), (["passed", "landed", "short"], (2, True)), (["landed", "finished"], (1, False))],
)
def test_draft_layers_that_let_verification_go_on_are_counted(outcomes, passed):
    """Catches an end of all beams that counts as a failure."""
    layers = [SimpleNamespace(outcome=one, continues=one in ("passed", "landed")) for one in outcomes]
    assert draft_layers_passed(layers) == passed
